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

/** Returns a line without its secrets. */
export function withoutSecrets(line: string): string {
  return line.replace(secretPattern, (_, url?: string, bearer?: string) =>
    url ? `${url}***@` : `${bearer ?? ''}***`,
  );
}

/** Fields of an SQL error that contain the statement or users' data; `where` can quote JSON. */
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
  return withoutStatements(pino.stdSerializers.err(error));
}

function withoutStatements(shown: unknown): unknown {
  if (Array.isArray(shown)) return shown.map(withoutStatements);
  if (typeof shown !== 'object' || shown === null || !('stack' in shown)) return shown;
  const kept = Object.entries(shown).filter(([key]) => !statementFields.has(key));
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutStatements(value)]));
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
  const write =
    (level: 'debug' | 'warn' | 'error') =>
    (message: unknown, ...rest: unknown[]) => {
      const context = rest.at(-1);
      if (message instanceof Error) log[level]({ err: message, context }, message.message);
      else
        log[level](
          { context, detail: rest.length > 1 ? rest.slice(0, -1) : undefined },
          String(message),
        );
    };
  return Object.assign(new ConsoleLogger(), {
    log: write('debug'),
    debug: write('debug'),
    verbose: write('debug'),
    warn: write('warn'),
    error: write('error'),
    fatal: write('error'),
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
 * - The field `outage` names an unavailable server, once at the start of its outage and once at the
 *   end, so that tools which read the log count each outage once.
 */
export class FaultLog {
  /** The unavailable server or the message of the last failure; empty after a success. */
  private readonly fault = new LastState<string>('');
  /** The server that the last start line names as unavailable. */
  private outage: string | undefined;

  /** @param serverOf returns the name of the server whose outage an error shows, if it does. */
  constructor(
    private readonly log: Log,
    private readonly messages: FaultMessages,
    private readonly serverOf: (error: unknown) => string | undefined = () => undefined,
  ) {}

  /** Logs the end of the failures, if there were any. */
  recordSuccess(): void {
    if (!this.fault.changeTo('')) return;
    this.log.info({ outage: this.outage }, this.messages.recovered);
    this.outage = undefined;
  }

  /** Logs a failure, unless the last line logged the same one. */
  recordFailure(error: unknown): void {
    const server = this.serverOf(error);
    if (!this.fault.changeTo(server ?? String(error))) return;
    const outage = this.outage === undefined ? server : undefined;
    this.outage ??= server;
    this.log.warn({ outage, err: error }, this.messages.failed);
  }
}
