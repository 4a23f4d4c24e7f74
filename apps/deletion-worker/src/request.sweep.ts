import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Database, statement } from '#database';
import type { Log } from '#runtime';
import { LOG } from './deletion.relay.js';

/** How often answers that nobody can ask for any more are removed, in milliseconds. */
const sweepMs = 60_000;
/** Rows per statement: small enough to hold nothing up. */
const batchSize = 5_000;

export const sweep = statement(
  'sync.sweep_requests',
  `WITH old AS (
     SELECT user_id, request_id FROM sync.request
     WHERE created_at < now() - interval '1 hour' ORDER BY created_at LIMIT $1 FOR UPDATE SKIP LOCKED
   ), gone AS (
     DELETE FROM sync.request r USING old WHERE r.user_id = old.user_id AND r.request_id = old.request_id RETURNING 1
   )
   SELECT count(*) AS removed FROM gone`,
);

/** Removes the answers of writes that are older than an hour, for all services. */
@Injectable()
export class RequestSweep implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private sweeping: Promise<void> | undefined;

  constructor(
    private readonly database: Database,
    @Inject(LOG) private readonly log: Log,
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

  /** Removes all that are old now. */
  async sweep(): Promise<void> {
    try {
      for (let removed = batchSize; removed === batchSize;) {
        const [row] = await this.database.change<{ removed: number }>(sweep, [batchSize]);
        removed = row?.removed ?? 0;
      }
    } catch (error) {
      this.log.warn({ err: error }, 'old answers could not be removed; the next sweep tries again');
    }
  }
}
