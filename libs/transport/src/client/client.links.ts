import { unavailable } from '#contracts';
import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import { ManualResetEvent } from '../wire/manual-reset.event.js';
import { RedisLink } from '../wire/redis.link.js';
import { RepeatingTask } from '../wire/repeating.task.js';
import { ServiceView } from './service.view.js';

export interface ClientLinksOptions {
  readonly connect: () => Redis | Cluster;
  readonly log: Logger;
  readonly services: readonly string[];
  readonly maxInFlight: number;
  readonly pollMs: number;
  /** The channel that replies come on. */
  readonly channel: string;
  readonly onMessage: (message: Buffer) => void;
  /** Called when a connection was lost: replies on their way may be lost with it. */
  readonly onLost: () => void;
}

/** How long to wait after a fault that is not the connection's. */
const faultPauseMs = 250;

/**
 * A client's connections to Redis, one that writes and one that receives its replies, and its view of each service.
 *
 * Invariants:
 * - It is up only while Redis has confirmed its subscription; after each loss it subscribes again.
 * - When a connection is lost, no service counts as alive until the next poll.
 */
export class ClientLinks {
  readonly writer: RedisLink;
  readonly subscriber: RedisLink;
  readonly views = new Map<string, ServiceView>();
  private readonly polling: RepeatingTask;
  private subscribed = false;
  private readonly closed = new ManualResetEvent();

  constructor(private readonly options: ClientLinksOptions) {
    const { connect, log, services, pollMs, channel, onMessage } = options;
    this.writer = new RedisLink('writer', connect(), log);
    this.subscriber = new RedisLink('subscriber', connect(), log);
    for (const { redis } of this.all) redis.on('close', () => this.lost());
    this.subscriber.redis.on('ready', () => void this.subscribe());
    // As bytes and not as a string: most of a reply is handed on unparsed.
    this.subscriber.redis.on('messageBuffer', (from: Buffer, message: Buffer) => {
      if (from.toString() === channel) onMessage(message);
    });
    this.polling = new RepeatingTask(pollMs, () => this.poll(), this.writer.logFault);
    for (const service of services) this.view(service);
  }

  get all(): readonly [writer: RedisLink, subscriber: RedisLink] {
    return [this.writer, this.subscriber];
  }

  get isUp(): boolean {
    return this.subscribed && this.writer.isUp;
  }

  /** Resolves when it is subscribed to replies and every service was polled; waits for Redis as long as that takes. */
  async open(): Promise<void> {
    this.polling.start();
    while (!this.closed.isSet) {
      await Promise.race([Promise.all(this.all.map((link) => link.ready())), this.closed.wait()]);
      await this.subscribe();
      const polled = await this.poll().then(() => true, this.writer.logFault);
      if (polled && this.isUp) return;
      await delay(faultPauseMs);
    }
    throw unavailable('the client is closed');
  }

  async close(): Promise<void> {
    this.closed.set();
    this.subscribed = false;
    await Promise.all([...this.all.map((link) => link.close()), this.polling.stop()]);
  }

  /** Returns the view of a service; from the first call on the service is polled. */
  view(service: string): ServiceView {
    const known = this.views.get(service);
    if (known) return known;
    const view = new ServiceView(service, this.options.maxInFlight, this.writer);
    this.views.set(service, view);
    return view;
  }

  /** Polls one service now, e.g. because it was never polled. */
  async refresh(view: ServiceView): Promise<void> {
    if (this.isUp) await view.poll().catch(this.writer.logFault);
  }

  private async subscribe(): Promise<void> {
    // Not left to ioredis, which does not say when a renewed subscription is in force.
    await this.subscriber.redis
      .subscribe(this.options.channel)
      .then(() => (this.subscribed = !this.closed.isSet && this.subscriber.isUp), this.subscriber.logFault);
  }

  private async poll(): Promise<void> {
    // A connection that only waits for messages learns from the ping that the other end is gone.
    await Promise.all([this.subscriber.redis.ping(), ...[...this.views.values()].map((view) => view.poll())]);
  }

  private lost(): void {
    this.subscribed &&= this.subscriber.isUp;
    for (const view of this.views.values()) view.forget();
    this.options.onLost();
  }
}
