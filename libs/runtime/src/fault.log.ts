import { Condition } from './condition.js';
import type { Log } from './log.js';

/** Messages of a {@link FaultLog}: at the first failure, and at the first success after it. */
export interface FaultMessages {
  readonly start: string;
  readonly end: string;
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
  private readonly fault = new Condition<string>('');
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
    if (!this.fault.becomes('')) return;
    this.log.info({ outage: this.outage }, this.messages.end);
    this.outage = undefined;
  }

  /** Logs a failure, unless the last line logged the same one. */
  recordFailure(error: unknown): void {
    const server = this.serverOf(error);
    if (!this.fault.becomes(server ?? String(error))) return;
    const outage = this.outage === undefined ? server : undefined;
    this.outage ??= server;
    this.log.warn({ outage, err: error }, this.messages.start);
  }
}
