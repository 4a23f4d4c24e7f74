import type { EventEmitter } from 'node:events';
import type { ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule, type TestingModuleBuilder } from '@nestjs/testing';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import pg, { type Pool } from 'pg';
import { register, Registry } from 'prom-client';
import { createPool, Database } from '#database';
import { type HttpApp, serveHttp, type ServeOptions } from '#http';
import { eventually } from './eventually.js';
import { createDatabase, type TestDatabase } from './test.database.js';
import { startRedisServer, type TestServer } from './test.server.js';

/** A test's database, as a service connects to it. */
export interface FixtureDatabase extends Pick<TestDatabase, 'name' | 'ownerUrl' | 'urls'> {
  readonly database: Database;
  /** Connected as the owner, to prepare and inspect rows. */
  readonly owner: pg.Client;
  /** Returns the number of statements that the server has answered for the service. */
  statements(): number;
}

/** An HTTP app that runs in the process of a test. */
export interface ServedApp {
  /** Facts that its process would report when ready. */
  readonly facts: Readonly<Record<string, unknown>>;
  readonly url: string;
  /** Returns the lines of its metrics with this prefix. */
  metrics(prefix: string): Promise<string[]>;
  /** Stops it as SIGTERM does. Further calls have no effect. */
  stop(): Promise<void>;
}

/**
 * Builds the parts of an integration test: databases, Redis servers and the real module of an app.
 * Build in `beforeAll`, close in `afterAll`. {@link close} releases everything in reverse order,
 * also after a failed start.
 */
export class Fixture {
  private readonly releases: (() => Promise<unknown> | void)[] = [];

  onClose(release: () => Promise<unknown> | void): void {
    this.releases.push(release);
  }

  /**
   * Creates a migrated database without rows and connects to it.
   *
   * @param role the role that the service connects as.
   * @param events true if writes publish events.
   */
  async database(role: keyof TestDatabase['urls'], events = false): Promise<FixtureDatabase> {
    const { name, ownerUrl, urls, drop } = await createDatabase();
    this.onClose(drop);
    const owner = new pg.Client({ connectionString: ownerUrl });
    await owner.connect();
    this.onClose(() => owner.end());
    const pool = createPool({ url: urls[role] });
    const database = new Database(pool, true, undefined, events);
    this.onClose(() => database.close());
    return { name, ownerUrl, urls, database, owner, statements: countStatements(pool) };
  }

  async redis(options?: Parameters<typeof startRedisServer>[0]): Promise<TestServer> {
    const server = await startRedisServer(options);
    this.onClose(() => server.dispose());
    return server;
  }

  /**
   * Compiles and initializes the real modules of an app, wired as in production.
   *
   * @param override replaces only configuration or time.
   */
  async module(
    imports: NonNullable<ModuleMetadata['imports']>,
    override: (builder: TestingModuleBuilder) => TestingModuleBuilder = (builder) => builder,
  ): Promise<TestingModule> {
    const module = await override(Test.createTestingModule({ imports })).compile();
    module.useLogger(false);
    await module.init();
    this.onClose(() => module.close());
    return module;
  }

  /**
   * Runs an HTTP app in this process, wired as in production.
   *
   * @param open returns the app and its serve options; only configuration, time and log may differ
   * from production.
   */
  async httpApp(
    open: () => Promise<readonly [app: HttpApp, options: ServeOptions]>,
  ): Promise<ServedApp> {
    // A process has one registry, and each app expects it to be empty.
    register.clear();
    const [served, options] = await open();
    const create = async ({ module, adapter }: HttpApp) => {
      const compiled = await Test.createTestingModule({ imports: [module] }).compile();
      return compiled.createNestApplication<NestFastifyApplication>(adapter, {
        logger: false,
        bodyParser: false,
      });
    };
    const { facts = {}, ...running } = await serveHttp(served, { ...options, create });
    this.onClose(() => stop());
    const registry = new Registry();
    for (const metric of register.getMetricsAsArray()) {
      const own = register.getSingleMetric(metric.name);
      if (own) registry.registerMetric(own);
    }
    let stopped: Promise<void> | undefined;
    const stop = () => (stopped ??= running.stop());
    await eventually(async () => {
      const missing = (await running.missing?.()) ?? [];
      if (missing.length > 0) throw new Error(missing.join('; '));
    });
    return {
      facts,
      url: `http://127.0.0.1:${String(facts['port'])}`,
      metrics: async (prefix) =>
        (await registry.metrics()).split('\n').filter((line) => line.startsWith(prefix)),
      stop,
    };
  }

  async close(): Promise<void> {
    for (const release of this.releases.splice(0).reverse()) await release();
  }
}

/** Returns a counter of the statements that the server answers on the connections of a pool. */
function countStatements(pool: Pool): () => number {
  let answered = 0;
  const counted = new WeakSet<EventEmitter>();
  pool.on('acquire', (client) => {
    // The server ends its response to each statement with this message.
    const { connection } = client as unknown as { connection: EventEmitter };
    if (!counted.has(connection)) connection.on('commandComplete', () => (answered += 1));
    counted.add(connection);
  });
  return () => answered;
}
