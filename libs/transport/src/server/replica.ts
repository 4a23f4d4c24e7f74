import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import { Cluster } from 'ioredis';
import { RepeatingTask } from '#runtime';
import { decodeEntry, type StreamEntry, group, serviceKeys } from '../wire/format.js';
import { ManualResetEvent, RedisLink } from '../wire/redis.link.js';
import { Membership, RedisClock } from './membership.js';
import type { ReplicaCounters, ReplicaOptions } from './replica.options.js';
import { ReplySender } from './reply.sender.js';
import { Takeover } from './takeover.js';

/** Interval between deletions of dead replicas' consumers, in milliseconds. */
const cleanUpMs = 30_000;

/** Maximum requests per read while other replicas serve, so that each gets a share of a burst. */
const maxTogether = 4;

/** Characters of a request above which parsing and validation block the event loop noticeably. */
const largeRequest = 65_536;

/** Pause after a fault other than a lost connection, in milliseconds. */
const faultPauseMs = 250;

/**
 * One replica of a service: reads its share of the requests, runs them and answers.
 *
 * Invariants:
 * - It writes its heartbeat only after the group exists. While no replica has a request, it waits
 *   longer until the next one, but renews a request from its start as often as always.
 * - While it takes no requests it neither reads nor takes over, and clients ignore its heartbeat.
 *   It still answers the requests that it has read. If no other replica serves, it first continues
 *   to read until clients have read that its heartbeat has expired.
 * - It never runs more than `maxInFlight` requests; further requests stay in the stream.
 * - A request past its deadline is acknowledged and never run.
 * - A request is acknowledged in the step that sends its reply, so a dying replica leaves all
 *   unanswered requests to other replicas.
 * - A request that was taken over runs alone: if it kills this replica, it interrupts no other
 *   request.
 * - It stops in order: it stops reading, answers all running requests, and leaves the group. A
 *   consumer with pending requests is never deleted.
 * - After any fault of Redis it reconnects, creates the group again and continues to read.
 */
export class Replica {
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
  private readonly overdue = new Set<string>();
  /** Set while another request can be read. */
  private readonly capacity = new ManualResetEvent(true);
  /** Set while no request runs before its deadline; while draining, while no request runs. */
  private readonly idle = new ManualResetEvent(true);
  private readonly draining = new ManualResetEvent();
  private stopping?: Promise<void>;
  private reading?: Promise<void>;
  /** Connection id of the reader, for CLIENT UNBLOCK. Unused in a Cluster, whose nodes differ. */
  private readerId?: number | undefined;
  private isBlocked = false;
  private isLeaving = false;
  private taking = true;
  private takeoverIsDue = false;
  /** True if a request was read since the last heartbeat. */
  private isUsed = true;
  /** True from a heartbeat of an unused group until a request is read. */
  private isIdle = false;
  private handled = 0;
  private expired = 0;

  constructor(
    private readonly options: ReplicaOptions,
    /** Runs a request and returns the encoded result; must not reject. */
    private readonly handle: (entry: StreamEntry, now: () => number) => Promise<string>,
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
    // One task for both, so that an idle process wakes up once.
    const heartbeat = () => Promise.all([this.heartbeat(), this.renew()]);
    const heartbeatMs = () => timings.heartbeatMs + (this.isIdle ? timings.abandonedMs : 0);
    const cleanUp = () => this.membership.removeDeadConsumers();
    this.tasks = [
      new RepeatingTask(heartbeatMs, heartbeat, this.logFault),
      new RepeatingTask(() => cleanUpMs, cleanUp, this.logFault),
    ];
  }

  get counters(): ReplicaCounters {
    return {
      inFlight: this.inFlight,
      handled: this.handled,
      expired: this.expired + this.takeover.expired,
      takeovers: this.takeover.taken,
      deadLetters: this.takeover.deadLettered,
      reconnects: this.links[0].losses + this.links[1].losses,
    };
  }

  private get inFlight(): number {
    return this.running.size + this.overdue.size;
  }

  private get isTaking(): boolean {
    return this.taking && !this.draining.isSet;
  }

  /** Starts or stops taking requests. While stopped, other replicas take them. */
  async takeRequests(isTaking: boolean): Promise<void> {
    if (this.membership.isServing === isTaking) return;
    await this.membership
      .setServing(isTaking, this.options.timings.drainGraceMs)
      .catch(this.logFault);
    // Not `isTaking`: a later call can have changed the state meanwhile.
    this.taking = this.membership.isServing;
    this.updateSignals();
  }

  /** Joins the group and starts reading. Waits for Redis without a time limit. */
  async start(): Promise<void> {
    await this.join();
    if (this.draining.isSet) return;
    for (const task of this.tasks) task.start();
    this.reading = this.read();
  }

  /** Stops in order. Requests still running after `drainMs` are left to other replicas. */
  stop(): Promise<void> {
    this.stopping ??= this.drain();
    return this.stopping;
  }

  private async drain(): Promise<void> {
    const { drainGraceMs, drainMs } = this.options.timings;
    const [heartbeat, cleanUp] = this.tasks;
    this.isLeaving = true;
    await heartbeat.stop();
    this.isIdle = false;
    // It renews what runs until the end.
    heartbeat.start();
    const hadClients = this.membership.isServing && this.isUp && (await this.membership.withdraw());
    if (hadClients) await delay(drainGraceMs);
    this.draining.set();
    this.updateSignals();
    const ended = Promise.resolve(this.reading).then(() => this.idle.wait());
    await Promise.race([ended, delay(drainMs, undefined, { ref: false })]);
    await Promise.all([heartbeat.stop(), cleanUp.stop()]);
    await this.leave();
    await Promise.all(this.links.map((link) => link.close()));
  }

