import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TokenIssuer } from '#embedded';
import { AppProcess, type App } from './app.process.js';
import { Device } from './device.js';
import { freshUser } from './fresh.user.js';
import { repository } from './launched.system.js';
import type { RoleUrls } from './migrated.database.js';
import { createDatabase } from './test.database.js';
import { startPostgresServer, startRedisServer, type TestServer } from './test.server.js';

/** What a stack is made of, where it is not to make it itself. */
export interface StackOptions {
  /** A Redis for the queue alone. */
  readonly ownQueue?: boolean;
  /** A Postgres for this stack alone, that faults are made with; otherwise a database of the one that all files share. */
  readonly ownPostgres?: boolean;
  /** One for this stack alone that keeps over a crash what it committed. */
  readonly durablePostgres?: boolean;
  /** Whether Redis comes back from a crash with what it had. */
  readonly durableRedis?: boolean;
  /** Variables of every app, beside those that name the servers; they win over them. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** A stack's database. */
interface StackDatabase {
  /** As its owner, who may do everything. */
  readonly url: string;
  /** As the apps connect. */
  readonly urls: RoleUrls;
  /** Where it is the stack's own. */
  readonly server?: TestServer;
  dispose(): Promise<void>;
}

/**
 * The built apps as processes of a test, each to be killed, stopped and paused by itself, on a database and a Redis
 * of their own. Only in the `int` tier. Ends with {@link close}, whatever state its parts are in.
 */
export class AppStack {
  private readonly processes: AppProcess[] = [];

  private constructor(
    readonly postgres: StackDatabase,
    readonly redis: TestServer,
    /** The queue's Redis; the same one unless it was asked for. */
    readonly queueRedis: TestServer,
    private readonly issuer: TokenIssuer,
    private readonly keys: string,
    private readonly options: StackOptions,
  ) {}

  /** Starts the servers, and no app yet. */
  static async open(options: StackOptions = {}): Promise<AppStack> {
    const { durableRedis = false, ownQueue = false } = options;
    const keys = mkdtempSync(join(tmpdir(), 'podcast-sync-keys-'));
    const [postgres, redis, queue] = await Promise.all([
      openDatabase(options),
      startRedisServer({ durable: durableRedis }),
      ownQueue ? startRedisServer({ durable: true }) : undefined,
    ]);
    return new AppStack(postgres, redis, queue ?? redis, await TokenIssuer.open(keys), keys, options);
  }

  /** Its Postgres, that faults are made with. */
  get postgresServer(): TestServer {
    if (!this.postgres.server)
      throw new Error('this stack shares its Postgres with other files: open it with ownPostgres');
    return this.postgres.server;
  }

  /**
   * Starts apps, each with the same variables beside the usual ones, and waits until they serve. Services come first: an
   * edge that was there before them answers 503 until its next poll.
   *
   * @param root where their built repository is; default: this one.
   */
  async start(
    apps: readonly App[],
    environment: Readonly<Record<string, string>> = {},
    root?: string,
  ): Promise<AppProcess[]> {
    const started: AppProcess[] = [];
    const begin = async (app: App, place: number) => {
      const own = { LOG_LEVEL: 'info', ...this.environmentOf(app), ...this.options.environment, ...environment };
      started[place] = await AppProcess.start(app, own, root);
      this.processes.push(started[place]);
    };
    const isEdge = (app: App) => app === 'gateway' || app === 'gpodder';
    for (const edges of [false, true])
      await Promise.all(apps.map((app, place) => (isEdge(app) === edges ? begin(app, place) : undefined)));
    return started;
  }

  /** A device of a user, by default of one that no other test knows. */
  async device(gateway: AppProcess, user = freshUser()): Promise<Device> {
    return new Device(`http://127.0.0.1:${String(gateway.facts['port'])}`, await this.issuer.issue(user), user);
  }

  /** An app password of somebody new, made by the operators' command. */
  async appPassword(name = `ann-${freshUser()}`): Promise<{ name: string; password: string }> {
    const accounts = async (...args: string[]) => {
      const env = { PATH: process.env.PATH, ...this.environmentOf('account') };
      const program = join(repository, 'dist', 'programs', 'accounts.js');
      return (await promisify(execFile)(process.execPath, [program, ...args], { env })).stdout.trim();
    };
    await accounts('create', name);
    return { name, password: await accounts('app-password', name) };
  }

  /** Ends everything and removes its data. */
  async close(): Promise<void> {
    await Promise.all(this.processes.map((process) => process.kill()));
    await Promise.all([this.postgres, ...new Set([this.redis, this.queueRedis])].map((server) => server.dispose()));
    rmSync(this.keys, { recursive: true, force: true });
  }

  private environmentOf(app: App): Record<string, string> {
    const { urls } = this.postgres;
    const servers = { REDIS_URL: this.redis.url };
    switch (app) {
      case 'gateway':
        return {
          ...servers,
          PORT: '0',
          AUTH_ISSUER: TokenIssuer.issuer,
          AUTH_AUDIENCE: TokenIssuer.audience,
          AUTH_JWKS_FILE: this.issuer.keySetFile,
        };
      case 'subscription':
      case 'episode':
        return { ...servers, DATABASE_URL: urls[app] };
      case 'deletion-worker':
        return { ...servers, DATABASE_URL: urls.deletion, QUEUE_REDIS_URL: this.queueRedis.url };
      case 'gpodder':
        return { ...servers, PORT: '0', SESSION_KEY: 'a-key-of-tests-that-is-long-enough' };
      case 'account':
        return {
          ...servers,
          DATABASE_URL: urls.account,
          PORT: '0',
          PUBLIC_URL: 'http://127.0.0.1:3002',
          SECRETS_KEY: 'a-secret-of-tests-that-is-long-enough',
          KEYS_DIRECTORY: this.keys,
        };
    }
  }
}

async function openDatabase({ ownPostgres = false, durablePostgres = false }: StackOptions): Promise<StackDatabase> {
  if (ownPostgres || durablePostgres) {
    const server = await startPostgresServer({ durable: durablePostgres });
    return { url: server.url, urls: server.urls, server, dispose: () => server.dispose() };
  }
  const database = await createDatabase();
  return { url: database.ownerUrl, urls: database.urls, dispose: () => database.drop() };
}
