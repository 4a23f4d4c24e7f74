import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Database, statement } from '#database';
import { withTimeLimit } from '#runtime';
import { Gauge, register } from 'prom-client';
import { resendAfterMs } from '../queue/deletion.relay.js';

/** How long a scrape waits for Postgres, in milliseconds. */
const scrapeLimitMs = 1_000;

interface Pending {
  pending: number;
  oldestAge: number;
  relayLag: number;
}

const selectPending = statement(
  'deletion.pending',
  `SELECT count(*)::int AS pending,
     coalesce(greatest(extract(epoch FROM now() - min(requested)), 0), 0)::float8 AS "oldestAge",
     coalesce(greatest(extract(epoch FROM now() - min(coalesce(sent_at + $1 * interval '1 millisecond', requested))), 0), 0)::float8
       AS "relayLag"
   FROM deletion.deletions WHERE status = 'PENDING'`,
);

const gauges: Record<keyof Pending, { name: string; help: string }> = {
  pending: {
    name: 'podcast_sync_deletions_pending',
    help: 'Deletions that have not ended, of all users; every replica says the same.',
  },
  oldestAge: {
    name: 'podcast_sync_deletion_oldest_pending_age_seconds',
    help: 'How long ago the oldest deletion that has not ended was requested; 0 for none.',
  },
  relayLag: {
    name: 'podcast_sync_deletion_relay_lag_seconds',
    help: 'For how long the deletion that waits longest for a relay has been due; 0 for none.',
  },
};

/** Metrics that are read from the records at each scrape. They alone are left out while Postgres is away. */
@Injectable()
export class PendingGauges implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private polling: Promise<Pending | undefined> | undefined;

  constructor(private readonly database: Database) {}

  onApplicationBootstrap(): void {
    for (const key of ['pending', 'oldestAge', 'relayLag'] as const) {
      const collect = async () => {
        const found = await this.poll();
        if (found) gauge.set(found[key]);
        else gauge.remove();
      };
      const gauge = new Gauge({ ...gauges[key], collect });
    }
  }

  beforeApplicationShutdown(): void {
    for (const { name } of Object.values(gauges)) register.removeSingleMetric(name);
  }

  /** All gauges of a scrape share one statement. */
  private poll(): Promise<Pending | undefined> {
    this.polling ??= this.read().finally(() => (this.polling = undefined));
    return this.polling;
  }

  private async read(): Promise<Pending | undefined> {
    const rows = this.database.read<Pending>(selectPending, [resendAfterMs]);
    const [found] = await withTimeLimit(rows, scrapeLimitMs).catch(() => []);
    return found;
  }
}
