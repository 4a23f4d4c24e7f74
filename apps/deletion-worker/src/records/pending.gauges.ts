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
  erasures: number;
  oldestErasure: number;
  relayLag: number;
}

/** How long ago something was, in seconds. */
const since = (time: string) => `coalesce(greatest(extract(epoch FROM now() - ${time}), 0), 0)::float8`;
/** What is known of a table's records that have not ended, and since when the first of them is due for a relay. */
const pendingIn = (table: string) => `(
     SELECT count(*)::int AS pending, min(requested) AS oldest,
       min(coalesce(sent_at + $1 * interval '1 millisecond', requested)) AS due
     FROM ${table} WHERE status = 'PENDING'
   )`;

const selectPending = statement(
  'deletion.pending',
  `SELECT d.pending, ${since('d.oldest')} AS "oldestAge", e.pending AS erasures, ${since('e.oldest')} AS "oldestErasure",
     ${since('least(d.due, e.due)')} AS "relayLag"
   FROM ${pendingIn('deletion.deletions')} d, ${pendingIn('deletion.erasures')} e`,
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
  erasures: {
    name: 'podcast_sync_erasures_pending',
    help: 'Users whose erasure has not ended; every replica says the same.',
  },
  oldestErasure: {
    name: 'podcast_sync_erasure_oldest_pending_age_seconds',
    help: 'How long ago the oldest erasure that has not ended was requested; 0 for none.',
  },
  relayLag: {
    name: 'podcast_sync_deletion_relay_lag_seconds',
    help: 'For how long the deletion or erasure that waits longest for a relay has been due; 0 for none.',
  },
};

/** Metrics that are read from the records at each scrape. They alone are left out while Postgres is away. */
@Injectable()
export class PendingGauges implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private polling: Promise<Pending | undefined> | undefined;

  constructor(private readonly database: Database) {}

  onApplicationBootstrap(): void {
    for (const key of Object.keys(gauges) as (keyof Pending)[]) {
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