  private get isUp(): boolean {
    return this.links.every((link) => link.isUp);
  }

  private async leave(): Promise<void> {
    const canLeave = this.running.size === 0 && this.isUp;
    const pending = canLeave ? await this.membership.leave().catch(() => undefined) : undefined;
    if (pending !== 0)
      this.options.log.warn(
        { pending, running: this.inFlight },
        'stopped with unanswered requests, which other replicas take over',
      );
  }

  private async join(): Promise<void> {
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

  private async read(): Promise<void> {
    while (!this.draining.isSet) {
      try {
        if (this.takeoverIsDue) await this.takeOver();
        await this.capacity.wait();
        if (this.isTaking) await this.begin(await this.next());
      } catch (error) {
        this.logFault(error);
        await delay(faultPauseMs);
        await this.join();
      }
    }
  }

  /** Runs requests concurrently. After a large one it yields to the event loop once. */
  private async begin(entries: readonly StreamEntry[]): Promise<void> {
    for (const entry of entries) {
      void this.run(entry);
      if (entry.request.data.length > largeRequest) await setImmediate();
    }
  }

  /** Reads the next requests, at most as many as there is capacity for. */
  private async next(): Promise<StreamEntry[]> {
    const { id, keys, options } = this;
    const { requests } = keys;
    const { blockMs, heartbeatMs } = options.timings;
    const capacity = options.maxInFlight - this.inFlight;
    const count = this.membership.isAlone ? capacity : Math.min(capacity, maxTogether);
    const [{ redis }] = this.links;
    const isCluster = redis instanceof Cluster;
    if (!isCluster && this.readerId === undefined)
      redis.client('ID').then((readerId) => (this.readerId = readerId), this.logFault);
    this.isBlocked = !isCluster;
    const rows = await redis
      .xreadgroup(
        'GROUP',
        group,
        id,
        'COUNT',
        count,
        'BLOCK',
        isCluster ? heartbeatMs : blockMs,
        'STREAMS',
        requests,
        '>',
      )
      .finally(() => (this.isBlocked = false));
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

  private async takeOver(): Promise<void> {
    while (this.isTaking) {
      const entry = await this.takeover.reserve();
      if (!entry) break;
      await this.idle.wait();
      if (!this.isTaking) {
        this.takeover.release();
        break;
      }
      if (!(await this.takeover.begin(entry))) continue;
      void this.run(entry);
      // Waits at most until the deadline of the request: a hanging request must not block reads.
      await this.idle.wait();
    }
    this.takeoverIsDue = false;
  }

  /** Runs a request and answers it; never rejects. */
  private async run(entry: StreamEntry): Promise<void> {
    this.running.set(entry.id, entry);
    this.endIdle();
    this.updateSignals();
    if (this.clock.now() < entry.deadline) {
      const result = await this.handle(entry, () => this.clock.now());
      this.handled += 1;
      await this.replySender.finish(entry, result);
    } else {
      this.expired += 1;
      await this.replySender.finish(entry);
    }
    this.running.delete(entry.id);
    this.overdue.delete(entry.id);
    this.updateSignals();
  }

  /** Shortens the interval of heartbeats, which renew the running requests. */
  private endIdle(): void {
    this.isUsed = true;
    if (!this.isIdle) return;
    this.isIdle = false;
    this.tasks[0].restartWait();
  }

  private updateSignals(): void {
    const isDraining = this.draining.isSet;
    this.capacity.assign((this.isTaking && this.inFlight < this.options.maxInFlight) || isDraining);
    this.idle.assign((isDraining ? this.inFlight : this.running.size) === 0);
    if (this.isBlocked && (this.takeoverIsDue || !this.isTaking)) this.unblock();
  }

  /** Ends a blocked read. Each heartbeat repeats it: the read can arrive in Redis after it. */
  private unblock(): void {
    if (this.readerId === undefined) return;
    this.links[1].redis.client('UNBLOCK', this.readerId).catch(this.logFault);
  }

  /**
   * Renews running requests, so that no other replica takes them over. A request past its deadline
   * is removed from the stream, even while its handler runs.
   */
  private async renew(): Promise<void> {
    const now = this.clock.now();
    for (const entry of [...this.running.values()].filter(({ deadline }) => now >= deadline)) {
      this.running.delete(entry.id);
      this.overdue.add(entry.id);
      void this.replySender.finish(entry);
    }
    this.updateSignals();
    await this.takeover.renew([...this.running.keys()]);
  }

  private async heartbeat(): Promise<void> {
    if (this.isLeaving) return;
    const wasAlone = this.membership.isAlone;
    // Decided before the heartbeat, because its validity depends on the interval after it.
    this.isIdle = !this.isUsed && this.running.size === 0 && this.isTaking && !this.takeoverIsDue;
    this.isUsed = false;
    const abandoned = await this.membership.heartbeat(this.isIdle);
    if (this.membership.hasPending) this.isIdle = false;
    // The blocked read of a replica that was alone would read all requests of a burst.
    if (wasAlone && !this.membership.isAlone && this.isBlocked) this.unblock();
    this.takeoverIsDue ||= this.isTaking && abandoned.some((id) => !this.running.has(id));
    this.updateSignals();
  }
}
