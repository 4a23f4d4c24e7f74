import { performance } from 'node:perf_hooks';
import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import { isAccessDenied, redisOutage } from '#redis';
import { LastState, withTimeLimit } from '#runtime';
import { withScripts, type ScriptedRedis } from './redis-scripts.js';

/** Time limit for Redis' answer to QUIT, in milliseconds. */
const quitLimitMs = 1_000;

/** Time in ms for which a failed command with the same message is not logged again. */
const sameFaultMs = 10_000;

/** Value of the log field `outage` in the lines about the start and end of an outage. */
const outage = 'Redis';

/**
 * A connection to Redis that reconnects after every loss.
 *
 * Invariants:
 * - An outage is logged once at its start and once at its end, regardless of the number of
 *   attempts.
 * - A refused password or an untrusted certificate is logged once as an error, because an operator
 *   must act. The link continues to reconnect, because the operator can correct the server.
 * - Closing ends within about a second in any state of Redis.
 */
export class RedisLink {
  readonly redis: ScriptedRedis;
  /** Number of lost connections since the start. */
  lostConnections = 0;
  private readonly connected = new ManualResetEvent();
  private isClosing = false;
  private readonly lastState = new LastState<'connected' | 'disconnected' | 'denied'>('connected');
  private lastError?: Error;
  private lastLoggedFault = { message: '', atMs: Number.NEGATIVE_INFINITY };

  constructor(
    readonly name: string,
    redis: Redis | Cluster,
    private readonly log: Logger,
  ) {
    this.redis = withScripts(redis);
    redis.on('ready', () => this.onReady());
    redis.on('close', () => this.onClose());
    redis.on('error', (error: Error) => this.onError(error));
    // A Cluster does not report the errors of its nodes in its own `error` event.
    redis.on('node error', (error: Error) => this.onError(error));
    if (redis.status === 'ready') this.connected.set();
    else if (redis.status === 'wait') redis.connect().catch(() => {});
  }

  get isUp(): boolean {
    return this.connected.isSet;
  }

  /** Resolves while connected, else at the next connection. */
  ready(): Promise<void> {
    return this.connected.wait();
  }

  /** Logs a failed command, except repetitions within 10 s. `onClose` logs lost connections. */
  readonly logFault = (error: unknown): void => {
    const message = String(error);
    const now = performance.now();
    const isRepeated =
      message === this.lastLoggedFault.message && now - this.lastLoggedFault.atMs < sameFaultMs;
    if (!this.isUp || this.isClosing || isRepeated || redisOutage(error)) return;
    this.lastLoggedFault = { message, atMs: now };
    this.log.warn({ link: this.name, err: error }, 'Redis command failed, retrying');
  };

  async close(): Promise<void> {
    this.isClosing = true;
    if (this.isUp) await withTimeLimit(this.redis.quit(), quitLimitMs).catch(() => {});
    this.redis.disconnect();
    this.connected.reset();
  }

  private onReady(): void {
    this.connected.set();
    if (this.lastState.changeTo('connected'))
      this.log.info({ outage, link: this.name }, 'Redis connected again, outage ended');
  }

  private onClose(): void {
    if (this.isUp && !this.isClosing) this.lostConnections += 1;
    this.connected.reset();
    this.logOutage();
  }

  private onError(error: Error): void {
    this.lastError = error;
    // An error that ends an open connection is followed by `close`, which logs the outage.
    if (this.isUp) return;
    if (isAccessDenied(error)) this.logDenied(error);
    else this.logOutage();
  }

  private logDenied({ message }: Error): void {
    const isOutageStart = this.lastState.state === 'connected';
    if (this.isClosing || !this.lastState.changeTo('denied')) return;
    // Logs only the message, because the error contains the command AUTH with the password.
    this.log.error(
      { ...(isOutageStart && { outage }), link: this.name, reason: message },
      'Redis login denied or certificate not trusted: check user, password and certificates',
    );
  }

  private logOutage(): void {
    // Redis also closes a connection after a denial, which `logDenied` has logged.
    if (
      this.isClosing ||
      this.lastState.state === 'denied' ||
      !this.lastState.changeTo('disconnected')
    )
      return;
    this.log.warn(
      { outage, link: this.name, err: this.lastError },
      'Redis disconnected, reconnecting',
    );
  }
}

/** A flag to wait for: `wait` resolves when it is set. It stays set until it is reset. */
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
