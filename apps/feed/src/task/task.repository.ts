import { type Database, statement } from '#database';

/** Seconds between the upload of an episode without a title and the visits to followers. */
const touchedSeconds = 8;
/** Minutes after a fetch of a feed during which a `describe` task needs no new fetch. */
const currentMinutes = 15;
/** Seconds of a lease for one page of followers. */
const leaseSeconds = 60;

/** A leased task. */
export interface Task {
  readonly id: number;
  /**
   * Fencing token: the end of the lease, as text. Updates with the token of an earlier lease have
   * no effect.
   */
  readonly lease: string;
  readonly url: string;
  /** `describe` adds titles to episodes; `apply` gives subscriptions a new URL or declared guid. */
  readonly kind: 'describe' | 'apply';
  /** The new URL; null if the task changes no URL. */
  readonly toUrl: string | null;
  /** The declared guid; null if the task changes no guid. */
  readonly guid: string | null;
  /** The id of the last visited user. */
  readonly cursor: string;
}

/** A follower of a feed. */
export interface Follower {
  readonly userId: string;
  /** True if the task can change data of this user. */
  readonly isConcerned: boolean;
}

/** SQL that selects the rows of `feed.touched` that are old enough for a task. */
export const dueTouched = `SELECT t.url FROM feed.touched t
     WHERE t.created_at < now() - interval '${touchedSeconds} s'`;

/**
 * Reads URLs of feeds that were touched at least 8 seconds ago, each with the number of its rows.
 * $1 maximum number of rows.
 */
const selectTouched = statement(
  'feed.select_touched',
  `SELECT r.url, count(*) AS rows FROM (
     ${dueTouched} LIMIT $1
   ) r GROUP BY r.url`,
);

/**
 * Creates a `describe` task for each feed, or restarts the feed's task. Deletes the due rows of the
 * feeds from the outbox feed.touched. Feeds without a row in `feed.feeds` get no task. $1
 * URLs, $2 their keys.
 */
const createTasks = statement(
  'feed.create_tasks',
  `WITH input AS MATERIALIZED (
     SELECT i.url, i.key FROM unnest($1::text[], $2::bytea[]) i (url, key)
   ), new_tasks AS (
     INSERT INTO feed.tasks AS t (url_sha256, kind)
     SELECT i.key, 'describe' FROM input i JOIN feed.feeds f ON f.url_sha256 = i.key ORDER BY i.key
     ON CONFLICT (url_sha256, kind) DO UPDATE SET cursor = DEFAULT, created_at = now()
   )
   DELETE FROM feed.touched t
   WHERE t.url = ANY ($1) AND t.created_at < now() - interval '${touchedSeconds} s'`,
);

/** SQL of the tasks that are due. A `describe` task waits until its feed was fetched or pushed. */
export const dueTasks = `SELECT k.id
     FROM feed.tasks k JOIN feed.fetches t ON t.url_sha256 = k.url_sha256
     WHERE k.busy_until < now() AND (
       k.kind = 'apply' OR t.pushed_until > now()
       OR t.fetched_at > k.created_at - interval '${currentMinutes} min'
     )`;

/** Claims the due task that waited longest, for 60 s. Skips locked tasks. */
const claimTask = statement(
  'feed.claim_task',
  `WITH due AS (
     ${dueTasks} ORDER BY k.busy_until, k.id LIMIT 1 FOR NO KEY UPDATE OF k SKIP LOCKED
   )
   UPDATE feed.tasks k SET busy_until = now() + interval '${leaseSeconds} s'
   FROM due d JOIN feed.tasks o ON o.id = d.id JOIN feed.feeds f ON f.url_sha256 = o.url_sha256
   WHERE k.id = d.id RETURNING k.id, k.busy_until::text AS lease, f.url, k.cursor,
     k.kind, k.to_url AS "toUrl", k.guid`,
);

