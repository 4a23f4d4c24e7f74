import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { KeyFiles } from '#embedded';

/** Postgres login of each program, and the variable with the URL of the login for `migrate`. */
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

/** Mode of a key rotation. `gently` keeps tokens of the old key valid, `now` invalidates them. */
export type Rotation = 'gently' | 'now';

/**
 * Creates the secrets of a system in containers, where Postgres has the host name `postgres`.
 * `directory` gets a folder for each container. A file named after an environment variable contains
 * the value of the variable. Existing secrets stay, except the signing key if `rotation` is set.
 */
export async function makeContainerSecrets(directory: string, rotation?: Rotation): Promise<void> {
  const secretPath = (container: string, name: string) => join(directory, container, name);
  const ownerPassword = readOrCreateSecret(secretPath('postgres', 'POSTGRES_PASSWORD'));
  const redisPassword = readOrCreateSecret(secretPath('redis', 'REDIS_PASSWORD'));
  writeWorldReadableFile(secretPath('redis', 'redis.conf'), `requirepass ${redisPassword}\n`);
  for (const container of containersWithRedis)
    writeWorldReadableFile(secretPath(container, 'REDIS_PASSWORD'), redisPassword);
  writeWorldReadableFile(
    secretPath('migrate', 'DATABASE_URL'),
    buildDatabaseUrl(ownerLogin, ownerPassword),
  );
  for (const [program, { login, variable }] of Object.entries(loginsByProgram)) {
    const url = buildDatabaseUrl(
      login,
      readOrCreateSecret(secretPath(program, 'DATABASE_PASSWORD')),
    );
    writeWorldReadableFile(secretPath(program, 'DATABASE_URL'), url);
    writeWorldReadableFile(secretPath('migrate', variable), url);
  }
  readOrCreateSecret(secretPath('account', 'SECRETS_KEY'), 32);
  readOrCreateSecret(secretPath('gpodder', 'SESSION_KEY'), 32);
  readOrCreateSecret(secretPath('gateway', 'CURSOR_KEY'), 32);
  const keyFiles = await KeyFiles.open(join(directory, 'account'));
  if (rotation) await keyFiles.rotate({ now: rotation === 'now' });
  chmodSync(secretPath('account', 'signing-key.json'), 0o444);
  writeWorldReadableFile(
    secretPath('gateway', 'jwks.json'),
    readFileSync(keyFiles.keySetFile, 'utf8'),
  );
}

function buildDatabaseUrl(user: string, password: string): string {
  return `postgres://${user}:${password}@postgres:5432/${databaseName}`;
}

/** Returns the secret in a file. A missing file is created with a random, URL-safe secret. */
function readOrCreateSecret(path: string, secretBytes = 24): string {
  if (!existsSync(path))
    writeWorldReadableFile(path, randomBytes(secretBytes).toString('base64url'));
  return readFileSync(path, 'utf8');
}

/**
 * Writes a file atomically. All users can read the file, because the user of a container is not
 * known here. A container can read only the folder that is mounted into it.
 */
function writeWorldReadableFile(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  if (existsSync(path) && readFileSync(path, 'utf8') === content) return;
  writeFileSync(`${path}.new`, content);
  chmodSync(`${path}.new`, 0o444);
  renameSync(`${path}.new`, path);
}
