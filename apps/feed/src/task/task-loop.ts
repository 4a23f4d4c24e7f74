import { randomUUID } from 'node:crypto';
import { applyFeed, describeEpisodes, Failure, urlKey } from '#contracts';
import { postgresOutage } from '#database';
import { oneCounter } from '#runtime';
import { feedKey, isPrivate } from '../feed-address.js';
import type { FeedRepository } from '../feed.repository.js';
import { type LoopOptions, WorkLoop } from '../work-loop.js';
import type { Task, TaskRepository } from './task.repository.js';

/** Pause between two users in milliseconds. */
const pauseAfterUserMs = 50;
/** Maximum number of touched feeds (see {@link TaskLoop}) that are read at a time. */
const maxTouches = 500;
/** Maximum number of followers in a page of a task. */
const maxFollowers = 50;

const visitOutcomes = oneCounter(
  'podcast_sync_feed_visits_total',
  'Moves and declared guids of feeds at subscriptions, by outcome.',
  ['outcome'],
);

/** Options of a {@link TaskLoop}. */
export interface TaskLoopOptions extends LoopOptions {
  readonly feeds: FeedRepository;
  readonly tasks: TaskRepository;
  readonly client: NonNullable<LoopOptions['client']>;
}

class CallError extends Error {
  constructor(
    private readonly service: string,
    override readonly cause: unknown,
  ) {
    super(`call to the service ${service} failed`, { cause });
  }

  /** The service, if it is unavailable. */
  get outage(): string | undefined {
    return this.cause instanceof Failure && this.cause.code === 'unavailable'
      ? this.service
      : undefined;
  }
}

/**
 * Runs the tasks of feeds. A task adds titles to the episodes of the feed's followers, or applies
 * moves and declared guids to their subscriptions. Invariants:
 * - A task is leased for one page of users, after which its progress is stored. If the process
 *   dies, another replica repeats at most one page. Repeated calls have no effect.
 * - Users of a task are served one after another with pauses, and each task gets one page at a
 *   time, so that a feed with many followers does not delay other feeds.
 * - A feed is touched when a user uploads an episode of it without a title. If that happens during
 *   the feed's task, the task restarts, because users that it has already served can need the
 *   title.
 */
export class TaskLoop extends WorkLoop<Task, TaskLoopOptions> {
  constructor(options: TaskLoopOptions) {
    super(options, {
      kind: 'tasks',
      concurrency: 1,
      pauseAfterFaultMs: 5_000,
      messages: {
        failed: 'feed task loop failed, retrying: titles and moves are delayed',
        recovered: 'feed task loop works again',
      },
      serverOf: (error) => (error instanceof CallError ? error.outage : postgresOutage(error)),
    });
  }

  /** Creates tasks for touched feeds, and claims the task that waits longest. */
  protected override async claim(): Promise<Task[]> {
    while (await this.createTasks()) this.stopped.signal.throwIfAborted();
    const task = await this.options.tasks.claimTask();
    return task ? [task] : [];
  }

  /** Visits one page of the feed's followers. A shutdown ends the page after the current user. */
  protected override async run(task: Task): Promise<void> {
    const { tasks } = this.options;
    const page = await tasks.readFollowers(task, urlKey(task.url), maxFollowers);
    for (const { userId, isConcerned } of page) if (isConcerned) await this.visit(task, userId);
    const last = page.at(-1);
    if (last) await tasks.advanceTask(task, last.userId);
    else await tasks.finishTask(task);
  }

  /**
   * Creates `describe` tasks for touched feeds. Returns true if more touches wait than one read
   * returns. The caller then reads again; otherwise the next touches are read after a pause.
   */
  private async createTasks(): Promise<boolean> {
    const { feeds, tasks } = this.options;
    const { urls, isFull } = await tasks.readTouched(maxTouches);
    if (urls.length === 0) return false;
    const readable = urls.filter((url) => !isPrivate(url));
    if (readable.length > 0) {
      await feeds.ensureFeeds(readable);
      await feeds.makeFeedsDue(readable.map(feedKey));
    }
    await tasks.createTasks(urls, urls.map(feedKey));
    return isFull;
  }

  private async visit(task: Task, userId: string): Promise<void> {
    this.stopped.signal.throwIfAborted();
    const { client } = this.options;
    const options = { requestId: randomUUID() };
    const { url, kind, toUrl, guid } = task;
    const { service } = kind === 'describe' ? describeEpisodes : applyFeed;
    try {
      if (kind === 'describe')
        await client.call(describeEpisodes, { userId, feedUrl: url }, options);
      else {
        const change = { toUrl: toUrl ?? undefined, guid: guid ?? undefined };
        const call = client.call(applyFeed, { userId, fromUrl: url, ...change }, options);
        visitOutcomes.inc({ outcome: (await call).outcome });
      }
    } catch (error) {
      // `unauthorized` means that the user was disabled or erased: the task skips the user.
      if (!(error instanceof Failure) || error.code !== 'unauthorized')
        throw new CallError(service, error);
    }
    await this.pause(pauseAfterUserMs);
  }
}
