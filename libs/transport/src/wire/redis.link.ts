import { performance } from 'node:perf_hooks';
import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import { Condition, isAccessDenied, withTimeLimit } from '#runtime';
import { ManualResetEvent } from './manual-reset.event.js';
import { withScripts, type ScriptedRedis } from './redis.scripts.js';

/** What can be listened to by `on()` of server and client; `link` says which of the two connections it was. */
export interface LinkEvents extends Record<string, (link: string, ...rest: any[]) => void> {
  ready: (link: string) => void;
  close: (link: string) => void;
  reconnecting: (link: string) => void;
  error: (link: string, error: Error) => void;
}
export const linkEvents = ['ready', 'close', 'reconnecting', 'error'] as const;

/** As told by `status` of server and client. */
export type LinkStatus = 'connected' | 'reconnecting' | 'draining' | 'disconnected';

/** How long Redis may take to answer that a connection is closed, in milliseconds. */
const quitLimitMs = 1_000;

/** The same fault is not logged again within this time. */
const repeatedMs = 10_000;

/**
 * A connection to Redis that may be lost and come back any number of times.
 *
 * Invariants:
 * - An outage is logged once when it begins and once when it ends, however many attempts lie between.
 * - That Redis refuses the password or a certificate is trusted by nobody is an error for an operator, logged once as
 *   such. It connects on: what is wrong may be put right at either end.
 * - Closing ends within about a second, whatever state Redis is in.
 */
export class RedisLink {
  readonly redis: ScriptedRedis;
  /** How often the connection was lost. */
  losses = 0;
  private readonly up = new ManualResetEvent();
  private closing = false;
  private readonly condition = new Condition<'there' | 'away' | 'denied'>('there');
  private lastError?: Error;
  private lastFault = { message: '', at: Number.NEGATIVE_INFINITY };

  constructor(
    readonly name: string,
    redis: Redis | Cluster,
    private readonly log: Logger,
  ) {
    this.redis = withScripts(redis);
    redis.on('ready', () => this.gained());
    redis.on('close', () => this.lost());
    redis.on('error', (error: Error) => this.failed(error));
    // A Cluster's own error does not say what its nodes said.
    redis.on('node error', (error: Error) => this.failed(error));
    if (redis.status === 'ready') this.up.set();
    else if (redis.status === 'wait') redis.connect().catch(() => {});
  }

  get isUp(): boolean {
    return this.up.isSet;
  }

  /** Resolves when commands can be sent. */
  ready(): Promise<void> {
    return this.up.wait();
  }

  on(event: string, listener: (link: string, ...rest: any[]) => void): void {
    this.redis.on(event, (...rest: unknown[]) => listener(this.name, ...rest));
  }

  /** Logs that a command failed, unless it did because the connection is away, which is logged already. */
  logFault(error: unknown): void {
    const message = String(error);
    const now = performance.now();
    const repeated = message === this.lastFault.message && now - this.lastFault.at < repeatedMs;
    if (!this.isUp || this.closing || repeated) return;
    this.lastFault = { message, at: now };
    this.log.warn({ link: this.name, err: error }, 'Redis did not carry out a command');
  }

  /** Says goodbye where Redis still listens, and lets go either way. */
  async close(): Promise<void> {
    this.closing = true;
    if (this.isUp) await withTimeLimit(this.redis.quit(), quitLimitMs).catch(() => {});
    this.redis.disconnect();
    this.up.reset();
  }

  private gained(): void {
    this.up.set();
    if (this.condition.becomes('there')) this.log.info({ link: this.name }, 'Redis is there again');
  }

  private lost(): void {
    if (this.isUp && !this.closing) this.losses += 1;
    this.up.reset();
    this.away();
  }

  private failed(error: Error): void {
    this.lastError = error;
    // While it is up, an error that ends the connection is followed by `close`.
    if (this.isUp) return;
    if (isAccessDenied(error)) this.denied(error);
    else this.away();
  }

  private denied({ message }: Error): void {
    if (this.closing || !this.condition.becomes('denied')) return;
    // Not the error itself: it carries the command, and with it the password.
    this.log.error(
      { link: this.name, reason: message },
      'Redis refuses this app, or is not trusted by it: check user, password and certificates',
    );
  }

  private away(): void {
    // After a denial the connection is closed, too: that is no news.
    if (this.closing || this.condition.state === 'denied' || !this.condition.becomes('away')) return;
    this.log.warn({ link: this.name, err: this.lastError }, 'Redis is away, connecting again');
  }
}
