import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import type { Logger } from 'pino';
import { RepeatingTask } from '#runtime';
import type { Database } from './database.js';
import { faultKind } from './fault-rule.js';
import { statement } from './statement.js';

/** Interval between the starts of two sweeps in milliseconds. */
const sweepMs = 60_000;
/** Maximum number of rows per statement, so that it holds its locks only briefly. */
const batchSize = 5_000;

/**
 * Deletes markers that are older than an hour and not locked, with their stored answers. $1 maximum
 * number of rows.
 */
export const sweepRequests = statement(
  'sync.sweep_requests',
  `WITH old AS (
     SELECT user_id, request_id FROM sync.request
     WHERE created_at < now() - interval '1 hour' ORDER BY created_at LIMIT $1
     FOR UPDATE SKIP LOCKED
   ), deleted AS (
     DELETE FROM sync.request r USING old
     WHERE r.user_id = old.user_id AND r.request_id = old.request_id RETURNING 1
   )
   SELECT count(*) AS removed FROM deleted`,
);

/**
 * Finds the oldest markers older than an hour on the reachable nodes of a Citus cluster: their
 * number, their users, and the time of the latest one. $1 maximum number of markers.
 */
const findOldMarkers = statement(
  'sync.find_old_markers',
  `SELECT count(*)::integer AS found, array_agg(DISTINCT o.user_id) AS users,
     max(o.created_at)::text AS until
   FROM (
     SELECT * FROM json_to_recordset(sync.read_reachable('sync.request', format($q$
       SELECT r.user_id, r.created_at FROM %s r
       WHERE r.created_at < now() - interval '1 hour' ORDER BY r.created_at LIMIT %s
     $q$, '%s', $1::integer))) m (user_id uuid, created_at timestamptz)
     ORDER BY m.created_at LIMIT $1
   ) o`,
);

/**
 * Deletes the markers of users $1 up to the time $2, with their answers. Citus accesses only the
 * nodes of these users, and locks rows of several users only by deleting them.
 */
const deleteMarkers = statement(
  'sync.delete_markers',
  `DELETE FROM sync.request r
   WHERE r.user_id = ANY ($1::uuid[]) AND r.created_at <= $2::timestamptz`,
);

/** Once a minute deletes the markers of all services that are older than an hour, with answers. */
export class RequestSweep implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly task = new RepeatingTask(
    () => sweepMs,
    () => this.sweep(),
  );

  constructor(
    private readonly database: Database,
    private readonly log: Pick<Logger, 'warn'>,
  ) {}

  onApplicationBootstrap(): void {
    this.task.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.task.stop();
  }

  /** Deletes all expired markers. A failure is logged, unless Postgres is unavailable. */
  async sweep(): Promise<void> {
    try {
      const sweepBatch = this.database.distribution === 'citus' ? sweepShards : sweepTable;
      let swept: number;
      do swept = await sweepBatch(this.database);
      while (swept === batchSize);
    } catch (error) {
      // An outage has its own log lines. A missing privilege is no outage and is logged here.
      const { availability } = this.database;
      if (faultKind(error) === 'unavailable' && (await availability.check()).length > 0) return;
      this.log.warn({ err: error }, 'expired request markers not deleted, retrying in a minute');
    }
  }
}

/** Deletes up to {@link batchSize} expired markers. @returns their number. */
async function sweepTable(database: Database): Promise<number> {
  const [row] = await database.change<{ removed: number }>(sweepRequests, [batchSize]);
  return row?.removed ?? 0;
}

/**
 * Deletes up to {@link batchSize} expired markers of a Citus cluster, where a statement about all
 * users cannot lock rows. @returns their number.
 */
async function sweepShards(database: Database): Promise<number> {
  type OldMarkers = { found: number; users: string[]; until: string };
  const [old] = await database.change<OldMarkers>(findOldMarkers, [batchSize]);
  if (!old?.found) return 0;
  await database.change(deleteMarkers, [old.users, old.until]);
  return old.found;
}
