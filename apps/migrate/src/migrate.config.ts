import { databaseConfig, distribution } from '#database';
import { commonConfig } from '#runtime';
import { z } from 'zod';

const loginUrlSchema = (app: string) =>
  databaseConfig.shape.DATABASE_URL.optional().describe(
    `Connection URL of ${app}: its user and password become a login. Not set: an operator ` +
      'creates the login.',
  );

export const migrateConfig = z.object({
  ...commonConfig.shape,
  DATABASE_URL: databaseConfig.shape.DATABASE_URL.describe(
    'Postgres, as the owner of the database.',
  ),
  DATABASE_DISTRIBUTION: distribution,
  MIGRATE_GROUPS: z
    .enum(['on', 'off', 'none'])
    .default('on')
    .describe(
      '`on` creates missing group roles; `off` expects those of an operator; `none` is for a ' +
        'database whose owner cannot create roles: all services use the owner, without logins.',
    ),
  SUBSCRIPTION_DATABASE_URL: loginUrlSchema('the subscription service'),
  EPISODE_DATABASE_URL: loginUrlSchema('the episode service'),
  DELETION_DATABASE_URL: loginUrlSchema('the deletion worker'),
  DUMP_DATABASE_URL: loginUrlSchema('`dump`'),
  ACCOUNT_DATABASE_URL: loginUrlSchema('the account app'),
  FEED_DATABASE_URL: loginUrlSchema('the feed service'),
});
