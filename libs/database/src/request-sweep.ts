import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import type { Logger } from 'pino';
import { RepeatingTask } from '#runtime';
import type { Database } from './database.js';
import { faultKind } from './fault-rule.js';
import { statement } from './statement.js';

/** Pause between the end of a sweep and the start of the next one, in milliseconds. */
const pauseMs = 60_000;
/** Maximum number of markers that a statement deletes, so that it holds its locks only briefly. */
const batchSize = 5_000;

/**
 * Deletes the oldest request markers that are older than an hour and not locked, with their stored
 * answers. $1 maximum number of markers.
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
 * Finds the oldest request markers that are older than an hour on the reachable nodes of a Citus
 * cluster. Reads their number, their users, and the creation time of the latest of them. $1 maximum
 * number of markers.
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
 * Deletes the request markers of users $1 that were created at the time $2 or before, with their
 * stored answers. Citus accesses only the nodes of these users. The statement waits for locked
 * markers, because Citus accepts SKIP LOCKED only in statements about one user.
 */
const deleteMarkers = statement(
  'sync.delete_markers',
  `DELETE FROM sync.request r
   WHERE r.user_id = ANY ($1::uuid[]) AND r.created_at <= $2::timestamptz`,
);

/**
 * Deletes the request markers of all services that are older than an hour, with their stored
 * answers, about once a minute.
 */
export class RequestSweep implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly task = new RepeatingTask(
    () => pauseMs,
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
      let deletedMarkers: number;
      do deletedMarkers = await sweepBatch(this.database);
      while (deletedMarkers === batchSize);
    } catch (error) {
      // Outages are logged elsewhere. A missing privilege has the same kind of fault, but is no
      // outage and is logged here.
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
  const [oldMarkers] = await database.change<OldMarkers>(findOldMarkers, [batchSize]);
  if (!oldMarkers?.found) return 0;
  await database.change(deleteMarkers, [oldMarkers.users, oldMarkers.until]);
  return oldMarkers.found;
}
