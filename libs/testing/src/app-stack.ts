import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { inject } from 'vitest';
import { scopes } from '#contracts';
import { makeAppPassword } from '#identity';
import { appEnvironment, type StackServers } from './app-environment.js';
import { AppProcess, type App } from './app-process.js';
import { Device } from './device.js';
import { freshUser } from './fresh-user.js';
import { roleUrls, type RoleUrls } from './migrated-database.js';
import type { SharedSystem } from './shared-system.js';
import { createDatabase } from './test-database.js';
import { startPostgresServer, startRedisServer, type TestServer } from './test-server.js';
import { TokenIssuer, type TokenTerms } from './token-issuer.js';

/** Options of an {@link AppStack}. */
export interface StackOptions {
  /** True for a separate Redis of the queue. */
  readonly ownQueue?: boolean;
  /** True for a separate Postgres, for faults. Default: a database of the shared Postgres. */
  readonly ownPostgres?: boolean;
  /** True for a separate Postgres that keeps committed data after a crash. */
  readonly durablePostgres?: boolean;
  /** True for a Redis that keeps its data after a restart. */
  readonly durableRedis?: boolean;
  /** Environment variables of every app. They override the variables that name the servers. */
  readonly environment?: Readonly<Record<string, string>>;
}

interface StackDatabase {
  readonly url: string;
  readonly urls: RoleUrls;
  readonly server?: TestServer;
  dispose(): Promise<void>;
}

/** Apps that run as processes on the same servers. */
abstract class Stack {
  private readonly processes: AppProcess[] = [];

  protected constructor(
    readonly postgres: Pick<StackDatabase, 'url' | 'urls'>,
    private readonly servers: StackServers,
    private readonly issuer: TokenIssuer,
    private readonly environment: Readonly<Record<string, string>>,
  ) {}

  /**
   * Starts apps with additional variables, and waits until they are ready. Services start before
   * gateway and gpodder, because those would answer 503 until their next poll.
   *
   * @param root the folder of the built repository of the apps. Default: this repository.
   */
  async start(
    apps: readonly App[],
    environment: Readonly<Record<string, string>> = {},
    root?: string,
  ): Promise<AppProcess[]> {
    const startedProcesses: AppProcess[] = [];
    const startApp = async (app: App, index: number) => {
      const variables = {
        LOG_LEVEL: 'info',
        ...appEnvironment(app, this.servers),
        ...this.environment,
        ...environment,
      };
      startedProcesses[index] = await AppProcess.start(app, variables, root);
      this.processes.push(startedProcesses[index]);
    };
    const isEdge = (app: App) => app === 'gateway' || app === 'gpodder';
    for (const startsEdges of [false, true])
      await Promise.all(
        apps.map((app, index) => (isEdge(app) === startsEdges ? startApp(app, index) : undefined)),
      );
    return startedProcesses;
  }

  /** Returns the environment variables that connect an app to the servers of this stack. */
  variables(app: App): Record<string, string> {
    return appEnvironment(app, this.servers);
  }

  /** Returns a client of the gateway with a new token. */
  async device(
    gateway: Pick<AppProcess, 'facts'>,
    user = freshUser(),
    terms?: TokenTerms,
  ): Promise<Device> {
    return new Device(
      `http://127.0.0.1:${String(gateway.facts['port'])}`,
      await this.issuer.issue(user, terms),
      user,
    );
  }

  /** Creates an account with an app password of all scopes. */
  async appPassword(name = `ann-${freshUser()}`): Promise<{ name: string; password: string }> {
    const { secret, hash } = makeAppPassword();
    const owner = new pg.Client({ connectionString: this.postgres.url });
    await owner.connect();
    await owner.query(
      `WITH account AS (
         INSERT INTO account.accounts (id, name) VALUES (gen_random_uuid(), $1) RETURNING id
       )
       INSERT INTO account.credentials (id, account_id, hash, label, scopes)
       SELECT gen_random_uuid(), id, $2, 'a test', $3 FROM account`,
      [name, Buffer.from(hash, 'base64url'), scopes],
    );
    await owner.end();
    return { name, password: secret };
  }

