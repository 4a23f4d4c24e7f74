import type { EventEmitter } from 'node:events';
import type { ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule, type TestingModuleBuilder } from '@nestjs/testing';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import pg, { type Pool } from 'pg';
import { register, Registry } from 'prom-client';
import { createPool, Database } from '#database';
import { type HttpApp, serveHttp, type ServeOptions } from '#http';
import { eventually } from './eventually.js';
import { createDatabase, type TestDatabase } from './test-database.js';
import { startRedisServer, type TestServer } from './test-server.js';

/** The database of a test file, with the connections of a service and of the owner. */
export interface FixtureDatabase extends Pick<TestDatabase, 'name' | 'ownerUrl' | 'urls'> {
  readonly database: Database;
  /** Connection of the owner, to prepare and inspect rows. */
  readonly owner: pg.Client;
  /** Returns how many statements of `database` Postgres has answered. */
  statements(): number;
}

/** An HTTP app that runs in the process of a test. */
export interface ServedApp {
  /** Values that the process of the app would report when it is ready. */
  readonly facts: Readonly<Record<string, unknown>>;
  readonly url: string;
  /** Returns the lines of the app's metrics that have this prefix. */
  metrics(prefix: string): Promise<string[]>;
  /** Stops the app as SIGTERM does. Has no effect on a stopped app. */
  stop(): Promise<void>;
}

/**
 * Builds the resources of an integration test: databases, Redis servers and the real module of an
 * app. Build in `beforeAll`, close in `afterAll`. {@link close} releases everything in reverse
 * order, also after a failed start.
 */
export class Fixture {
  private readonly releases: (() => Promise<unknown> | void)[] = [];

  /** Adds a function that {@link close} calls. */
  onClose(release: () => Promise<unknown> | void): void {
    this.releases.push(release);
  }

  /**
   * Creates a migrated database without rows and connects to it.
   *
   * @param role Postgres role with which the service connects.
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
   * @param override replaces providers, but only those of configuration or time.
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
    // Empties the registry of metrics of the process, because each app expects an empty one.
    register.clear();
    const [app, options] = await open();
    const create = async ({ module, adapter }: HttpApp) => {
      const compiled = await Test.createTestingModule({ imports: [module] }).compile();
      return compiled.createNestApplication<NestFastifyApplication>(adapter, {
        logger: false,
        bodyParser: false,
      });
    };
    const { facts = {}, ...running } = await serveHttp(app, { ...options, create });
    this.onClose(() => stop());
    const registry = new Registry();
    for (const metric of register.getMetricsAsArray()) {
      const registeredMetric = register.getSingleMetric(metric.name);
      if (registeredMetric) registry.registerMetric(registeredMetric);
    }
    let stopPromise: Promise<void> | undefined;
    const stop = () => (stopPromise ??= running.stop());
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

/** Returns a function that returns how many statements Postgres has answered to a pool. */
function countStatements(pool: Pool): () => number {
  let answeredCount = 0;
  const countedConnections = new WeakSet<EventEmitter>();
  pool.on('acquire', (client) => {
    // Counts `commandComplete`, the last message of Postgres about each statement.
    const { connection } = client as unknown as { connection: EventEmitter };
    if (!countedConnections.has(connection))
      connection.on('commandComplete', () => (answeredCount += 1));
    countedConnections.add(connection);
  });
  return () => answeredCount;
}
