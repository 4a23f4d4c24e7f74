import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Database, statement } from '#database';
import { withTimeLimit } from '#runtime';
import { Gauge, register } from 'prom-client';
import { resendAfterMs } from '../queue/deletion-relay.js';

/** Time limit of the query during a scrape, in milliseconds. */
const scrapeLimitMs = 1_000;

interface PendingCounts {
  /** Number of PENDING deletions. */
  pending: number;
  /** Age of the oldest PENDING deletion in seconds; 0 without one. */
  oldestAge: number;
  /** Number of PENDING erasures. */
  erasures: number;
  /** Age of the oldest PENDING erasure in seconds; 0 without one. */
  oldestErasure: number;
  /** Seconds since the oldest deletion or erasure was due for a relay; 0 without one. */
  relayLag: number;
}

/** SQL for the seconds since a time, 0 for NULL or a time in the future. */
const secondsSince = (time: string) =>
  `coalesce(greatest(extract(epoch FROM now() - ${time}), 0), 0)::float8`;
/**
 * SQL of a table's PENDING records: their number, the oldest request, and the earliest time at
 * which one was due for a relay.
 */
const selectPendingIn = (table: string) => `(
     SELECT count(*)::int AS pending, min(requested) AS oldest,
       min(coalesce(sent_at + $1 * interval '1 millisecond', requested)) AS due
     FROM ${table} WHERE status = 'PENDING'
   )`;

const selectPending = statement(
  'deletion.select_pending',
  `SELECT d.pending, ${secondsSince('d.oldest')} AS "oldestAge", e.pending AS erasures,
     ${secondsSince('e.oldest')} AS "oldestErasure",
     ${secondsSince('least(d.due, e.due)')} AS "relayLag"
   FROM ${selectPendingIn('deletion.deletions')} d, ${selectPendingIn('deletion.erasures')} e`,
);

const gauges: Record<keyof PendingCounts, { name: string; help: string }> = {
  pending: {
    name: 'podcast_sync_deletions_pending',
    help: 'Pending deletions of all users; every replica reports the same value.',
  },
  oldestAge: {
    name: 'podcast_sync_deletion_oldest_pending_age_seconds',
    help: 'Age of the oldest pending deletion; 0 without one.',
  },
  erasures: {
    name: 'podcast_sync_erasures_pending',
    help: 'Pending erasures; every replica reports the same value.',
  },
  oldestErasure: {
    name: 'podcast_sync_erasure_oldest_pending_age_seconds',
    help: 'Age of the oldest pending erasure; 0 without one.',
  },
  relayLag: {
    name: 'podcast_sync_deletion_relay_lag_seconds',
    help: 'Time since the oldest deletion or erasure was due for a relay; 0 without one.',
  },
};

/**
 * Registers gauges of PENDING deletions and erasures. Each scrape reads their values from the
 * tables. The gauges are omitted while Postgres does not answer.
 */
@Injectable()
export class PendingGauges implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private runningRead: Promise<PendingCounts | undefined> | undefined;

  constructor(private readonly database: Database) {}

  onApplicationBootstrap(): void {
    for (const key of Object.keys(gauges) as (keyof PendingCounts)[]) {
      const collect = async () => {
        const counts = await this.readOnce();
        if (counts) gauge.set(counts[key]);
        else gauge.remove();
      };
      const gauge = new Gauge({ ...gauges[key], collect });
    }
  }

  beforeApplicationShutdown(): void {
    for (const { name } of Object.values(gauges)) register.removeSingleMetric(name);
  }

  /** Reads the counts once for all gauges of a scrape. */
  private readOnce(): Promise<PendingCounts | undefined> {
    this.runningRead ??= this.read().finally(() => (this.runningRead = undefined));
    return this.runningRead;
  }

  private async read(): Promise<PendingCounts | undefined> {
    const countsQuery = this.database.read<PendingCounts>(selectPending, [resendAfterMs]);
    const [counts] = await withTimeLimit(countsQuery, scrapeLimitMs).catch(() => []);
    return counts;
  }
}
