import { setTimeout as delay } from 'node:timers/promises';
import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { postgresOutage } from '#database';
import { FaultLog, type FaultMessages, type Log } from '#runtime';
import type { StreamClient } from '#transport';
import type { DueWork, WorkKind } from './due-work.js';

/** Objects that all loops use. */
export interface LoopOptions {
  readonly work: DueWork;
  readonly log: Log;
  /**
   * Client of the services that the loop calls; absent if it calls none. The loop starts after the
   * client has connected, and closes the client at shutdown.
   */
  readonly client?: Pick<StreamClient, 'connect' | 'call' | 'close'>;
}

/** Settings of a kind of loop. */
interface LoopKind {
  readonly kind: WorkKind;
  /** Maximum number of items that run at the same time. */
  readonly concurrency: number;
  /** Maximum number of items that one statement claims. Default: `concurrency`. */
  readonly claimLimit?: number;
  /** Pause after a claim that started items, in milliseconds. Default: none. */
  readonly pauseAfterClaimMs?: number;
  /** Pause after a fault, in milliseconds. */
  readonly pauseAfterFaultMs: number;
  /** Log lines for the start and the end of a fault. Without them, the loop logs no fault. */
  readonly messages?: FaultMessages;
  /**
   * Returns the name of the unavailable server that caused an error, for the log; `undefined` for
   * other errors. Default: `postgresOutage`.
   */
  readonly serverOf?: (error: unknown) => string | undefined;
}

/**
 * Claims items of one kind that are due, and runs them. After a fault, such as an outage of
 * Postgres, the loop pauses. Claims of subclasses must expire, because the process can end during a
 * run.
 */
export abstract class WorkLoop<Item, Options extends LoopOptions = LoopOptions>
  implements OnModuleInit, OnApplicationShutdown
{
  protected readonly stopped = new AbortController();
  private readonly running = new Set<Promise<void>>();
  private readonly faults: FaultLog | undefined;
  /** True if a claim or run failed since the loop last claimed items. */
  private hasFault = false;
  private loopEnd: Promise<unknown> = Promise.resolve();

  constructor(
    protected readonly options: Options,
    private readonly loop: LoopKind,
  ) {
    const { messages, serverOf = postgresOutage } = loop;
    this.faults = messages && new FaultLog(options.log, messages, serverOf);
  }

  /** Claims up to `limit` items that are due. */
  protected abstract claim(limit: number): Promise<readonly Item[]>;
  /** Runs a claimed item. */
  protected abstract run(item: Item): Promise<void>;

  onModuleInit(): void {
    this.loopEnd = this.runLoop();
  }

  /** Stops claiming, aborts running items, closes the client, and waits until all runs end. */
  async onApplicationShutdown(): Promise<void> {
    this.stopped.abort();
    await this.options.client?.close();
    await this.loopEnd;
    await Promise.all(this.running);
  }

  /** Claims at most `limit` items and starts to run them. Returns their number. */
  async startDue(limit = this.loop.concurrency): Promise<number> {
    const items = await this.claim(Math.min(limit, this.loop.concurrency - this.running.size));
    for (const item of items) {
      const run = this.run(item)
        .catch((error: unknown) => this.reportFault(error))
        .finally(() => this.running.delete(run));
      this.running.add(run);
    }
    return items.length;
  }

  /** Claims items and runs them to their end. Returns their number. */
  async runDue(): Promise<number> {
    const startedCount = await this.startDue();
    await Promise.all(this.running);
    return startedCount;
  }

  /** Waits. Resolves early at a shutdown. */
  protected async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.stopped.signal }).catch(() => undefined);
  }

  /** Logs a fault after which the loop does not pause. */
  protected logFault(error: unknown): void {
    if (!this.stopped.signal.aborted) this.faults?.recordFailure(error);
  }

  private async runLoop(): Promise<void> {
    const { signal } = this.stopped;
    const { client, work } = this.options;
    const { kind, concurrency, claimLimit, pauseAfterClaimMs, pauseAfterFaultMs } = this.loop;
    const abortEvent = new Promise((resolve) => {
      signal.addEventListener('abort', resolve, { once: true });
    });
    await Promise.race([client?.connect(), abortEvent]);
    while (!signal.aborted) {
      this.hasFault = false;
      const startedCount = await this.startDue(claimLimit).catch((error: unknown) =>
        this.reportFault(error),
      );
      if (startedCount && pauseAfterClaimMs) await this.pause(pauseAfterClaimMs);
      if (this.running.size >= concurrency) await Promise.race(this.running);
      if (this.hasFault) await this.pause(pauseAfterFaultMs);
      else {
        this.faults?.recordSuccess();
        if (startedCount === 0) await work.wait(kind, signal);
      }
    }
  }

  /** Logs a fault after which the loop pauses. */
  private reportFault(error: unknown): void {
    this.hasFault = true;
    this.logFault(error);
  }
}