  /** Kills all processes that {@link start} started. */
  protected async killProcesses(): Promise<void> {
    await Promise.all(this.processes.map((process) => process.kill()));
  }

  abstract close(): Promise<void>;
}

/**
 * Starts built apps as processes that a test can kill, stop and pause, on their own database and
 * Redis. Only in the `int` tier. {@link close} ends all processes in any state.
 */
export class AppStack extends Stack {
  private constructor(
    private readonly database: StackDatabase,
    readonly redis: TestServer,
    /** Redis of the queue; by default the same as `redis`. */
    readonly queueRedis: TestServer,
    /** Folder with the token signing keys. */
    private readonly keys: string,
    issuer: TokenIssuer,
    environment: Readonly<Record<string, string>>,
  ) {
    const { urls } = database;
    const redisUrls = { redisUrl: redis.url, queueRedisUrl: queueRedis.url };
    super(
      database,
      { urls, ...redisUrls, keys, keySetFile: issuer.keySetFile },
      issuer,
      environment,
    );
  }

  static async open(options: StackOptions = {}): Promise<AppStack> {
    const { durableRedis = false, ownQueue = false, environment = {} } = options;
    const keys = mkdtempSync(join(tmpdir(), 'podcast-sync-keys-'));
    const [postgres, redis, queue] = await Promise.all([
      openDatabase(options),
      startRedisServer({ durable: durableRedis }),
      ownQueue ? startRedisServer({ durable: true }) : undefined,
    ]);
    return new AppStack(
      postgres,
      redis,
      queue ?? redis,
      keys,
      await TokenIssuer.open(keys),
      environment,
    );
  }

  /** Separate Postgres of the stack. @throws Error if the stack has none. */
  get postgresServer(): TestServer {
    if (!this.database.server)
      throw new Error('this stack shares its Postgres with other files: open it with ownPostgres');
    return this.database.server;
  }

  async close(): Promise<void> {
    await this.killProcesses();
    await Promise.all(
      [this.database, ...new Set([this.redis, this.queueRedis])].map((server) => server.dispose()),
    );
    rmSync(this.keys, { recursive: true, force: true });
  }
}

/**
 * The running system that the test files of a run share: one process of each app with the usual
 * settings. A file uses its own users, changes no settings and stops nothing. {@link start} adds
 * replicas of gateway and gpodder. A file that needs other settings of a service, faults or an
 * empty database opens an {@link AppStack}.
 */
export class SharedStack extends Stack {
  private constructor(
    private readonly system: SharedSystem,
    servers: StackServers,
    issuer: TokenIssuer,
    environment: Readonly<Record<string, string>>,
  ) {
    super({ url: system.databaseUrl, urls: servers.urls }, servers, issuer, environment);
  }

  /** Connects to the running system. @param environment variables for {@link start}. */
  static async open(environment: Readonly<Record<string, string>> = {}): Promise<SharedStack> {
    const { system } = inject('servers');
    if (!system) throw new Error('only the int tier has a shared system: open an AppStack');
    const issuer = await TokenIssuer.open(system.keys);
    const { redisUrl, keys } = system;
    const servers = { redisUrl, queueRedisUrl: redisUrl, keys, keySetFile: issuer.keySetFile };
    return new SharedStack(
      system,
      { urls: roleUrls(system.databaseUrl), ...servers },
      issuer,
      environment,
    );
  }

  get redis(): { readonly url: string } {
    return { url: this.system.redisUrl };
  }

  /** Returns the values that the shared process of an app reported when it was ready. */
  app(app: App): Pick<AppProcess, 'facts'> {
    return { facts: this.system.facts[app] };
  }

  override async close(): Promise<void> {
    await this.killProcesses();
  }
}

async function openDatabase({
  ownPostgres = false,
  durablePostgres = false,
}: StackOptions): Promise<StackDatabase> {
  if (ownPostgres || durablePostgres) {
    const server = await startPostgresServer({ durable: durablePostgres });
    return { url: server.url, urls: server.urls, server, dispose: () => server.dispose() };
  }
  const database = await createDatabase();
  return { url: database.ownerUrl, urls: database.urls, dispose: () => database.drop() };
}
