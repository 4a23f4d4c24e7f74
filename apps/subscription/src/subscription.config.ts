import { quota, syncIdQuota } from '#database';
import { serviceConfig } from '#transport/service';
import { z } from 'zod';

/** The configuration of the subscription service. */
export const subscriptionConfig = z.object({
  ...serviceConfig.shape,
  ...syncIdQuota.shape,
  QUOTA_LIVE_SUBSCRIPTIONS: quota(10_000, 'Subscriptions that one user may have, deleted ones aside.'),
  QUOTA_SUBSCRIPTION_NAMES: quota(
    50_000,
    'Guids, feed URLs, guid changes and subscriptions merged into others that one user may have, of each.',
  ),
});

/** The quotas of one user. */
export type SubscriptionQuotas = Pick<
  z.output<typeof subscriptionConfig>,
  'QUOTA_LIVE_SUBSCRIPTIONS' | 'QUOTA_SUBSCRIPTION_NAMES' | 'QUOTA_SYNC_ID_ALIASES'
>;

/** The quotas, as a token for injection. */
export const QUOTAS = Symbol('quotas');
