import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import {
  freePort,
  KeyFiles,
  startPostgres,
  startRedis,
  StartError,
  type EmbeddedServer,
} from '#embedded';
import { ConfigurationError, reachableUrl } from '#runtime';
import { SupervisedApp, runToEnd, type AppProgram } from './app-process.js';
import { AppLog } from './app-log.js';
import {
  accountKeys,
  appPrograms,
  type Backends,
  logins,
  type ProgramOptions,
} from './app-programs.js';
import { lockData } from './data-lock.js';
import { Outages } from './outages.js';
import type { StandaloneOptions } from './standalone-options.js';
import { checkDirectory, checkLoginsUnused, checkServers } from './start-checks.js';
import { SupervisedRun } from './supervised-run.js';
import type { Welcome } from './welcome-text.js';

/**
 * Runs all parts on one machine: Postgres, Redis, the migrations, the services, and the edge.
 *
 * Invariants:
 * - Postgres and Redis start together, then the migrations run, then all apps start together.
 * - Each part stops after the parts that use it.
 * - A failed or interrupted start leaves nothing running.
 * - A server or app that ends after a successful start is restarted.
 */
export class StandaloneStack {
  /** Functions that stop started parts, in the order of their starts. */
  private readonly stopParts: (() => Promise<void> | void)[] = [];
  private readonly stopController = new AbortController();
  private readonly apps: SupervisedRun<SupervisedApp>[] = [];
  /** The embedded servers by name. */
  private readonly servers = new Map<string, SupervisedRun<EmbeddedServer>>();
  private readonly outages: Outages;
  private startInProgress: Promise<unknown> = Promise.resolve();
  private stopInProgress: Promise<void> | undefined;

  constructor(
    private readonly options: StandaloneOptions,
    private readonly printLine: (line: string) => void,
    private readonly programFolder: string,
  ) {
    const isRestarting = (server: string) => this.servers.get(server)?.isRunning === false;
    this.outages = new Outages(printLine, isRestarting);
  }

  /**
   * Starts all parts and resolves when they are ready.
   *
   * @throws StartError with a message for the operator. Call {@link stop} afterwards.
   */
  start(): Promise<Welcome> {
    const startPromise = this.startInOrder();
    this.startInProgress = startPromise;
    return startPromise;
  }

  /** Stops all parts in order, also during a start. */
  stop(): Promise<void> {
    this.stopInProgress ??= this.stopInOrder();
    return this.stopInProgress;
  }

  /** Kills the apps, which speeds up a slow {@link stop}. Their unfinished work is lost. */
  killApps(): void {
    for (const app of this.apps) app.kill();
  }

  private async startInOrder(): Promise<Welcome> {
    const address = await this.chooseAddress();
    const data = resolve(this.options.data);
    checkDirectory(data);
    const canCreateRoles = await checkServers(this.options);
    if (!canCreateRoles)
      this.printLine(
        'The user of POSTGRES_URL is not allowed to create roles: all services use the database ' +
          'as that user.',
      );
    this.stopParts.push(lockData(data));
    await KeyFiles.open(join(data, accountKeys));
    const [backends] = await waitForBoth(this.startBackends(data), this.checkVariables(data));
    return this.startPrograms({ ...backends, canCreateRoles, data }, address);
  }

  /** Starts the apps. With `--port 0`, retries if another program has taken the chosen port. */
  private async startPrograms(
    fixedOptions: PortIndependentOptions,
    address: ServedAddress,
    attempt = 1,
  ): Promise<Welcome> {
    const earlierParts = this.stopParts.length;
    try {
      return await this.startProgramsAt(fixedOptions, address);
    } catch (error) {
      if (
        this.stopController.signal.aborted ||
        attempt === maxPortAttempts ||
        this.options.port !== 0
      )
        throw error;
      for (const stop of this.stopParts.splice(earlierParts).reverse()) await stop();
      if (!(await findListenError(this.options.host, address.port))) throw error;
    }
    return this.startPrograms(fixedOptions, await this.chooseAddress(), attempt + 1);
  }

  private async startProgramsAt(
    fixedOptions: PortIndependentOptions,
    address: ServedAddress,
  ): Promise<Welcome> {
    const {
      LOG_LEVEL: logLevel,
      FEEDS = 'fetched',
      feeds = FEEDS,
      host,
      publicUrl,
      replicas,
    } = this.options;
    const programs = appPrograms(
      {
        ...fixedOptions,
        ...address,
        host,
        publicUrl,
        replicas,
        isPostgresEmbedded: this.options.POSTGRES_URL === undefined,
        feeds,
        logLevel,
        printLine: this.printLine,
        outages: this.outages,
      },
      this.programFolder,
    );
    const { POSTGRES_URL } = this.options;
    if (POSTGRES_URL !== undefined && fixedOptions.canCreateRoles)
      await checkLoginsUnused(POSTGRES_URL, logins);
    this.announceStep('Migrating the database');
    await runToEnd(programs.migrate);
    this.announceStep(`Starting ${programs.services.length + 1} processes`);
    let firstLink = '';
    const firstLinkRun = runToEnd(programs.firstLink, (text) => (firstLink += text));
    this.stopParts.push(() => firstLinkRun.catch(() => {}));
    // A stop has the reverse order, because the services answer the last requests of the edge.
    await Promise.all([
      firstLinkRun,
      this.startApps(programs.services),
      this.startApps([programs.edge]),
    ]);
    return {
      baseUrl: address.baseUrl,
      data: this.options.data,
      firstLink: firstLink.trim() || undefined,
    };
  }

