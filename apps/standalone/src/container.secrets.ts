import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { KeyFiles } from '#embedded';

/** Programs with their own Postgres login, and the variables by which migrate gets their URLs. */
const logins = {
  subscription: { login: 'podcast_sync_subscription', variable: 'SUBSCRIPTION_DATABASE_URL' },
  episode: { login: 'podcast_sync_episode', variable: 'EPISODE_DATABASE_URL' },
  'deletion-worker': { login: 'podcast_sync_deletion', variable: 'DELETION_DATABASE_URL' },
  feed: { login: 'podcast_sync_feed', variable: 'FEED_DATABASE_URL' },
  dump: { login: 'podcast_sync_dump', variable: 'DUMP_DATABASE_URL' },
  account: { login: 'podcast_sync_account', variable: 'ACCOUNT_DATABASE_URL' },
} as const;

const onRedis = [
  'gateway',
  'gpodder',
  'subscription',
  'episode',
  'deletion-worker',
  'feed',
  'account',
  'load',
];

const database = 'podcast_sync';
const owner = 'podcast_sync';

/** Key rotation: `gently` keeps tokens of the old key valid until they expire, `now` does not. */
export type Rotation = 'gently' | 'now';

/**
 * Creates the secrets of a system in containers, where Postgres has the host name `postgres`. Each
 * container has a folder in `directory`. Its files are named after variables and have their values.
 * Existing secrets remain, except signing keys with a `rotation`.
 */
export async function makeContainerSecrets(directory: string, rotation?: Rotation): Promise<void> {
  const file = (part: string, name: string) => join(directory, part, name);
  const ownerPassword = kept(file('postgres', 'POSTGRES_PASSWORD'));
  const redisPassword = kept(file('redis', 'REDIS_PASSWORD'));
  write(file('redis', 'redis.conf'), `requirepass ${redisPassword}\n`);
  for (const part of onRedis) write(file(part, 'REDIS_PASSWORD'), redisPassword);
  write(file('migrate', 'DATABASE_URL'), databaseUrl(owner, ownerPassword));
  for (const [program, { login, variable }] of Object.entries(logins)) {
    const url = databaseUrl(login, kept(file(program, 'DATABASE_PASSWORD')));
    write(file(program, 'DATABASE_URL'), url);
    write(file('migrate', variable), url);
  }
  kept(file('account', 'SECRETS_KEY'), 32);
  kept(file('gpodder', 'SESSION_KEY'), 32);
  kept(file('gateway', 'CURSOR_KEY'), 32);
  const keys = await KeyFiles.open(join(directory, 'account'));
  if (rotation) await keys.rotate({ now: rotation === 'now' });
  chmodSync(file('account', 'signing-key.json'), 0o444);
  write(file('gateway', 'jwks.json'), readFileSync(keys.keySetFile, 'utf8'));
}

function databaseUrl(user: string, password: string): string {
  return `postgres://${user}:${password}@postgres:5432/${database}`;
}

/** Returns the secret in a file, and creates a random, URL-safe secret the first time. */
function kept(path: string, bytes = 24): string {
  if (!existsSync(path)) write(path, randomBytes(bytes).toString('base64url'));
  return readFileSync(path, 'utf8');
}

/**
 * Writes a file atomically. All users can read it, because containers run as unknown users. A
 * container can only read the folder that is mounted into it.
 */
function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  if (existsSync(path) && readFileSync(path, 'utf8') === content) return;
  writeFileSync(`${path}.new`, content);
  chmodSync(`${path}.new`, 0o444);
  renameSync(`${path}.new`, path);
}
