import { type DatabaseWorld, openDatabase } from '../../../libs/database/testing/database.world.js';
import { subscriptionConfig, type SubscriptionQuotas } from '../src/subscription.config.js';
import { FeedService } from '../src/feeds.service.js';
import { SubscriptionService } from '../src/subscription.service.js';

/** The service on a database of its own, connected with its own login. */
export interface ServiceWorld extends DatabaseWorld {
  service: SubscriptionService;
  feeds: FeedService;
}

/** The quotas where nothing else is said. */
const defaults = subscriptionConfig.parse({ DATABASE_URL: 'postgres://database' });

export async function openService(quotas: Partial<SubscriptionQuotas> = {}): Promise<ServiceWorld> {
  const world = await openDatabase('subscription');
  const of = [world.database, { ...defaults, ...quotas }] as const;
  return { ...world, service: new SubscriptionService(...of), feeds: new FeedService(...of) };
}