  /** Returns the port, and the URL for clients: `--public-url`, or a URL of host and port. */
  private async chooseAddress(): Promise<ServedAddress> {
    const { host, publicUrl, port: requestedPort } = this.options;
    await requireFreePort(host, requestedPort);
    const port = requestedPort || (await freePort());
    return { port, baseUrl: publicUrl ?? reachableUrl(host, port) };
  }

  /** Checks the variables that apps inherit. @throws ConfigurationError with all problems. */
  private async checkVariables(data: string): Promise<void> {
    const name = 'variables-check';
    const log = new AppLog(name, join(data, 'logs', `${name}.log`), this.printLine, this.outages);
    let output = '';
    await runToEnd(
      { name, script: join(this.programFolder, `${name}.js`), environment: {}, log },
      (text) => (output += text),
    );
    const problems = JSON.parse(output) as string[];
    if (problems.length > 0) throw new ConfigurationError(problems);
  }

  private async startBackends(data: string): Promise<Backends> {
    const { POSTGRES_URL, REDIS_URL } = this.options;
    const reportProgress = this.printLine;
    const [postgresUrl, redisUrl] = await Promise.all([
      POSTGRES_URL ??
        this.startServer('Postgres', (stopped, port) =>
          startPostgres({
            directory: join(data, 'postgres'),
            database: 'podcast_sync',
            port,
            stopped,
            reportProgress,
          }),
        ),
      REDIS_URL ??
        this.startServer('Redis', (stopped, port) =>
          startRedis({
            directory: join(data, 'redis'),
            programs: join(data, 'programs'),
            port,
            stopped,
            reportProgress,
          }),
        ),
    ]);
    return { postgresUrl, redisUrl };
  }

  /** Starts an embedded server. A restart keeps the port, because the apps have its URL. */
  private async startServer(
    name: string,
    start: (stopped: AbortSignal, port?: number) => Promise<EmbeddedServer>,
  ): Promise<string> {
    this.announceStep(`Starting ${name}`);
    let port: number | undefined;
    const startOnPort = (stopped: AbortSignal) => {
      // A stop of the stack does not interrupt a restart, because stopping apps need the server.
      const signals = port === undefined ? [stopped, this.stopController.signal] : [stopped];
      return start(AbortSignal.any(signals), port);
    };
    const run = new SupervisedRun(name, startOnPort, this.printLine);
    this.servers.set(name, run);
    this.stopParts.push(() => run.stop());
    const server = await run.start();
    port = server.port;
    return server.url;
  }

  /** Starts apps concurrently. They are stopped together. */
  private startApps(programs: readonly AppProgram[]): Promise<SupervisedApp[]> {
    const runs = programs.map(
      (program) =>
        new SupervisedRun(
          program.name,
          (stopped) => SupervisedApp.start(program, stopped),
          this.printLine,
        ),
    );
    this.apps.push(...runs);
    this.stopParts.push(async () => void (await Promise.all(runs.map((run) => run.stop()))));
    return Promise.all(runs.map((run) => run.start()));
  }

  private announceStep(step: string): void {
    this.stopController.signal.throwIfAborted();
    this.printLine(`${step} ...`);
  }

  private async stopInOrder(): Promise<void> {
    this.stopController.abort(new StartError('The start was interrupted.'));
    // Stops the last started part first, so that a start in progress fails and starts nothing else.
    const { length } = this.stopParts;
    await this.stopParts[length - 1]?.();
    await this.startInProgress.catch(() => {});
    for (const stop of this.stopParts.splice(0).reverse()) await stop();
  }
}

/** Waits for both promises even if one fails, so that parts that start meanwhile can be stopped. */
async function waitForBoth<First, Second>(
  first: Promise<First>,
  second: Promise<Second>,
): Promise<[First, Second]> {
  await Promise.allSettled([first, second]);
  return Promise.all([first, second]);
}

/** Port of the edge, and the URL for clients. */
type ServedAddress = Pick<ProgramOptions, 'port' | 'baseUrl'>;
/** Options that stay the same when the apps are started on another port. */
type PortIndependentOptions = Backends & Pick<ProgramOptions, 'canCreateRoles' | 'data'>;

const maxPortAttempts = 5;

/** Checks the port before anything starts, so that a failure leaves nothing behind. */
async function requireFreePort(host: string, port: number): Promise<void> {
  const failure = await findListenError(host, port);
  if (failure?.code === 'EADDRINUSE')
    throw new StartError(
      `Port ${port} is in use by another program. Choose another one: npm start -- ` +
        `--port ${port === 65_535 ? 0 : port + 10}`,
    );
  if (failure)
    throw new StartError(`Cannot listen on ${host}:${port} (--host, --port): ${failure.message}`);
}

/** Returns the error of listening on a port; undefined if the port is free. */
function findListenError(host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  const probe = createServer();
  return new Promise((settle) => {
    probe.once('error', settle);
    probe.listen({ port, host }, () => probe.close(() => settle(undefined)));
  });
}
