import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import { Cluster } from 'ioredis';
import { RepeatingTask } from '#runtime';
import { decodeEntry, type StreamEntry, consumerGroup, serviceKeys } from '../wire/format.js';
import { ManualResetEvent, RedisLink } from '../wire/redis-link.js';
import { Membership, RedisClock } from './membership.js';
import type { ReplicaCounters, ReplicaOptions } from './replica-options.js';
import { ReplySender } from './reply-sender.js';
import { Takeover } from './takeover.js';

/** Interval at which consumers of dead replicas are deleted, in milliseconds. */
const cleanUpMs = 30_000;

/** Maximum requests per read if other replicas are alive, so that each gets a share of a burst. */
const maxReadAmongReplicas = 4;

/** Length of a payload, in characters, above which its parsing blocks the event loop noticeably. */
const largeRequestLength = 65_536;

/** Pause before a new attempt after Redis rejected a command, in milliseconds. */
const faultPauseMs = 250;

/**
 * One replica of a service: reads its share of the requests, runs them and answers.
 *
 * Invariants:
 * - It writes its heartbeat only after the group exists. While no replica has a request, heartbeats
 *   are less frequent. The first request makes them frequent again, because their timer renews it.
 * - While it does not serve, it neither reads requests nor takes them over, and clients ignore its
 *   heartbeat. It still answers the requests that it has read. If no other replica serves, it first
 *   continues to read for `drainGraceMs`.
 * - It never runs more than `maxInFlight` requests; further requests stay in the stream.
 * - A request past its deadline is acknowledged and never run.
 * - One script acknowledges a request and sends its reply, so a dying replica leaves all unanswered
 *   requests to other replicas.
 * - A request that was taken over runs alone. If it kills this replica, it interrupts no other
 *   request.
 * - It stops in order: it stops reading, answers all running requests, and leaves the group. A
 *   consumer with pending requests is never deleted.
 * - After any fault of Redis it reconnects, creates the group again and continues to read.
 */
export class Replica {
  /** Name of this replica's consumer and heartbeat in Redis. */
  readonly id = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
  readonly links: readonly [reader: RedisLink, writer: RedisLink];
  private readonly clock = new RedisClock();
  private readonly keys;
  private readonly replySender: ReplySender;
  private readonly membership: Membership;
  private readonly takeover: Takeover;
  private readonly logFault: RedisLink['logFault'];
  private readonly tasks: readonly [heartbeat: RepeatingTask, cleanUp: RepeatingTask];
  /** Running requests before their deadline, by entry id. */
  private readonly running = new Map<string, StreamEntry>();
  /** Entry ids of running requests after their deadline. */
  private readonly overdueIds = new Set<string>();
  /** Set while the replica can run another request. */
  private readonly hasCapacity = new ManualResetEvent(true);
  /** Set while all running requests are past their deadline; while draining, while none runs. */
  private readonly hasNoRunningRequest = new ManualResetEvent(true);
  /** Set from the moment when the stopping replica reads no more requests. */
  private readonly draining = new ManualResetEvent();
  private stopPromise?: Promise<void>;
  private readLoop?: Promise<void>;
  /** Client id of the reader, for CLIENT UNBLOCK. Unused in a Cluster, as ids differ by node. */
  private readerId?: number | undefined;
  private isReadBlocked = false;
  private isStopping = false;
  private isServing = true;
  private isTakeoverDue = false;
  /** True if this replica read a request since its last heartbeat. */
  private hasReadRequest = true;
  /** True while no replica has a request, so that heartbeats are less frequent. */
  private isGroupIdle = false;
  private handledRequests = 0;
  private expiredRequests = 0;

  constructor(
    private readonly options: ReplicaOptions,
    /** Runs a request and returns the encoded result; must not reject. */
    private readonly handleRequest: (entry: StreamEntry, now: () => number) => Promise<string>,
  ) {
    const { log, timings, connect } = options;
    const now = () => this.clock.now();
    this.keys = serviceKeys(options.service);
    const writer = new RedisLink('writer', connect(), log);
    const reader = new RedisLink('reader', connect(), log);
    reader.redis.on('close', () => (this.readerId = undefined));
    this.links = [reader, writer];
    this.replySender = new ReplySender(writer, this.keys.requests, now, options.maxReplyBytes);
    this.membership = new Membership(writer, this.keys, this.id, timings, this.clock);
    this.takeover = new Takeover(writer, log, {
      keys: this.keys,
      replica: this.id,
      abandonedMs: timings.abandonedMs,
      now,
      isRunning: (id) => this.running.has(id),
    });
    this.logFault = writer.logFault;
    // One timer for heartbeat and renewal, so that an idle process wakes up once.
    const heartbeat = () => Promise.all([this.sendHeartbeat(), this.renewRunning()]);
    const heartbeatMs = () => timings.heartbeatMs + (this.isGroupIdle ? timings.abandonedMs : 0);
    const cleanUp = () => this.membership.removeDeadConsumers();
    this.tasks = [
      new RepeatingTask(heartbeatMs, heartbeat, this.logFault),
      new RepeatingTask(() => cleanUpMs, cleanUp, this.logFault),
    ];
  }

