import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { startPostgres, startRedis, StartError, TokenIssuer, type EmbeddedServer } from '#embedded';
import { AppProcess, runToEnd, type AppProgram } from './app.process.js';
import { appPrograms, type Backends } from './app.programs.js';
import { lockData } from './data.lock.js';
import type { StandaloneOptions } from './standalone.options.js';
import { SupervisedRun } from './supervised.run.js';
import type { Welcome } from './welcome.text.js';

/** For whom the first token is. */
const firstUser = 'ann';

/**
 * Everything on one machine: Postgres, Redis, the migrations, the services and the gateway.
 * - Each is started when what it needs serves, and stopped when nobody uses it any more.
 * - A start that fails, or is stopped half-way, leaves nothing running.
 * - What dies later is started again.
 */
export class StandaloneStack {
  /** How to stop what has begun, the newest last. */
  private readonly begun: (() => Promise<void> | void)[] = [];
  private readonly ending = new AbortController();
  private readonly apps: SupervisedRun<AppProcess>[] = [];
  private starting: Promise<unknown> = Promise.resolve();
  private stopped: Promise<void> | undefined;

  constructor(
    private readonly options: StandaloneOptions,
    private readonly say: (line: string) => void,
    /** Where the programs are that it runs. */
    private readonly folder: string,
  ) {}

  /**
   * Starts everything and settles when it serves.
   *
   * @throws StartError with a message for the person who typed the command; the rest is for {@link stop}.
   */
  start(): Promise<Welcome> {
    const started = this.startInOrder();
    this.starting = started;
    return started;
  }

  /** Stops everything in order, also in the middle of a start. */
  stop(): Promise<void> {
    this.stopped ??= this.stopInOrder();
    return this.stopped;
  }

  /** Makes a {@link stop} that takes too long end soon: the apps die at once, and what they hadn't finished is lost. */
  force(): void {
    for (const app of this.apps) app.kill();
  }

  private async startInOrder(): Promise<Welcome> {
    const { host, port } = this.options;
    await refuseBusyPort(host, port);
    const data = resolve(this.options.data);
    this.begun.push(lockData(data));
    const issuer = await TokenIssuer.open(join(data, 'keys'));
    const backends = await this.startBackends(data);
    const { LOG_LEVEL: logLevel, replicas } = this.options;
    const { keySetFile } = issuer;
    const programs = appPrograms(
      { ...backends, data, host, port, replicas, logLevel, keySetFile, say: this.say },
      this.folder,
    );
    this.step('Bringing the database up to date');
    await runToEnd(programs.migrate);
    this.step(`Starting the services (${programs.services.length} processes)`);
    await this.startApps(programs.services);
    this.step('Starting the gateway');
    const [gateway] = await this.startApps([programs.gateway]);
    const address = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
    const baseUrl = `http://${address.includes(':') ? `[${address}]` : address}:${String(gateway?.facts.port ?? port)}`;
    return { baseUrl, data: this.options.data, user: firstUser, token: await issuer.issue(firstUser) };
  }

  private async startBackends(data: string): Promise<Backends> {
    const { POSTGRES_URL, REDIS_URL } = this.options;
    const progress = this.say;
    const postgresUrl =
      POSTGRES_URL ??
      (await this.startServer('Postgres', (port) =>
        startPostgres({ directory: join(data, 'postgres'), database: 'podcast_sync', port, progress }),
      ));
    const redisUrl =
      REDIS_URL ??
      (await this.startServer('Redis', (port) =>
        startRedis({ directory: join(data, 'redis'), programs: join(data, 'programs'), port, progress }),
      ));
    return { postgresUrl, redisUrl };
  }

  /** Its URL stays the same when it has to be started again: the apps know no other. */
  private async startServer(name: string, start: (port?: number) => Promise<EmbeddedServer>): Promise<string> {
    this.step(`Starting ${name}`);
    let port: number | undefined;
    const run = new SupervisedRun(name, () => start(port), this.say);
    this.begun.push(() => run.stop());
    const server = await run.start();
    port = server.port;
    return server.url;
  }

  /** Starts apps side by side; they are stopped together. */
  private async startApps(programs: readonly AppProgram[]): Promise<AppProcess[]> {
    const runs = programs.map((program) => {
      let { environment } = program;
      const begin = async (stopped: AbortSignal) => {
        const app = await AppProcess.start({ ...program, environment }, stopped);
        // One that chose its port keeps it.
        if (typeof app.facts.port === 'number') environment = { ...environment, PORT: String(app.facts.port) };
        return app;
      };
      return new SupervisedRun(program.name, begin, this.say);
    });
    this.apps.push(...runs);
    this.begun.push(async () => void (await Promise.all(runs.map((run) => run.stop()))));
    return Promise.all(runs.map((run) => run.start()));
  }

  private step(what: string): void {
    this.ending.signal.throwIfAborted();
    this.say(`${what} ...`);
  }

  private async stopInOrder(): Promise<void> {
    this.ending.abort(new StartError('It was stopped while it started.'));
    // The newest layer is told at once; a layer that hasn't begun yet never will.
    const { length } = this.begun;
    await this.begun[length - 1]?.();
    await this.starting.catch(() => {});
    for (const stop of this.begun.splice(0).reverse()) await stop();
  }
}

/** Found out before anything is started: a newcomer's first problem should leave nothing behind. */
async function refuseBusyPort(host: string, port: number): Promise<void> {
  const probe = createServer();
  const failure = await new Promise<NodeJS.ErrnoException | undefined>((settle) => {
    probe.once('error', settle);
    probe.listen({ port, host }, () => probe.close(() => settle(undefined)));
  });
  if (failure?.code === 'EADDRINUSE')
    throw new StartError(
      `Port ${port} is in use by another program. Choose another one: npm start -- --port ${port + 1}`,
    );
  if (failure) throw new StartError(`It can't listen on ${host}:${port}: ${failure.message}`);
}
