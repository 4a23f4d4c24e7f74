import { DatabaseModule } from '#database';
import { Fixture, type FixtureDatabase } from '#testing';
import { FeedUrlService } from '../src/feeds.service.js';
import { subscriptionConfig, type SubscriptionQuotas } from '../src/subscription.config.js';
import { SubscriptionModule } from '../src/subscription.module.js';
import { SubscriptionService } from '../src/subscription.service.js';

/** The services of the app on a separate database, connected with the login of the app. */
export interface ServiceContext extends FixtureDatabase {
  service: SubscriptionService;
  feeds: FeedUrlService;
  /** Turns a subscription into a tombstone, by guid or URL, like the deletion worker. */
  deleteSubscription(userId: string, name: string): Promise<void>;
  close(): Promise<void>;
}

/** The default quotas. */
const defaults = subscriptionConfig.parse({ DATABASE_URL: 'postgres://database' });

const insertTombstone = `
  WITH clock AS (SELECT sync.advance_clock($1) AS stamp)
  UPDATE subscription.subscriptions s
  SET is_subscribed = false, deleted = c.stamp, subscription_changed = c.stamp, changed = c.stamp,
    flipped = CASE WHEN s.is_subscribed THEN c.stamp ELSE s.flipped END, title = NULL,
    title_at = NULL
  FROM clock c WHERE user_id = $1 AND merged_into IS NULL AND $2 IN (guid::text, feed_url)`;

/** Creates the services by the module of the app. */
export async function openService(
  quotas: Partial<SubscriptionQuotas> = {},
): Promise<ServiceContext> {
  const fixture = new Fixture();
  const base = await fixture.database('subscription');
  const module = await fixture.module([
    DatabaseModule.forRoot(base.database),
    SubscriptionModule.forRoot({ ...defaults, ...quotas }),
  ]);
  return {
    ...base,
    deleteSubscription: async (userId, name) =>
      void (await base.owner.query(insertTombstone, [userId, name])),
    service: module.get(SubscriptionService),
    feeds: module.get(FeedUrlService),
    close: () => fixture.close(),
  };
}
