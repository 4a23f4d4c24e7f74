import { z } from 'zod';

/** Default maximum of the bytes of one user's stored answers. */
export const defaultStoredAnswerBytes = 16 * 1_024 * 1_024;

/** Returns the schema of a variable that limits the number of a user's rows. */
export function quota(count: number, description: string) {
  return z.coerce.number().int().min(1).max(1_000_000_000).default(count).describe(description);
}

/** The quota of services that create sync_id aliases, in uploads and merges. */
export const syncIdQuota = z.object({
  QUOTA_SYNC_ID_ALIASES: quota(
    2_000_000,
    'Further sync_ids of episodes that one user may have; one beyond is not kept, and its entry applied.',
  ),
});

/** The quotas of services that create subscriptions, even for actions with new feeds. */
export const subscriptionQuotas = z.object({
  QUOTA_LIVE_SUBSCRIPTIONS: quota(
    10_000,
    'Subscriptions that one user may have, deleted ones aside.',
  ),
  QUOTA_SUBSCRIPTION_NAMES: quota(
    50_000,
    'Guids, feed URLs, guid changes and subscriptions merged into others that one user may have, of each.',
  ),
});

/** The configuration of an app that uses Postgres. */
export const databaseConfig = z.object({
  DATABASE_URL: z
    .url({
      protocol: /^postgres(ql)?$/,
      error: 'must be a URL like postgres://user:password@host:5432/database',
    })
    .describe('Postgres, with the login of this app.'),
  DATABASE_POOL_SIZE: z.coerce
    .number()
    .int()
    .min(1)
    .max(500)
    .default(10)
    .describe('Connections to Postgres at most.'),
  DATABASE_PREPARED: z
    .enum(['on', 'off'])
    .default('on')
    .describe(
      'Named prepared statements, and settings sent with a connection; `off` behind a pooler in transaction mode.',
    ),
  EVENTS: z
    .enum(['on', 'off'])
    .default('off')
    .describe(
      "Events for other teams' services (docs/reference/events.md): whether writes are announced. The same in all services; the deletion worker sends them.",
    ),
  QUOTA_STORED_ANSWER_BYTES: z.coerce
    .number()
    .int()
    .min(0)
    .default(defaultStoredAnswerBytes)
    .describe(
      'What the stored answers to one user may take; the oldest go. A write whose answer is gone still takes effect once.',
    ),
});
