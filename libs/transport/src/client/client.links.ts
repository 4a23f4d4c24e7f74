import { unavailable } from '#contracts';
import { RepeatingTask } from '#runtime';
import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import { ManualResetEvent, RedisLink } from '../wire/redis.link.js';
import { ServiceView } from './service.view.js';

export interface ClientLinksOptions {
  readonly connect: () => Redis | Cluster;
  readonly log: Logger;
  readonly services: readonly string[];
  readonly maxInFlight: number;
  /** Interval at which the views of services are read while the client is in use. */
  readonly pollMs: number;
  /** Channel of the client's replies. */
  readonly channel: string;
  readonly onMessage: (message: Buffer) => void;
  /** Called after a connection was lost: replies in transit can be lost with it. */
  readonly onLost: () => void;
}

/**
 * Interval at which an idle client reads all views and tests its connections, in milliseconds.
 * Networks drop connections that are idle for minutes.
 */
const keepAliveMs = 5_000;

/** Pause after a fault other than a lost connection, in milliseconds. */
const faultPauseMs = 250;

/**
 * A client's two connections to Redis (one writes, one receives replies) and its view of each
 * service.
 *
 * Invariants:
 * - It is up only while both connections are open and Redis has confirmed the subscription. After
 *   each loss it subscribes again.
 * - After a lost connection, no service counts as alive until its view is read again.
 */
export class ClientLinks {
  readonly writer: RedisLink;
  readonly subscriber: RedisLink;
  readonly views = new Map<string, ServiceView>();
  private readonly polling: RepeatingTask;
  private readonly keepAlive: RepeatingTask;
  private subscribed = false;
  private readonly closed = new ManualResetEvent();

  constructor(private readonly options: ClientLinksOptions) {
    const { connect, log, services, pollMs, channel, onMessage } = options;
    this.writer = new RedisLink('writer', connect(), log);
    this.subscriber = new RedisLink('subscriber', connect(), log);
    for (const { redis } of this.all) redis.on('close', () => this.lost());
    this.subscriber.redis.on('ready', () => void this.subscribe());
    // The payload stays a Buffer, because most of a reply is forwarded without parsing.
    this.subscriber.redis.on('messageBuffer', (from: Buffer, message: Buffer) => {
      if (from.toString() === channel) onMessage(message);
    });
    const { logFault } = this.writer;
    this.polling = new RepeatingTask(
      () => pollMs,
      () => this.pollUsed(),
      logFault,
    );
    const pollAll = () => this.poll(this.views.values());
    this.keepAlive = new RepeatingTask(() => keepAliveMs, pollAll, logFault);
    for (const service of services) this.add(service);
  }

  get all(): readonly [writer: RedisLink, subscriber: RedisLink] {
    return [this.writer, this.subscriber];
  }

  get isUp(): boolean {
    return this.subscribed && this.writer.isUp;
  }

  /**
   * Subscribes to replies, and reads the views of all services from Redis. Waits for Redis without
   * a time limit.
   *
   * @throws Failure `unavailable` if it is closed meanwhile.
   */
  async open(): Promise<void> {
    this.keepAlive.start();
    while (!this.closed.isSet) {
      await Promise.race([Promise.all(this.all.map((link) => link.ready())), this.closed.wait()]);
      await this.subscribe();
      const polled = await this.poll(this.views.values()).then(() => true, this.writer.logFault);
      if (polled && this.isUp) return;
      await delay(faultPauseMs);
    }
    throw unavailable('the client is closed');
  }

  async close(): Promise<void> {
    this.closed.set();
    this.subscribed = false;
    const tasks = [this.polling.stop(), this.keepAlive.stop()];
    await Promise.all([...this.all.map((link) => link.close()), ...tasks]);
  }

  /** Returns the view of a service for a call. From then on it is read regularly, until unused. */
  view(service: string): ServiceView {
    const view = this.views.get(service) ?? this.add(service);
    view.isUsed = true;
    if (!this.closed.isSet) this.polling.start();
    return view;
  }

  private add(service: string): ServiceView {
    const view = new ServiceView(service, this.options.maxInFlight, this.writer);
    this.views.set(service, view);
    return view;
  }

  /** Reads a view from Redis. Logs a failure and never rejects. */
  async refresh(view: ServiceView): Promise<void> {
    if (this.isUp) await view.poll().catch(this.writer.logFault);
  }

  private async subscribe(): Promise<void> {
    // Explicit, because ioredis does not report when it has renewed a subscription.
    await this.subscriber.redis
      .subscribe(this.options.channel)
      .then(
        () => (this.subscribed = !this.closed.isSet && this.subscriber.isUp),
        this.subscriber.logFault,
      );
  }

  /** Reads the views that are in use, and ends the regular reads if there is none. */
  private async pollUsed(): Promise<void> {
    const used = [...this.views.values()].filter((view) => view.isInUse);
    if (used.length === 0) return void this.polling.stop();
    for (const view of used) view.isUsed = false;
    await this.poll(used);
  }

  private async poll(views: Iterable<ServiceView>): Promise<void> {
    // The ping detects a lost subscriber connection, which sends no other commands.
    await Promise.all([this.subscriber.redis.ping(), ...[...views].map((view) => view.poll())]);
  }

  private lost(): void {
    this.subscribed &&= this.subscriber.isUp;
    for (const view of this.views.values()) view.markDead();
    this.options.onLost();
  }
}
