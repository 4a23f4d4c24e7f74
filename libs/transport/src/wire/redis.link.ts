import { performance } from 'node:perf_hooks';
import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import { isAccessDenied } from '#redis';
import { Condition, withTimeLimit } from '#runtime';
import { ManualResetEvent } from './manual-reset.event.js';
import { withScripts, type ScriptedRedis } from './redis.scripts.js';

/** How long Redis may take to answer that a connection is closed, in milliseconds. */
const quitLimitMs = 1_000;

/** The same fault is not logged again within this time, in milliseconds. */
const repeatedMs = 10_000;

/**
 * A connection to Redis that may be lost and come back any number of times.
 *
 * Invariants:
 * - An outage is logged once when it begins and once when it ends, however many attempts lie between.
 * - That Redis refuses the password, or that its certificate is not trusted, is logged once as an error, as an operator
 *   has to act. It goes on trying to connect: that may be put right at either end.
 * - Closing ends within about a second, whatever state Redis is in.
 */
export class RedisLink {
  readonly redis: ScriptedRedis;
  /** How often the connection was lost. */
  losses = 0;
  private readonly up = new ManualResetEvent();
  private closing = false;
  private readonly condition = new Condition<'connected' | 'disconnected' | 'denied'>('connected');
  private lastError?: Error;
  private lastFault = { message: '', at: Number.NEGATIVE_INFINITY };

  constructor(
    readonly name: string,
    redis: Redis | Cluster,
    private readonly log: Logger,
  ) {
    this.redis = withScripts(redis);
    redis.on('ready', () => this.onReady());
    redis.on('close', () => this.onClose());
    redis.on('error', (error: Error) => this.onError(error));
    // A Cluster's own error does not say what its nodes said.
    redis.on('node error', (error: Error) => this.onError(error));
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

  /** Logs that a command failed, unless the connection is down, which is logged already. */
  readonly logFault = (error: unknown): void => {
    const message = String(error);
    const now = performance.now();
    const repeated = message === this.lastFault.message && now - this.lastFault.at < repeatedMs;
    if (!this.isUp || this.closing || repeated) return;
    this.lastFault = { message, at: now };
    this.log.warn({ link: this.name, err: error }, 'Redis command failed');
  };

  /** Sends QUIT where it is connected, and disconnects either way. */
  async close(): Promise<void> {
    this.closing = true;
    if (this.isUp) await withTimeLimit(this.redis.quit(), quitLimitMs).catch(() => {});
    this.redis.disconnect();
    this.up.reset();
  }

  private onReady(): void {
    this.up.set();
    if (this.condition.becomes('connected')) this.log.info({ link: this.name }, 'Redis connected again');
  }

  private onClose(): void {
    if (this.isUp && !this.closing) this.losses += 1;
    this.up.reset();
    this.logOutage();
  }

  private onError(error: Error): void {
    this.lastError = error;
    // While it is up, an error that ends the connection is followed by `close`.
    if (this.isUp) return;
    if (isAccessDenied(error)) this.logDenied(error);
    else this.logOutage();
  }

  private logDenied({ message }: Error): void {
    if (this.closing || !this.condition.becomes('denied')) return;
    // Not the error itself: it carries the command, and with it the password.
    this.log.error(
      { link: this.name, reason: message },
      'Redis connection refused: check user, password and certificates',
    );
  }

  private logOutage(): void {
    // After a denial the connection is closed, too: that is no news.
    if (this.closing || this.condition.state === 'denied' || !this.condition.becomes('disconnected')) return;
    this.log.warn({ link: this.name, err: this.lastError }, 'Redis disconnected, reconnecting');
  }
}
