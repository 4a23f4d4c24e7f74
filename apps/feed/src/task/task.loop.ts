import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { applyFeed, describeEpisodes, Failure, urlKey } from '#contracts';
import { Condition, type Log, oneCounter } from '#runtime';
import type { StreamClient } from '#transport';
import { feedKey, isPrivate } from '../feed.address.js';
import type { DueWork } from '../due.work.js';
import type { FeedRepository } from '../feed.repository.js';
import type { Task, TaskRepository } from './task.repository.js';

/** Pauses in milliseconds: after a fault, and between two users. */
const [faultMs, userMs] = [5_000, 50];
const touchedRows = 500;
const pageUsers = 50;

const visits = oneCounter(
  'podcast_sync_feed_visits_total',
  'Moves and declared guids of feeds at subscriptions, by outcome.',
  ['outcome'],
);

/** Options of a {@link TaskLoop}. */
export interface TaskLoopOptions {
  readonly feeds: FeedRepository;
  readonly tasks: TaskRepository;
  readonly work: DueWork;
  readonly client: Pick<StreamClient, 'connect' | 'call' | 'close'>;
  readonly log: Log;
}

/**
 * Runs the tasks of feeds. A task adds titles to the episodes of the feed's followers, or applies
 * moves and declared guids to their subscriptions. Invariants:
 * - A task is leased for one page of users, after which its progress is stored. If the process
 *   dies, another replica repeats at most one page. Repeated calls have no effect.
 * - Users of a task are served one after another with pauses, and each task gets one page at a
 *   time, so that a feed with many followers does not delay other feeds.
 * - A feed is touched when a user uploads an episode of it without a title. If that happens during
 *   the feed's task, the task restarts, because users that it has visited can need the title.
 */
export class TaskLoop implements OnModuleInit, OnApplicationShutdown {
  private readonly stopped = new AbortController();
  /** The error message of the current outage of Postgres or a service; empty without an outage. */
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
        const isBusy = (await this.createTasks()) || (await this.runNext());
        if (this.outage.becomes('')) this.options.log.info('feed task loop available again');
        if (!isBusy) await this.options.work.wait('tasks', signal);
      } catch (error) {
        if (this.outage.becomes((error as Error).message) && !signal.aborted)
          this.options.log.warn(
            { err: error },
            'feed task loop unavailable, retrying: titles and moves are delayed',
          );
        await this.pause(faultMs);
      }
    }
  }

  /**
   * Creates `describe` tasks for touched feeds. Returns true only if a full batch of uploads waits.
   * Each upload touches a feed, so the next ones are read together after a pause.
   */
  private async createTasks(): Promise<boolean> {
    const { feeds, tasks } = this.options;
    const { urls, isFull } = await tasks.readTouched(touchedRows);
    if (urls.length === 0) return false;
    const readable = urls.filter((url) => !isPrivate(url));
    if (readable.length > 0) {
      await feeds.ensureFeeds(readable);
      await feeds.refresh(readable.map(feedKey));
    }
    await tasks.createTasks(urls, urls.map(feedKey));
    return isFull;
  }

  /** Runs one page of followers of the task that waits longest. Returns false without a task. */
  private async runNext(): Promise<boolean> {
    const { tasks } = this.options;
    const task = await tasks.claim();
    if (!task) return false;
    const page = await tasks.followers(task, urlKey(task.url), pageUsers);
    for (const { userId, isConcerned } of page) if (isConcerned) await this.visit(task, userId);
    const last = page.at(-1);
    if (last) await tasks.advance(task, last.userId);
    else await tasks.finish(task);
    return true;
  }

  private async visit(task: Task, userId: string): Promise<void> {
    this.stopped.signal.throwIfAborted();
    const { client } = this.options;
    const options = { requestId: randomUUID() };
    const { url, kind, toUrl, guid } = task;
    try {
      if (kind === 'describe')
        await client.call(describeEpisodes, { userId, feedUrl: url }, options);
      else {
        const change = { toUrl: toUrl ?? undefined, guid: guid ?? undefined };
        const call = client.call(applyFeed, { userId, fromUrl: url, ...change }, options);
        visits.inc({ outcome: (await call).outcome });
      }
    } catch (error) {
      // The user was disabled or erased, and is skipped.
      if (!(error instanceof Failure) || error.code !== 'unauthorized') throw error;
    }
    await this.pause(userMs);
  }

  private async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.stopped.signal }).catch(() => undefined);
  }
}