  get counters(): ReplicaCounters {
    return {
      inFlight: this.inFlight,
      handledRequests: this.handledRequests,
      expiredRequests: this.expiredRequests + this.takeover.expiredRequests,
      takeovers: this.takeover.takeovers,
      deadLetters: this.takeover.deadLetters,
      lostConnections: this.links[0].lostConnections + this.links[1].lostConnections,
    };
  }

  private get inFlight(): number {
    return this.running.size + this.overdueIds.size;
  }

  private get canRead(): boolean {
    return this.isServing && !this.draining.isSet;
  }

  /** Starts or stops reading requests. While this replica reads none, others read them. */
  async setServing(isServing: boolean): Promise<void> {
    if (this.membership.isServing === isServing) return;
    await this.membership
      .setServing(isServing, this.options.timings.drainGraceMs)
      .catch(this.logFault);
    // Reads the current state, because a later call can have changed it during the `await`.
    this.isServing = this.membership.isServing;
    this.updateSignals();
  }

  /** Joins the group and starts reading. Waits for Redis without a time limit. */
  async start(): Promise<void> {
    await this.joinGroup();
    if (this.draining.isSet) return;
    for (const task of this.tasks) task.start();
    this.readLoop = this.readUntilDraining();
  }

  /** Stops reading, then answers running requests. After `drainMs`, other replicas answer them. */
  stop(): Promise<void> {
    this.stopPromise ??= this.drain();
    return this.stopPromise;
  }

  private async drain(): Promise<void> {
    const { drainGraceMs, drainMs } = this.options.timings;
    const [heartbeat, cleanUp] = this.tasks;
    this.isStopping = true;
    await heartbeat.stop();
    this.isGroupIdle = false;
    // While stopping, this timer sends no heartbeat and only renews running requests.
    heartbeat.start();
    const withdrew = this.membership.isServing && this.isUp && (await this.membership.withdraw());
    if (withdrew) await delay(drainGraceMs);
    this.draining.set();
    this.updateSignals();
    const allEnded = Promise.resolve(this.readLoop).then(() => this.hasNoRunningRequest.wait());
    await Promise.race([allEnded, delay(drainMs, undefined, { ref: false })]);
    await Promise.all([heartbeat.stop(), cleanUp.stop()]);
    await this.leaveGroup();
    await Promise.all(this.links.map((link) => link.close()));
  }

  private get isUp(): boolean {
    return this.links.every((link) => link.isUp);
  }

  private async leaveGroup(): Promise<void> {
    const canLeave = this.running.size === 0 && this.isUp;
    const pending = canLeave ? await this.membership.leave().catch(() => undefined) : undefined;
    if (pending === 0) return;
    const running = this.inFlight;
    this.options.log.warn(
      { pending, running },
      pending || running > 0
        ? 'replica stopped with unanswered requests: other replicas run them again'
        : 'replica stopped without leaving its group, its heartbeat expires: Redis unavailable',
    );
  }

  private async joinGroup(): Promise<void> {
    for (;;) {
      await Promise.race([
        Promise.all(this.links.map((link) => link.ready())),
        this.draining.wait(),
      ]);
      if (this.draining.isSet) return;
      try {
        return await this.membership.join();
      } catch (error) {
        this.logFault(error);
        await delay(faultPauseMs);
      }
    }
  }

  private async readUntilDraining(): Promise<void> {
    while (!this.draining.isSet) {
      try {
        if (this.isTakeoverDue) await this.takeOver();
        await this.hasCapacity.wait();
        if (this.canRead) await this.startRequests(await this.readRequests());
      } catch (error) {
        this.logFault(error);
        await delay(faultPauseMs);
        await this.joinGroup();
      }
    }
  }

  /** Starts requests, which run concurrently. Lets other events run after each large request. */
  private async startRequests(entries: readonly StreamEntry[]): Promise<void> {
    for (const entry of entries) {
      void this.runRequest(entry);
      if (entry.request.data.length > largeRequestLength) await setImmediate();
    }
  }

