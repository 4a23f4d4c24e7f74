import { DatabaseModule } from '#database';
import { Fixture, type FixtureDatabase } from '#testing';
import { FeedService } from '../src/feeds.service.js';
import { subscriptionConfig, type SubscriptionQuotas } from '../src/subscription.config.js';
import { SubscriptionModule } from '../src/subscription.module.js';
import { SubscriptionService } from '../src/subscription.service.js';

/** The services of the app on a database of their own, connected with their own role. */
export interface ServiceContext extends FixtureDatabase {
  service: SubscriptionService;
  feeds: FeedService;
  close(): Promise<void>;
}

/** The quotas unless a test sets others. */
const defaults = subscriptionConfig.parse({ DATABASE_URL: 'postgres://database' });

/** Builds the real module of the app. */
export async function openService(quotas: Partial<SubscriptionQuotas> = {}): Promise<ServiceContext> {
  const fixture = new Fixture();
  const base = await fixture.database('subscription');
  const module = await fixture.module([
    DatabaseModule.forRoot(base.database),
    SubscriptionModule.forRoot({ ...defaults, ...quotas }),
  ]);
  return {
    ...base,
    service: module.get(SubscriptionService),
    feeds: module.get(FeedService),
    close: () => fixture.close(),
  };
}
