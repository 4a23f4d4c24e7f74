import { databaseConfig } from '#database';
import { commonConfig } from '#runtime';
import { z } from 'zod';

const login = (app: string) =>
  databaseConfig.shape.DATABASE_URL.optional().describe(
    `The connection URL of ${app}: its user and password become a login. Not set: an operator makes the login.`,
  );

/** Configuration of `migrate`. */
export const migrateConfig = z.object({
  ...commonConfig.shape,
  DATABASE_URL: databaseConfig.shape.DATABASE_URL.describe(
    'Postgres, as the owner of the database.',
  ),
  MIGRATE_GROUPS: z
    .enum(['on', 'off', 'none'])
    .default('on')
    .describe(
      'Make the group roles where they are missing; `off` where an operator made them; `none` for a database whose ' +
        'owner cannot create roles: every service then uses the owner, and logins are not made.',
    ),
  SUBSCRIPTION_DATABASE_URL: login('the subscription service'),
  EPISODE_DATABASE_URL: login('the episode service'),
  DELETION_DATABASE_URL: login('the deletion worker'),
  DUMP_DATABASE_URL: login('`dump`'),
  ACCOUNT_DATABASE_URL: login('the account app'),
  FEED_DATABASE_URL: login('the feed service'),
});
