import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { KeyFiles } from '#embedded';

/** Programs with their own Postgres login, and the variables by which migrate gets their URLs. */
const loginsByProgram = {
  subscription: { login: 'podcast_sync_subscription', variable: 'SUBSCRIPTION_DATABASE_URL' },
  episode: { login: 'podcast_sync_episode', variable: 'EPISODE_DATABASE_URL' },
  'deletion-worker': { login: 'podcast_sync_deletion', variable: 'DELETION_DATABASE_URL' },
  feed: { login: 'podcast_sync_feed', variable: 'FEED_DATABASE_URL' },
  dump: { login: 'podcast_sync_dump', variable: 'DUMP_DATABASE_URL' },
  account: { login: 'podcast_sync_account', variable: 'ACCOUNT_DATABASE_URL' },
} as const;

const containersWithRedis = [
  'gateway',
  'gpodder',
  'subscription',
  'episode',
  'deletion-worker',
  'feed',
  'account',
  'load',
];

const databaseName = 'podcast_sync';
const ownerLogin = 'podcast_sync';

/** Key rotation: `gently` keeps tokens of the old key valid until they expire, `now` does not. */
export type Rotation = 'gently' | 'now';

/**
 * Creates the secrets of a system in containers, where Postgres has the host name `postgres`. Each
 * container has a folder in `directory`. Its files are named after variables and have their values.
 * Existing secrets remain, except signing keys with a `rotation`.
 */
export async function makeContainerSecrets(directory: string, rotation?: Rotation): Promise<void> {
  const file = (part: string, name: string) => join(directory, part, name);
  const ownerPassword = readOrCreateSecret(file('postgres', 'POSTGRES_PASSWORD'));
  const redisPassword = readOrCreateSecret(file('redis', 'REDIS_PASSWORD'));
  writeSharedFile(file('redis', 'redis.conf'), `requirepass ${redisPassword}\n`);
  for (const part of containersWithRedis)
    writeSharedFile(file(part, 'REDIS_PASSWORD'), redisPassword);
  writeSharedFile(file('migrate', 'DATABASE_URL'), databaseUrl(ownerLogin, ownerPassword));
  for (const [program, { login, variable }] of Object.entries(loginsByProgram)) {
    const url = databaseUrl(login, readOrCreateSecret(file(program, 'DATABASE_PASSWORD')));
    writeSharedFile(file(program, 'DATABASE_URL'), url);
    writeSharedFile(file('migrate', variable), url);
  }
  readOrCreateSecret(file('account', 'SECRETS_KEY'), 32);
  readOrCreateSecret(file('gpodder', 'SESSION_KEY'), 32);
  readOrCreateSecret(file('gateway', 'CURSOR_KEY'), 32);
  const keys = await KeyFiles.open(join(directory, 'account'));
  if (rotation) await keys.rotate({ now: rotation === 'now' });
  chmodSync(file('account', 'signing-key.json'), 0o444);
  writeSharedFile(file('gateway', 'jwks.json'), readFileSync(keys.keySetFile, 'utf8'));
}

function databaseUrl(user: string, password: string): string {
  return `postgres://${user}:${password}@postgres:5432/${databaseName}`;
}

/** Returns the secret in a file, and creates a random, URL-safe secret the first time. */
function readOrCreateSecret(path: string, bytes = 24): string {
  if (!existsSync(path)) writeSharedFile(path, randomBytes(bytes).toString('base64url'));
  return readFileSync(path, 'utf8');
}

/**
 * Writes a file atomically. All users can read it, because containers run as unknown users. A
 * container can only read the folder that is mounted into it.
 */
function writeSharedFile(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  if (existsSync(path) && readFileSync(path, 'utf8') === content) return;
  writeFileSync(`${path}.new`, content);
  chmodSync(`${path}.new`, 0o444);
  renameSync(`${path}.new`, path);
}
