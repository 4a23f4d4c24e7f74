import { integer } from '#runtime';
import { z } from 'zod';
import { nodesOf } from './cluster-nodes.js';

/** Default limit of all stored answers of a user together, in bytes. */
export const defaultStoredAnswerBytes = 16 * 1_024 * 1_024;

/** Returns the schema of an environment variable that limits a user's rows of one kind. */
export function quotaVariable(defaultQuota: number, description: string) {
  return integer(1, 1_000_000_000).default(defaultQuota).describe(description);
}

/**
 * The quota variable of services that create aliases of sync_ids. The episode service creates them
 * in uploads, the subscription service in merges.
 */
export const syncIdQuota = z.object({
  QUOTA_SYNC_ID_ALIASES: quotaVariable(
    2_000_000,
    'Maximum sync_id aliases per user; above it an entry is applied without its sync_id, and a ' +
      'merge deletes the sync_id of the absorbed episode.',
  ),
});

/**
 * The quota variables of services that create subscriptions. The episode service creates them for
 * actions on new feeds.
 */
export const subscriptionQuotas = z.object({
  QUOTA_LIVE_SUBSCRIPTIONS: quotaVariable(
    10_000,
    'Maximum subscriptions per user, without deleted ones.',
  ),
  QUOTA_SUBSCRIPTION_NAMES: quotaVariable(
    50_000,
    'Maximum guids, feed URLs, guid changes and merged subscriptions per user, each.',
  ),
});

const postgresUrl = z.url({
  protocol: /^postgres(ql)?$/,
  error: 'must be a URL like postgres://user:password@host:5432/database',
});

/** The kind of database that stores the rows of users: one Postgres, or a Citus cluster. */
export const distribution = z
  .enum(['none', 'citus'])
  .default('none')
  .describe(
    '`citus`: the rows of users are distributed over the nodes of a Citus cluster ' +
      '(docs/guide/citus.md). The same in `migrate`, all services and the account app.',
  );
export type Distribution = z.output<typeof distribution>;

/**
 * `DATABASE_URL` of services whose statements each use rows of one user. It can list several nodes,
 * because each node of a Citus cluster can run such a statement.
 */
export const databaseNodes = z
  .string()
  .refine((urls) => nodesOf(urls).every((node) => postgresUrl.safeParse(node).success), {
    error: 'must be URLs like postgres://user:password@host:5432/database, separated by commas',
  })
  .describe(
    'Postgres, with the login of this app. Several nodes of a Citus cluster, separated by ' +
      'commas, share the connections.',
  );

/** The configuration of an app that uses Postgres. */
export const databaseConfig = z.object({
  DATABASE_URL: postgresUrl.describe('Postgres, with the login of this app.'),
  DATABASE_DISTRIBUTION: distribution,
  DATABASE_POOL_SIZE: integer(1, 500)
    .default(10)
    .describe('Maximum number of connections to Postgres.'),
  DATABASE_PREPARED: z
    .enum(['on', 'off'])
    .default('on')
    .describe(
      'Named prepared statements and settings of a connection; `off` for a pooler in ' +
        'transaction mode.',
    ),
  EVENTS: z
    .enum(['on', 'off'])
    .default('off')
    .describe(
      "Whether writes send events to other teams' services (docs/reference/events.md). The " +
        'same in subscription, episode and deletion-worker, which sends them.',
    ),
  QUOTA_STORED_ANSWER_BYTES: integer(0, Number.MAX_SAFE_INTEGER)
    .default(defaultStoredAnswerBytes)
    .describe(
      'Maximum bytes of the stored answers of a user; the oldest are deleted. A write without ' +
        'a stored answer still takes effect once.',
    ),
});
