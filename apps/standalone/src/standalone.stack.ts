import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort, startPostgres, startRedis, StartError, TokenIssuer, type EmbeddedServer } from '#embedded';
import { AppProcess, runToEnd, type AppProgram } from './app.process.js';
import { accountKeys, appPrograms, type Backends, type ProgramOptions } from './app.programs.js';
import { lockData } from './data.lock.js';
import type { StandaloneOptions } from './standalone.options.js';
import { SupervisedRun } from './supervised.run.js';
import type { Welcome } from './welcome.text.js';

/**
 * Everything on one machine: Postgres, Redis, the migrations, the services and the edges: gateway and gpodder.
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
    const places = await this.choosePlaces();
    const data = resolve(this.options.data);
    this.begun.push(lockData(data));
    const [commandLine, account] = await Promise.all(
      ['keys', accountKeys].map(async (folder) => (await TokenIssuer.open(join(data, folder))).keySetFile),
    );
    const keySets = { commandLine: commandLine as string, account: account as string };
    const backends = await this.startBackends(data);
    return this.startPrograms({ ...backends, data, keySets }, places);
  }

  /** Starts the apps, and starts them again on other ports where one that was chosen here has been taken meanwhile. */
  private async startPrograms(fixed: Fixed, places: Places, attempt = 1): Promise<Welcome> {
    const before = this.begun.length;
    try {
      return await this.startProgramsAt(fixed, places);
    } catch (error) {
      if (this.ending.signal.aborted || attempt === portAttempts) throw error;
      for (const stop of this.begun.splice(before).reverse()) await stop();
      if (!(await this.hasLostPort(places))) throw error;
    }
    return this.startPrograms(fixed, await this.choosePlaces(), attempt + 1);
  }

  private async startProgramsAt(fixed: Fixed, places: Places): Promise<Welcome> {
    const { LOG_LEVEL: logLevel, host, publicUrl, gpodderUrl, replicas } = this.options;
    const programs = appPrograms(
      { ...fixed, ...places, host, publicUrl, gpodderUrl, replicas, logLevel, say: this.say },
      this.folder,
    );
    this.step('Bringing the database up to date');
    await runToEnd(programs.migrate);
    this.step(`Starting the services (${programs.services.length} processes)`);
    await this.startApps(programs.services);
    let firstLink = '';
    await runToEnd(programs.firstLink, (text) => (firstLink += text));
    this.step('Starting the gateway, and gpodder for podcast apps of today');
    await this.startApps(programs.edges);
    const { baseUrl, accountUrl, syncUrl } = places;
    return { baseUrl, accountUrl, syncUrl, data: this.options.data, firstLink: firstLink.trim() || undefined };
  }

  /** Whether another program listens on a port that was chosen here. */
  private async hasLostPort(places: Places): Promise<boolean> {
    for (const name of portOptions)
      if (this.options[name] === 0 && (await listenFailure(this.options.host, places[name]))) return true;
    return false;
  }

  /** The ports, and the URLs that name them: for this machine, or for those that share its network. */
  private async choosePlaces(): Promise<Places> {
    const { host, publicUrl, accountUrl, gpodderUrl } = this.options;
    const chosen = [];
    for (const name of portOptions) {
      await refuseBusyPort(host, this.options[name], name);
      chosen.push(this.options[name] || (await freePort()));
    }
    const [port, accountPort, gpodderPort] = chosen as [number, number, number];
    if (new Set(chosen).size < chosen.length)
      throw new StartError('--port, --account-port and --gpodder-port have to differ');
    const address = reachableAddress(host);
    const at = (some: number) => `http://${address.includes(':') ? `[${address}]` : address}:${some}`;
    const urls = { baseUrl: publicUrl ?? at(port), accountUrl: accountUrl ?? at(accountPort) };
    return { port, accountPort, gpodderPort, ...urls, syncUrl: gpodderUrl ?? at(gpodderPort) };
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
    const runs = programs.map(
      (program) => new SupervisedRun(program.name, (stopped) => AppProcess.start(program, stopped), this.say),
    );
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

const portOptions = ['port', 'accountPort', 'gpodderPort'] as const;
type PortOption = (typeof portOptions)[number];
/** The ports, and the URLs that name them. */
type Places = Pick<ProgramOptions, PortOption | 'baseUrl' | 'accountUrl'> & { readonly syncUrl: string };
/** What stays the same when the apps are started on other ports. */
type Fixed = Backends & Pick<ProgramOptions, 'data' | 'keySets'>;

/** How often ports are chosen at the most. */
const portAttempts = 5;

/**
 * The address that a host is reached by: where it means all of them, that of this machine in the local network, so that
 * phones find it, or itself where it has none.
 */
function reachableAddress(host: string): string {
  if (host !== '0.0.0.0' && host !== '::') return host;
  const addresses = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  return addresses.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.1';
}

/** Found out before anything is started: a newcomer's first problem should leave nothing behind. */
async function refuseBusyPort(host: string, port: number, option: PortOption): Promise<void> {
  const failure = await listenFailure(host, port);
  if (failure?.code === 'EADDRINUSE')
    throw new StartError(
      `Port ${port} is in use by another program. Choose another one: npm start -- ` +
        `--${option.replace('Port', '-port')} ${port === 65_535 ? 0 : port + 10}`,
    );
  if (failure) throw new StartError(`It can't listen on ${host}:${port}: ${failure.message}`);
}

/** Returns why nobody can listen on a port, if so. */
function listenFailure(host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  const probe = createServer();
  return new Promise((settle) => {
    probe.once('error', settle);
    probe.listen({ port, host }, () => probe.close(() => settle(undefined)));
  });
}
