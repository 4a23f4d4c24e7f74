import { ConsoleLogger, type LoggerService } from '@nestjs/common';
import { trace } from '@opentelemetry/api';
import { type DestinationStream, pino, type Logger } from 'pino';

export type Log = Logger;

/** The levels an operator can choose from. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;

/**
 * Matches secrets: users and passwords in URLs, and anything that looks like a token. Its time is
 * linear in the length of a line, whatever clients send.
 */
const secretPattern =
  /(:\/\/)[^\s/@"\\]+@|(\bBearer +)[\w.~+/-]+|(?<![\w-])(?:eyJ[\w-]+\.[\w-]+\.[\w-]*|pst_[\w-]+)/gi;

/** Returns a line in which secrets are replaced by `***`. */
export function withoutSecrets(line: string): string {
  return line.replace(secretPattern, (_, urlPrefix?: string, bearerPrefix?: string) =>
    urlPrefix ? `${urlPrefix}***@` : `${bearerPrefix ?? ''}***`,
  );
}

/** Fields of a database error with the statement or users' data. `where` can quote their JSON. */
const statementFields: ReadonlySet<string> = new Set([
  'query',
  'parameters',
  'driverError',
  'detail',
  'where',
  'internalQuery',
]);

/** Serializes an error and its causes for the log, without their SQL statements. */
function serializeError(error: Error): unknown {
  return removeStatements(pino.stdSerializers.err(error));
}

function removeStatements(serialized: unknown): unknown {
  if (Array.isArray(serialized)) return serialized.map(removeStatements);
  if (typeof serialized !== 'object' || serialized === null || !('stack' in serialized))
    return serialized;
  const remaining = Object.entries(serialized).filter(([key]) => !statementFields.has(key));
  return Object.fromEntries(remaining.map(([key, value]) => [key, removeStatements(value)]));
}

/**
 * Creates the log of the process: JSON lines on standard output, readable text on a terminal.
 * `error` is for events that an operator must act on. Traced requests have a `trace_id`.
 */
export function createLog(
  app: string,
  level: (typeof logLevels)[number],
  destination: DestinationStream = process.stdout.isTTY
    ? pino.transport({ target: 'pino-pretty' })
    : pino.destination(1),
): Log {
  const options = {
    level,
    base: { app, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    mixin: () => {
      const span = trace.getActiveSpan();
      return span ? { trace_id: span.spanContext().traceId } : {};
    },
    serializers: { err: serializeError },
    hooks: { streamWrite: withoutSecrets },
  };
  return pino(options, destination);
}

/** Returns a logger for Nest that writes to `log`. Nest's messages below `warn` become `debug`. */
export function nestLogger(log: Log): LoggerService {
  const createWriter =
    (level: 'debug' | 'warn' | 'error') =>
    (message: unknown, ...optionalParams: unknown[]) => {
      const context = optionalParams.at(-1);
      if (message instanceof Error) log[level]({ err: message, context }, message.message);
      else
        log[level](
          { context, detail: optionalParams.length > 1 ? optionalParams.slice(0, -1) : undefined },
          String(message),
        );
    };
  return Object.assign(new ConsoleLogger(), {
    log: createWriter('debug'),
    debug: createWriter('debug'),
    verbose: createWriter('debug'),
    warn: createWriter('warn'),
    error: createWriter('error'),
    fatal: createWriter('error'),
  });
}

/** Stores the last state of a repeated check, so that callers log only changes. */
export class LastState<State extends string> {
  constructor(public state: State) {}

  /** Sets the state. @returns true if it changed. */
  changeTo(state: State): boolean {
    const isNew = state !== this.state;
    this.state = state;
    return isNew;
  }
}

/** Log messages of a {@link FaultLog}. */
export interface FaultMessages {
  /** Message of each new kind of failure. */
  readonly failed: string;
  /** Message of the first success after a failure. */
  readonly recovered: string;
}

/**
 * Logs when repeated work starts to fail and when it works again. Invariants:
 * - A failure is logged as one line, however often it repeats. A different failure before the next
 *   success is another line.
 * - The field `outage` names an unavailable server in one line at the start of its outage and one
 *   line at the end, so that tools can count outages.
 */
export class FaultLog {
  /** The unavailable server or the message of the last failure; empty after a success. */
  private readonly lastFault = new LastState<string>('');
  /** The server whose outage is logged as started and not as ended; undefined if none. */
  private outage: string | undefined;

  /** @param findServer returns the server whose outage caused an error; undefined if none did. */
  constructor(
    private readonly log: Log,
    private readonly messages: FaultMessages,
    private readonly findServer: (error: unknown) => string | undefined = () => undefined,
  ) {}

  /** Logs the end of the failures, if there were any. */
  recordSuccess(): void {
    if (!this.lastFault.changeTo('')) return;
    this.log.info({ outage: this.outage }, this.messages.recovered);
    this.outage = undefined;
  }

  /** Logs a failure, unless it is the same as the last one since a success. */
  recordFailure(error: unknown): void {
    const server = this.findServer(error);
    if (!this.lastFault.changeTo(server ?? String(error))) return;
    const outage = this.outage === undefined ? server : undefined;
    this.outage ??= server;
    this.log.warn({ outage, err: error }, this.messages.failed);
  }
}
