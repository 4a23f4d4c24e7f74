import { unavailable } from '#contracts';
import { RepeatingTask } from '#runtime';
import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import { ManualResetEvent, RedisLink } from '../wire/redis-link.js';
import { ServiceView } from './service-view.js';

export interface ClientLinksOptions {
  readonly connect: () => Redis | Cluster;
  readonly log: Logger;
  readonly services: readonly string[];
  readonly maxInFlight: number;
  /** Interval, in ms, at which the state of each called service is read from Redis. */
  readonly readIntervalMs: number;
  /** Redis channel on which this client receives its replies. */
  readonly channel: string;
  /** Called with each message of `channel`. A message contains one or more replies. */
  readonly onMessage: (message: Buffer) => void;
  /** Called after a connection was lost, because replies in transit can be lost too. */
  readonly onLost: () => void;
}

/**
 * Interval in ms at which the client reads the state of all services, called or not. These reads
 * also test its connections, because networks drop connections that are idle for minutes.
 */
const keepAliveMs = 5_000;

/** Pause before a new attempt after Redis rejected a command, in milliseconds. */
const faultPauseMs = 250;

/**
 * A client's two connections to Redis (one sends requests, one receives replies) and the state of
 * each service as the client last read it.
 *
 * Invariants:
 * - `isUp` is true only while both connections are open and Redis has confirmed the subscription
 *   to replies. The client subscribes again after each lost connection.
 * - After a lost connection, no service counts as alive until its heartbeat is read again.
 */
export class ClientLinks {
  readonly writer: RedisLink;
  readonly subscriber: RedisLink;
  readonly views = new Map<string, ServiceView>();
  private readonly usedViewsTask: RepeatingTask;
  private readonly keepAliveTask: RepeatingTask;
  private isSubscribed = false;
  private readonly closed = new ManualResetEvent();

  constructor(private readonly options: ClientLinksOptions) {
    const { connect, log, services, readIntervalMs, channel, onMessage } = options;
    this.writer = new RedisLink('writer', connect(), log);
    this.subscriber = new RedisLink('subscriber', connect(), log);
    for (const { redis } of this.bothLinks) redis.on('close', () => this.onLinkLost());
    this.subscriber.redis.on('ready', () => void this.subscribe());
    // Messages stay Buffers, because most of a reply is forwarded to the HTTP client unparsed.
    this.subscriber.redis.on('messageBuffer', (channelName: Buffer, message: Buffer) => {
      if (channelName.toString() === channel) onMessage(message);
    });
    const { logFault } = this.writer;
    this.usedViewsTask = new RepeatingTask(
      () => readIntervalMs,
      () => this.readUsedViews(),
      logFault,
    );
    const readAllViews = () => this.readViews(this.views.values());
    this.keepAliveTask = new RepeatingTask(() => keepAliveMs, readAllViews, logFault);
    for (const service of services) this.addView(service);
  }

  get bothLinks(): readonly [writer: RedisLink, subscriber: RedisLink] {
    return [this.writer, this.subscriber];
  }

  get isUp(): boolean {
    return this.isSubscribed && this.writer.isUp;
  }

  /**
   * Subscribes to replies, and reads the state of all services from Redis. Waits for Redis without
   * a time limit.
   *
   * @throws Failure `unavailable` if `close` is called before Redis answers.
   */
  async open(): Promise<void> {
    this.keepAliveTask.start();
    while (!this.closed.isSet) {
      await Promise.race([
        Promise.all(this.bothLinks.map((link) => link.ready())),
        this.closed.wait(),
      ]);
      await this.subscribe();
      const hasReadViews = await this.readViews(this.views.values()).then(
        () => true,
        this.writer.logFault,
      );
      if (hasReadViews && this.isUp) return;
      await delay(faultPauseMs);
    }
    throw unavailable('the client is closed');
  }

  async close(): Promise<void> {
    this.closed.set();
    this.isSubscribed = false;
    const tasks = [this.usedViewsTask.stop(), this.keepAliveTask.stop()];
    await Promise.all([...this.bothLinks.map((link) => link.close()), ...tasks]);
  }

  /** Returns a service's state for a call, and reads it from Redis regularly while calls use it. */
  useView(service: string): ServiceView {
    const view = this.views.get(service) ?? this.addView(service);
    view.isUsed = true;
    if (!this.closed.isSet) this.usedViewsTask.start();
    return view;
  }

  private addView(service: string): ServiceView {
    const view = new ServiceView(service, this.options.maxInFlight, this.writer);
    this.views.set(service, view);
    return view;
  }

  /** Reads a service's state from Redis. Logs a failure and never rejects. */
  async refreshView(view: ServiceView): Promise<void> {
    if (this.isUp) await view.readFromRedis().catch(this.writer.logFault);
  }

  private async subscribe(): Promise<void> {
    // Needed after each reconnect, because `autoResubscribe` is off. A Cluster ignores that option,
    // but does not report when Redis has confirmed its new subscription.
    await this.subscriber.redis
      .subscribe(this.options.channel)
      .then(
        () => (this.isSubscribed = !this.closed.isSet && this.subscriber.isUp),
        this.subscriber.logFault,
      );
  }

  /** Reads the state of services in use. Stops the regular reads if no service is in use. */
  private async readUsedViews(): Promise<void> {
    const usedViews = [...this.views.values()].filter((view) => view.isInUse);
    if (usedViews.length === 0) return void this.usedViewsTask.stop();
    for (const view of usedViews) view.isUsed = false;
    await this.readViews(usedViews);
  }

  private async readViews(views: Iterable<ServiceView>): Promise<void> {
    // Only this ping detects a lost `subscriber`, because that connection sends nothing else.
    await Promise.all([
      this.subscriber.redis.ping(),
      ...[...views].map((view) => view.readFromRedis()),
    ]);
  }

  private onLinkLost(): void {
    this.isSubscribed &&= this.subscriber.isUp;
    for (const view of this.views.values()) view.markDead();
    this.options.onLost();
  }
}