/**
 * Reads the next followers of a feed. $1 lookup key of the URL, $2 URL, $3 last visited user, $4
 * maximum number of rows, $5 kind of the task, $6 true if the task has a new URL, $7 guid.
 */
export const selectFollowers = statement(
  'feed.select_followers',
  `SELECT v.user_id AS "userId", CASE WHEN $5 = 'describe' THEN EXISTS (
     SELECT 1 FROM episode.untitled u
     WHERE u.user_id = v.user_id AND u.subscription_id = v.subscription_id
   ) ELSE $6 OR (v.declared_guids = 0 AND v.guid <> $7::uuid) END AS "isConcerned"
   FROM subscription.followers v
   WHERE v.url_sha256 = $1 AND v.user_id > $3 AND v.feed_url = $2 ORDER BY v.user_id LIMIT $4`,
);

/**
 * Stores the progress of a task and ends its lease. A task that was restarted meanwhile keeps its
 * reset cursor. $1 id, $2 lease, $3 previous cursor, $4 next cursor.
 */
const advanceTask = statement(
  'feed.advance_task',
  `UPDATE feed.tasks k SET busy_until = now(),
     cursor = CASE WHEN k.cursor = $3 THEN $4 ELSE k.cursor END
   WHERE k.id = $1 AND k.busy_until = $2::timestamptz`,
);

/** Deletes a task, or ends the lease of a restarted one. $1 id, $2 lease, $3 cursor. */
const finishTask = statement(
  'feed.finish_task',
  `WITH deleted AS (
     DELETE FROM feed.tasks k WHERE k.id = $1 AND k.busy_until = $2::timestamptz AND k.cursor = $3
     RETURNING k.id
   )
   UPDATE feed.tasks k SET busy_until = '-infinity'
   WHERE k.id = $1 AND k.busy_until = $2::timestamptz AND NOT EXISTS (SELECT FROM deleted)`,
);

/** The SQL of the outbox of touched feeds, and of tasks that visit the followers of a feed. */
export class TaskRepository {
  constructor(private readonly database: Database) {}

  /**
   * Returns the URLs of touched feeds, for which users uploaded episodes without a title. `isFull`
   * is true if the read reached its limit of touches, so that more can wait.
   */
  async readTouched(limit: number): Promise<{ urls: string[]; isFull: boolean }> {
    const touchedRows = await this.database.read<{ url: string; rows: number }>(selectTouched, [
      limit,
    ]);
    const rowCount = touchedRows.reduce((sum, { rows }) => sum + rows, 0);
    return { urls: touchedRows.map(({ url }) => url), isFull: rowCount >= limit };
  }

  /**
   * Creates a task for each touched feed, or restarts the feed's task. Removes the feeds from the
   * outbox.
   */
  async createTasks(urls: readonly string[], keys: readonly Buffer[]): Promise<void> {
    await this.database.change(createTasks, [urls, keys]);
  }

  /** Leases the due task that waited longest. Returns `undefined` if no task is due. */
  async claimTask(): Promise<Task | undefined> {
    return (await this.database.change<Task>(claimTask, []))[0];
  }

  /** Returns the next followers of a feed by user id. @param key lookup key of the URL, in hex. */
  readFollowers(task: Task, key: string, limit: number): Promise<Follower[]> {
    const { url, cursor, kind, toUrl, guid } = task;
    const values = [Buffer.from(key, 'hex'), url, cursor, limit, kind, toUrl !== null, guid];
    return this.database.read<Follower>(selectFollowers, values);
  }

  /** Ends the lease of a task. Stores its progress, unless the task was restarted. */
  async advanceTask({ id, lease, cursor }: Task, next: string): Promise<void> {
    await this.database.change(advanceTask, [id, lease, cursor, next]);
  }

  /** Deletes a task after its last page. Only ends its lease if the task was restarted. */
  async finishTask({ id, lease, cursor }: Task): Promise<void> {
    await this.database.change(finishTask, [id, lease, cursor]);
  }
}
