import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { describeEpisodes, Failure, urlKey } from '#contracts';
import { Condition, type Log } from '#runtime';
import type { StreamClient } from '#transport';
import { feedKey, isPrivate, laneOf } from '../feed.address.js';
import type { FeedRepository } from '../feed.repository.js';
import type { Task, TaskRepository } from './task.repository.js';

/** Pauses in milliseconds: without a task, after a fault, and between two users. */
const [idleMs, faultMs, userMs] = [1_000, 5_000, 50];
const touchedRows = 500;
const pageUsers = 200;

/** Options of a {@link TaskLoop}. */
export interface TaskLoopOptions {
  readonly feeds: FeedRepository;
  readonly tasks: TaskRepository;
  readonly client: Pick<StreamClient, 'connect' | 'call' | 'close'>;
  readonly log: Log;
}

/**
 * Visits the followers of feeds, so that their episodes get titles. Invariants:
 * - A task is leased, and its progress is stored after each page of users. A process can die at any
 *   point: another one repeats at most a page. Repeated calls have no effect.
 * - Users are visited one after another with pauses, so that a feed with many followers delays
 *   nobody.
 * - A feed that is noted again during a task starts it again, because earlier users can need it.
 */
export class TaskLoop implements OnModuleInit, OnApplicationShutdown {
  private readonly stopped = new AbortController();
  /** The reason of an outage of Postgres or a service, or empty. */
  private readonly outage = new Condition<string>('');
  private ended: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: TaskLoopOptions) {}

  onModuleInit(): void {
    this.ended = this.runAll();
  }

  /** Stops after the current user. The lease expires. */
  async onApplicationShutdown(): Promise<void> {
    this.stopped.abort();
    await this.options.client.close();
    await this.ended;
  }

  private async runAll(): Promise<void> {
    const { signal } = this.stopped;
    await Promise.race([
      this.options.client.connect(),
      new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true })),
    ]);
    while (!signal.aborted) {
      try {
        const isBusy = (await this.settleTouched()) || (await this.runNext());
        if (this.outage.becomes('')) this.options.log.info('followers of feeds are visited again');
        if (!isBusy) await this.pause(idleMs);
      } catch (error) {
        if (this.outage.becomes((error as Error).message) && !signal.aborted)
          this.options.log.warn({ err: error }, 'followers of feeds are not visited, retrying');
        await this.pause(faultMs);
      }
    }
  }

  /** Turns noted feeds into tasks. Returns true if there were some. */
  private async settleTouched(): Promise<boolean> {
    const { feeds, tasks } = this.options;
    const urls = await tasks.touched(touchedRows);
    if (urls.length === 0) return false;
    const readable = urls.filter((url) => !isPrivate(url));
    const keys = readable.map(feedKey);
    if (readable.length > 0) {
      await feeds.want(keys, readable, readable.map(laneOf));
      await feeds.refresh(keys);
    }
    await tasks.settleTouched(urls, urls.map(feedKey));
    return true;
  }

  /** Runs a task. Returns false if none is due. */
  private async runNext(): Promise<boolean> {
    let task = await this.options.tasks.claim();
    if (!task) return false;
    while (!this.stopped.signal.aborted) {
      const page = await this.options.tasks.followers(task, urlKey(task.url), pageUsers);
      for (const { userId, isUntitled } of page) if (isUntitled) await this.visit(task, userId);
      const last = page.at(-1);
      if (!last) {
        await this.options.tasks.finish(task);
        return true;
      }
      const next: Task | undefined = await this.options.tasks.advance(task, last.userId);
      if (!next) return true;
      task = next;
    }
    return true;
  }

  private async visit(task: Task, userId: string): Promise<void> {
    this.stopped.signal.throwIfAborted();
    try {
      const request = { userId, feedUrl: task.url };
      await this.options.client.call(describeEpisodes, request, { requestId: randomUUID() });
    } catch (error) {
      // A disabled or erased user.
      if (!(error instanceof Failure) || error.code !== 'unauthorized') throw error;
    }
    await this.pause(userMs);
  }

  private async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.stopped.signal }).catch(() => undefined);
  }
}
