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
/** Maximum number of rows of `feed.touched` that one statement reads; see {@link TaskLoop}. */
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

/** A failed call to another service. */
class CallError extends Error {
  constructor(
    private readonly service: string,
    override readonly cause: unknown,
  ) {
    super(`call to the service ${service} failed`, { cause });
  }

  /** The name of the service if it is unavailable, else `undefined`. */
  get outage(): string | undefined {
    return this.cause instanceof Failure && this.cause.code === 'unavailable'
      ? this.service
      : undefined;
  }
}

/**
 * Runs the tasks of feeds. A task adds titles to the episodes of the feed's followers, or applies
 * moves and declared guids to their subscriptions. Invariants:
 * - A task is leased for one page of users. Its progress is stored after the page. If the process
 *   dies, another replica repeats at most one page. Repeated calls have no effect.
 * - A task visits its users one after another, with pauses. After each page, the task that waits
 *   longest is claimed. So a feed with many followers does not delay other feeds.
 * - A feed is touched when a user uploads one of its episodes without a title. If that happens
 *   during the feed's task, the task restarts, because users that the task has already visited can
 *   need the title.
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
    for (const { userId, isConcerned } of page) if (isConcerned) await this.visitUser(task, userId);
    const lastFollower = page.at(-1);
    if (lastFollower) await tasks.advanceTask(task, lastFollower.userId);
    else await tasks.finishTask(task);
  }

  /**
   * Creates `describe` tasks for touched feeds. Returns true if the read reached its limit. The
   * caller then calls again, because more touched feeds can wait.
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

  private async visitUser(task: Task, userId: string): Promise<void> {
    this.stopped.signal.throwIfAborted();
    const { client } = this.options;
    const callOptions = { requestId: randomUUID() };
    const { url, kind, toUrl, guid } = task;
    const { service } = kind === 'describe' ? describeEpisodes : applyFeed;
    try {
      if (kind === 'describe')
        await client.call(describeEpisodes, { userId, feedUrl: url }, callOptions);
      else {
        const change = { toUrl: toUrl ?? undefined, guid: guid ?? undefined };
        const call = client.call(applyFeed, { userId, fromUrl: url, ...change }, callOptions);
        visitOutcomes.inc({ outcome: (await call).outcome });
      }
    } catch (error) {
      // `unauthorized` means that the user was disabled or erased. The task then skips the user.
      if (!(error instanceof Failure) || error.code !== 'unauthorized')
        throw new CallError(service, error);
    }
    await this.pause(pauseAfterUserMs);
  }
}
