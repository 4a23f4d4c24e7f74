import { performance } from 'node:perf_hooks';
import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import { isAccessDenied, redisOutage } from '#redis';
import { Condition, withTimeLimit } from '#runtime';
import { withScripts, type ScriptedRedis } from './redis.scripts.js';

/** Time limit for Redis' answer to QUIT, in milliseconds. */
const quitLimitMs = 1_000;

/** Time in milliseconds for which a repeated fault is not logged. */
const repeatedMs = 10_000;

/** Value of the log field `outage`, in lines that start or end one. */
const outage = 'Redis';

/**
 * A connection to Redis that reconnects after every loss.
 *
 * Invariants:
 * - An outage is logged once at its start and once at its end, regardless of the number of
 *   attempts.
 * - A refused password or an untrusted certificate is logged once as an error, as an operator has
 *   to act. The link keeps reconnecting, because the operator can also correct the server.
 * - Closing ends within about a second in any state of Redis.
 */
export class RedisLink {
  readonly redis: ScriptedRedis;
  /** Number of lost connections. */
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
    // A Cluster's own error does not contain its nodes' errors.
    redis.on('node error', (error: Error) => this.onError(error));
    if (redis.status === 'ready') this.up.set();
    else if (redis.status === 'wait') redis.connect().catch(() => {});
  }

  get isUp(): boolean {
    return this.up.isSet;
  }

  ready(): Promise<void> {
    return this.up.wait();
  }

  /** Logs a failed command, unless the connection is down, which is logged already. */
  readonly logFault = (error: unknown): void => {
    const message = String(error);
    const now = performance.now();
    const repeated = message === this.lastFault.message && now - this.lastFault.at < repeatedMs;
    if (!this.isUp || this.closing || repeated || redisOutage(error)) return;
    this.lastFault = { message, at: now };
    this.log.warn({ link: this.name, err: error }, 'Redis command failed');
  };

  async close(): Promise<void> {
    this.closing = true;
    if (this.isUp) await withTimeLimit(this.redis.quit(), quitLimitMs).catch(() => {});
    this.redis.disconnect();
    this.up.reset();
  }

  private onReady(): void {
    this.up.set();
    if (this.condition.becomes('connected'))
      this.log.info({ outage, link: this.name }, 'Redis connected again');
  }

  private onClose(): void {
    if (this.isUp && !this.closing) this.losses += 1;
    this.up.reset();
    this.logOutage();
  }

  private onError(error: Error): void {
    this.lastError = error;
    // While it is up, `close` follows an error that ends the connection.
    if (this.isUp) return;
    if (isAccessDenied(error)) this.logDenied(error);
    else this.logOutage();
  }

  private logDenied({ message }: Error): void {
    const isStart = this.condition.state === 'connected';
    if (this.closing || !this.condition.becomes('denied')) return;
    // The error itself carries the command, and with it the password.
    this.log.error(
      { ...(isStart && { outage }), link: this.name, reason: message },
      'Redis denies access or is not trusted: check user, password and certificates',
    );
  }

  private logOutage(): void {
    // A denied connection also closes, but this is no new outage.
    if (
      this.closing ||
      this.condition.state === 'denied' ||
      !this.condition.becomes('disconnected')
    )
      return;
    this.log.warn(
      { outage, link: this.name, err: this.lastError },
      'Redis disconnected, reconnecting',
    );
  }
}

/** A flag that any number of waiters can wait for, repeatedly. */
export class ManualResetEvent {
  private readonly waiters: (() => void)[] = [];

  constructor(private isNowSet = false) {}

  get isSet(): boolean {
    return this.isNowSet;
  }

  set(): void {
    this.isNowSet = true;
    for (const resume of this.waiters.splice(0)) resume();
  }

  reset(): void {
    this.isNowSet = false;
  }

  assign(isSet: boolean): void {
    if (isSet) this.set();
    else this.reset();
  }

  wait(): Promise<void> {
    return this.isNowSet ? Promise.resolve() : new Promise((resolve) => this.waiters.push(resolve));
  }
}
