import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import { Gate } from './gate.js';
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

/** A connection to Redis that may be lost and come back any number of times, and is told about once each. */
export class RedisLink {
  readonly redis: ScriptedRedis;
  private readonly up = new Gate();
  private closing = false;
  private outage = false;
  private outages = 0;

  constructor(
    readonly name: string,
    redis: Redis | Cluster,
    private readonly log: Logger,
  ) {
    this.redis = withScripts(redis);
    redis.on('ready', () => this.gained());
    redis.on('close', () => this.lost());
    // ioredis reports on standard error what nobody listens to.
    redis.on('error', (error: Error) => this.lost(error));
    if (redis.status === 'ready') this.up.open();
    else if (redis.status === 'wait') redis.connect().catch(() => {});
  }

  get isUp(): boolean {
    return this.up.isOpen;
  }

  /** How often the connection was lost. */
  get losses(): number {
    return this.outages;
  }

  /** Resolves when commands can be sent. */
  ready(): Promise<void> {
    return this.up.opened();
  }

  on(event: string, listener: (link: string, ...rest: any[]) => void): void {
    this.redis.on(event, (...rest: unknown[]) => listener(this.name, ...rest));
  }

  /** Says goodbye where Redis still listens, and lets go within a second either way. */
  async close(): Promise<void> {
    this.closing = true;
    if (this.isUp) {
      const limit = new Promise<void>((resolve) => setTimeout(resolve, 1_000).unref());
      await Promise.race([this.redis.quit().catch(() => {}), limit]);
    }
    this.redis.disconnect();
    this.up.shut();
  }

  private gained(): void {
    this.up.open();
    if (this.outage) this.log.info({ link: this.name }, 'Redis is there again');
    this.outage = false;
  }

  private lost(error?: Error): void {
    const wasUp = this.up.isOpen;
    // Not every error ends the connection: that is what `close` says.
    if (!error) this.up.shut();
    if (this.closing) return;
    if (!error && wasUp) this.outages += 1;
    if (!this.outage && (error || wasUp))
      this.log.warn({ link: this.name, err: error }, 'Redis is away, connecting again');
    this.outage ||= wasUp ? !error : true;
  }
}
