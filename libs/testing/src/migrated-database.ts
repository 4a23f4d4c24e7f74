import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Name of the migrated database of a Postgres server. */
export const database = 'podcast_sync';

/** URLs of one database, one for the Postgres role of each app. */
export interface RoleUrls {
  readonly subscription: string;
  readonly episode: string;
  readonly deletion: string;
  readonly dump: string;
  readonly account: string;
  readonly feed: string;
}

/** Returns the URLs of all roles for a database. In tests all roles have the owner's password. */
export function roleUrls(ownerUrl: string): RoleUrls {
  const buildUrl = (role: string) =>
    Object.assign(new URL(ownerUrl), { username: `podcast_sync_${role}` }).href;
  const [subscription, episode, deletion] = [
    buildUrl('subscription'),
    buildUrl('episode'),
    buildUrl('deletion'),
  ];
  return {
    subscription,
    episode,
    deletion,
    dump: buildUrl('dump'),
    account: buildUrl('account'),
    feed: buildUrl('feed'),
  };
}

/** Migrates a database and creates its roles, by the built program. */
export async function migrate(ownerUrl: string): Promise<void> {
  const program = fileURLToPath(new URL('../../../dist/programs/podcast-sync.js', import.meta.url));
  if (!existsSync(program)) throw new Error('The tests run the built apps: "npm run build" first.');
  const urls = roleUrls(ownerUrl);
  await promisify(execFile)(process.execPath, [program, 'migrate'], {
    env: {
      PATH: process.env.PATH,
      LOG_LEVEL: 'warn',
      DATABASE_URL: ownerUrl,
      SUBSCRIPTION_DATABASE_URL: urls.subscription,
      EPISODE_DATABASE_URL: urls.episode,
      DELETION_DATABASE_URL: urls.deletion,
      DUMP_DATABASE_URL: urls.dump,
      ACCOUNT_DATABASE_URL: urls.account,
      FEED_DATABASE_URL: urls.feed,
    },
  }).catch((error: { stdout?: string; stderr?: string }) => {
    throw new Error(`The migrations failed.\n${error.stdout}${error.stderr}`, { cause: error });
  });
}
