import { setFlagsFromString } from 'node:v8';
import { z } from 'zod';
import { ConfigurationError, loadConfig } from './config.js';
import { createLog, logLevels, type Log } from './log.js';
import { registerProcessMetrics } from './metrics.js';
import { startTracing, type TracingConfig } from './tracing.js';
import { type OpsConfig, type OpsRoutes, OpsServer } from './ops-server.js';

/** Configuration variables of every app. */
export const commonConfig = z.object({
  LOG_LEVEL: z.enum(logLevels).default('info').describe('Least important level that is logged.'),
});

/** A started app, as {@link runApp} needs it. */
export interface RunningProcess {
  /** Finishes the started work and closes every connection. Called at most once. */
  stop(): Promise<void>;
  /** Values to send to the parent process together with `ready`, such as the port. */
  facts?: Record<string, unknown>;
  /** Returns the unavailable dependencies, as texts for an operator. Default: an empty list. */
  missing?(): Promise<readonly string[]>;
  opsRoutes?: OpsRoutes;
}

/** Sets the check that `/readyz` runs while an app starts. The check returns what is missing. */
export type WaitFor = (missing: () => Promise<readonly string[]>) => void;

/** The message to the parent process over IPC once the app serves requests. */
export interface ReadyMessage {
  ready: true;
  facts: Record<string, unknown>;
}

/**
 * Time limit of a stop in milliseconds: longer than a large cascade, and shorter than the limits of
 * `npm start`, docker-compose (`stop_grace_period`) and Kubernetes
 * (`terminationGracePeriodSeconds`).
 */
export const stopLimitMs = 70_000;

/**
 * Growth of the heap until the next full garbage collection, in percent of the bytes that survived
 * the last collection. This is V8's value for large heap limits. For our small limit, V8 would use
 * about 35. As V8 counts Buffers too, a gateway that forwards pages of 30 kB would then collect the
 * full heap every hundred pages.
 */
const heapGrowthPercent = 300;

/**
 * Runs an app as a process: reads its configuration, starts it and reports that it is ready. Stops
 * it on SIGTERM, on SIGINT, or when its parent process has ended. Exit codes: 0 after a stop, 78
 * (EX_CONFIG) for a missing or invalid configuration, 1 for any other error.
 */
export async function runApp<Schema extends z.ZodObject>(
  app: string,
  schema: Schema,
  start: (config: z.output<Schema>, log: Log, waitFor: WaitFor) => Promise<RunningProcess>,
): Promise<void> {
  setFlagsFromString(`--heap-growing-percent=${heapGrowthPercent}`);
  const config = loadConfigOrExit(app, schema);
  const log = createLog(app, (config as z.output<typeof commonConfig>).LOG_LEVEL);
  const exitWithError = (error: unknown): never => {
    if (error instanceof ConfigurationError) return exitForConfiguration(app, error);
    log.fatal({ err: error }, 'process ends: unexpected error');
    process.exit(1);
  };
  process.on('uncaughtException', exitWithError);
  process.on('unhandledRejection', exitWithError);

  const flushTraces = await startTracing(app, config as Partial<OpsConfig & TracingConfig>);
  let running: RunningProcess | undefined;
  let isStopping = false;
  let findMissingAtStart: () => Promise<readonly string[]> = async () => [];
  const ops = await openOps(app, config as Partial<OpsConfig>, async () => {
    if (isStopping) return ['the process is stopping'];
    if (!running) return ['the process is starting', ...(await findMissingAtStart())];
    return (await running.missing?.()) ?? [];
  }).catch(exitWithError);
  const stop = (cause: string) => {
    if (isStopping) return;
    isStopping = true;
    log.info({ cause }, 'app stopping');
    // An app that is still starting has no work to finish, and its start can wait without a limit.
    if (!running) process.exit(0);
    setTimeout(
      () => exitWithError(new Error(`the stop took longer than ${stopLimitMs} ms`)),
      stopLimitMs,
    ).unref();
    running
      .stop()
      .then(flushTraces)
      .then(() => process.exit(0), exitWithError);
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  if (process.send) process.on('disconnect', () => stop('the parent process ended'));

  running = await start(config, log, (missing) => (findMissingAtStart = missing)).catch(
    exitWithError,
  );
  if (ops && running.opsRoutes) ops.server.routes = running.opsRoutes;
  const facts = { ...running.facts, ...(ops && { opsPort: ops.port }) };
  log.info(facts, 'app ready');
  process.send?.({ ready: true, facts } satisfies ReadyMessage);
}

/** Opens the ops port, if configured, before the app starts, so that its start can be observed. */
async function openOps(
  app: string,
  config: Partial<OpsConfig>,
  missing: () => Promise<readonly string[]>,
) {
  if (config.OPS_PORT === undefined) return undefined;
  registerProcessMetrics(app, config.VERSION ?? '');
  const server = new OpsServer(missing);
  return { server, port: await server.open(config as OpsConfig) };
}

function loadConfigOrExit<Schema extends z.ZodObject>(
  app: string,
  schema: Schema,
): z.output<Schema> {
  try {
    return loadConfig(schema);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return exitForConfiguration(app, error);
  }
}

function exitForConfiguration(app: string, error: ConfigurationError): never {
  process.stderr.write(`${app}: ${error.message}\n`);
  return process.exit(78);
}
