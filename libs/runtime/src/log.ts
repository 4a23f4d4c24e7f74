import { ConsoleLogger, type LoggerService } from '@nestjs/common';
import { pino, type Logger } from 'pino';

export type Log = Logger;

/** The levels an operator can choose from. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;

/** The process' log: JSON lines on standard output. `error` is for what an operator must act on. */
export function createLog(app: string, level: (typeof logLevels)[number]): Log {
  return pino({
    level,
    base: { app, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  });
}

/** Nest's own messages in the same log; what it says while starting is of interest to developers only. */
export function nestLogger(log: Log): LoggerService {
  const write =
    (level: 'debug' | 'warn' | 'error') =>
    (message: unknown, ...rest: unknown[]) => {
      const context = rest.at(-1);
      if (message instanceof Error) log[level]({ err: message, context }, message.message);
      else log[level]({ context, detail: rest.length > 1 ? rest.slice(0, -1) : undefined }, String(message));
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
