import { databaseNodes, subscriptionQuotas, syncIdQuota } from '#database';
import { serviceConfig } from '#transport/service';
import { z } from 'zod';

export const subscriptionConfig = z.object({
  ...serviceConfig.shape,
  DATABASE_URL: databaseNodes,
  ...syncIdQuota.shape,
  ...subscriptionQuotas.shape,
});

/** The quotas of one user. */
export type SubscriptionQuotas = Pick<
  z.output<typeof subscriptionConfig>,
  'QUOTA_LIVE_SUBSCRIPTIONS' | 'QUOTA_SUBSCRIPTION_NAMES' | 'QUOTA_SYNC_ID_ALIASES'
>;

/** The quotas, as a token for injection. */
export const QUOTAS = Symbol('quotas');
