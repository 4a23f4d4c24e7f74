import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import type { Logger } from 'pino';
import type { Database } from './database.js';
import { faultKind } from './fault.rule.js';
import { statement } from './statement.js';

/** Interval between two sweeps in milliseconds. */
const sweepMs = 60_000;
/** Maximum number of rows per statement, so that it holds its locks only briefly. */
const batchSize = 5_000;

/**
 * Deletes markers older than an hour with their answers, except locked ones. $1 maximum number of
 * rows.
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
 * Deletes all markers older than an hour, on a Citus cluster, which cannot lock rows of several
 * users in one statement.
 */
const sweepShards = statement(
  'sync.sweep_shards',
  `DELETE FROM sync.request r WHERE r.created_at < now() - interval '1 hour'`,
);

/** Once a minute deletes the markers of all services that are older than an hour, with answers. */
export class RequestSweep implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private sweeping: Promise<void> | undefined;

  constructor(
    private readonly database: Database,
    private readonly log: Pick<Logger, 'warn'>,
  ) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => {
      this.sweeping ??= this.sweep().finally(() => (this.sweeping = undefined));
    }, sweepMs);
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.sweeping;
  }

  /** Deletes all old markers. A failure is logged, unless Postgres is unavailable. */
  async sweep(): Promise<void> {
    try {
      if (this.database.distribution === 'citus')
        return void (await this.database.change(sweepShards, []));
      for (let removed = batchSize; removed === batchSize;) {
        const [row] = await this.database.change<{ removed: number }>(sweepRequests, [batchSize]);
        removed = row?.removed ?? 0;
      }
    } catch (error) {
      // Outages have their own log lines.
      if (faultKind(error) === 'unavailable') return;
      this.log.warn({ err: error }, 'expired request markers not deleted, retrying in a minute');
    }
  }
}
