import { databaseNodes, subscriptionQuotas, syncIdQuota } from '#database';
import { serviceConfig } from '#transport/service';
import { z } from 'zod';

export const subscriptionConfig = z.object({
  ...serviceConfig.shape,
  DATABASE_URL: databaseNodes,
  ...syncIdQuota.shape,
  ...subscriptionQuotas.shape,
});

/** The quotas of each user. */
export type SubscriptionQuotas = Pick<
  z.output<typeof subscriptionConfig>,
  'QUOTA_LIVE_SUBSCRIPTIONS' | 'QUOTA_SUBSCRIPTION_NAMES' | 'QUOTA_SYNC_ID_ALIASES'
>;

/** Injection token of {@link SubscriptionQuotas}. */
export const QUOTAS = Symbol('quotas');
