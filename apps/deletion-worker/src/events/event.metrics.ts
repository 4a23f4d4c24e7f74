import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Database } from '#database';
import { withTimeLimit } from '#runtime';
import { Counter, Gauge, register } from 'prom-client';
import { readLag } from './event.store.js';

/** How long a scrape waits for Postgres, in milliseconds. */
const scrapeLimitMs = 1_000;

export const announced = new Counter({
  name: 'podcast_sync_events_total',
  help: 'Events that this replica has announced.',
});

export const failedBatches = new Counter({
  name: 'podcast_sync_event_failures_total',
  help: 'Attempts of this replica at announcing events that failed; all in them is tried again.',
});

const name = 'podcast_sync_events_lag_seconds';

/** How long the outbox lags, read at each scrape. Left out while Postgres is away. */
@Injectable()
export class EventGauge implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(private readonly database: Database) {}

  onApplicationBootstrap(): void {
    const collect = async () => {
      const lag = await withTimeLimit(readLag(this.database), scrapeLimitMs).catch(() => undefined);
      if (lag === undefined) gauge.remove();
      else gauge.set(lag);
    };
    const help = 'For how long the oldest change has not been announced; 0 for none. Every replica says the same.';
    const gauge = new Gauge({ name, help, collect });
  }

  beforeApplicationShutdown(): void {
    register.removeSingleMetric(name);
  }
}
