import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Database } from '#database';
import { withTimeLimit } from '#runtime';
import { Counter, Gauge, register } from 'prom-client';
import { readLag } from './event.repository.js';

/** Time limit of the query of a scrape in milliseconds. */
const scrapeLimitMs = 1_000;

export const publishedEvents = new Counter({
  name: 'podcast_sync_events_total',
  help: 'Events that this replica published.',
});

export const failedBatches = new Counter({
  name: 'podcast_sync_event_failures_total',
  help: 'Failed attempts of this replica to publish a batch; it retries the batch.',
});

const lagMetric = 'podcast_sync_events_lag_seconds';

/**
 * Registers the gauge of the outbox's lag. Each scrape reads the lag; it is omitted while Postgres
 * does not answer.
 */
@Injectable()
export class EventGauge implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(private readonly database: Database) {}

  onApplicationBootstrap(): void {
    const collect = async () => {
      const lag = await withTimeLimit(readLag(this.database), scrapeLimitMs).catch(() => undefined);
      if (lag === undefined) gauge.remove();
      else gauge.set(lag);
    };
    const help =
      'Age of the oldest unpublished change; 0 without one. Every replica reports the same value.';
    const gauge = new Gauge({ name: lagMetric, help, collect });
  }

  beforeApplicationShutdown(): void {
    register.removeSingleMetric(lagMetric);
  }
}