  /** Reads new requests from the stream, at most as many as the replica can still run. */
  private async readRequests(): Promise<StreamEntry[]> {
    const { id, keys, options } = this;
    const { requests } = keys;
    const { blockMs, heartbeatMs } = options.timings;
    const capacity = options.maxInFlight - this.inFlight;
    const count = this.membership.isAlone ? capacity : Math.min(capacity, maxReadAmongReplicas);
    const [{ redis }] = this.links;
    const isCluster = redis instanceof Cluster;
    if (!isCluster && this.readerId === undefined)
      redis.client('ID').then((readerId) => (this.readerId = readerId), this.logFault);
    this.isReadBlocked = !isCluster;
    const rows = await redis
      .xreadgroup(
        'GROUP',
        consumerGroup,
        id,
        'COUNT',
        count,
        'BLOCK',
        isCluster ? heartbeatMs : blockMs,
        'STREAMS',
        requests,
        '>',
      )
      .finally(() => (this.isReadBlocked = false));
    const streams = rows as [key: string, entries: [id: string, fields: string[]][]][] | null;
    const entries: StreamEntry[] = [];
    for (const [entryId, fields] of streams?.[0]?.[1] ?? []) {
      const entry = decodeEntry(entryId, fields);
      if (entry) entries.push(entry);
      else
        await this.takeover.deadLetter(entryId, 'a field of the request is missing or invalid', 1);
    }
    return entries;
  }

  /** Runs abandoned requests, one at a time, until there is none. */
  private async takeOver(): Promise<void> {
    while (this.canRead) {
      const entry = await this.takeover.reserve();
      if (!entry) break;
      await this.hasNoRunningRequest.wait();
      if (!this.canRead) {
        this.takeover.release();
        break;
      }
      if (!(await this.takeover.startReserved(entry))) continue;
      void this.runRequest(entry);
      // Waits no longer than the request's deadline, so that a hanging request blocks no reads.
      await this.hasNoRunningRequest.wait();
    }
    this.isTakeoverDue = false;
  }

  /** Runs a request and answers it; never rejects. */
  private async runRequest(entry: StreamEntry): Promise<void> {
    this.running.set(entry.id, entry);
    this.endIdleInterval();
    this.updateSignals();
    if (this.clock.now() < entry.deadline) {
      const result = await this.handleRequest(entry, () => this.clock.now());
      this.handledRequests += 1;
      await this.replySender.finish(entry, result);
    } else {
      this.expiredRequests += 1;
      await this.replySender.finish(entry);
    }
    this.running.delete(entry.id);
    this.overdueIds.delete(entry.id);
    this.updateSignals();
  }

  /** Makes heartbeats frequent again, because their timer renews the running request. */
  private endIdleInterval(): void {
    this.hasReadRequest = true;
    if (!this.isGroupIdle) return;
    this.isGroupIdle = false;
    this.tasks[0].restartPause();
  }

  /** Wakes up or blocks the loops of this class according to the current state. */
  private updateSignals(): void {
    const isDraining = this.draining.isSet;
    this.hasCapacity.assign(
      (this.canRead && this.inFlight < this.options.maxInFlight) || isDraining,
    );
    this.hasNoRunningRequest.assign((isDraining ? this.inFlight : this.running.size) === 0);
    if (this.isReadBlocked && (this.isTakeoverDue || !this.canRead)) this.unblockRead();
  }

  /** Ends a blocked read. Heartbeats repeat this, because a read can arrive after the command. */
  private unblockRead(): void {
    if (this.readerId === undefined) return;
    this.links[1].redis.client('UNBLOCK', this.readerId).catch(this.logFault);
  }

  /**
   * Renews running requests, so that no other replica takes them over. A request past its deadline
   * is removed from the stream, even while its handler runs.
   */
  private async renewRunning(): Promise<void> {
    const now = this.clock.now();
    for (const entry of [...this.running.values()].filter(({ deadline }) => now >= deadline)) {
      this.running.delete(entry.id);
      this.overdueIds.add(entry.id);
      void this.replySender.finish(entry);
    }
    this.updateSignals();
    await this.takeover.renew([...this.running.keys()]);
  }

  /** Sends the heartbeat and notes whether there are abandoned requests to take over. */
  private async sendHeartbeat(): Promise<void> {
    if (this.isStopping) return;
    const wasAlone = this.membership.isAlone;
    // Set before the heartbeat is sent, because the heartbeat's expiry depends on it.
    this.isGroupIdle =
      !this.hasReadRequest && this.running.size === 0 && this.canRead && !this.isTakeoverDue;
    this.hasReadRequest = false;
    const abandoned = await this.membership
      .sendHeartbeat(this.isGroupIdle)
      .catch((error: unknown) => {
        // The longer interval is only safe after a heartbeat that reached Redis.
        this.isGroupIdle = false;
        throw error;
      });
    if (this.membership.hasPending) this.isGroupIdle = false;
    // Ends a read that started before other replicas joined. Its limit is the whole capacity, so it
    // would take most of a burst.
    if (wasAlone && !this.membership.isAlone && this.isReadBlocked) this.unblockRead();
    this.isTakeoverDue ||= this.canRead && abandoned.some((id) => !this.running.has(id));
    this.updateSignals();
  }
}
