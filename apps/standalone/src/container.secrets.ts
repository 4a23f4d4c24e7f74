import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { KeyFiles } from '#embedded';

/** The programs with a login of their own in Postgres, and the variable by which migrate is told of it. */
const logins = {
  subscription: { login: 'podcast_sync_subscription', variable: 'SUBSCRIPTION_DATABASE_URL' },
  episode: { login: 'podcast_sync_episode', variable: 'EPISODE_DATABASE_URL' },
  'deletion-worker': { login: 'podcast_sync_deletion', variable: 'DELETION_DATABASE_URL' },
  dump: { login: 'podcast_sync_dump', variable: 'DUMP_DATABASE_URL' },
  account: { login: 'podcast_sync_account', variable: 'ACCOUNT_DATABASE_URL' },
} as const;

/** The parts that connect to Redis. */
const onRedis = ['gateway', 'gpodder', 'subscription', 'episode', 'deletion-worker', 'account', 'load'];

const database = 'podcast_sync';
const owner = 'podcast_sync';

/** How the key that signs access tokens is replaced: tokens of the old ones stay good until they expire, or end `now`. */
export type Rotation = 'gently' | 'now';

/**
 * Makes the secrets of a system whose parts run in containers beside a Postgres called `postgres`: in `directory`, a
 * folder for each part with the files that this part alone may see. A file is named after the variable whose value it
 * holds. What is there already stays, so that running it again changes nothing but what a rotation asks for.
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
  const keys = await KeyFiles.open(join(directory, 'account'));
  if (rotation) await keys.rotate({ now: rotation === 'now' });
  chmodSync(file('account', 'signing-key.json'), 0o444);
  write(file('gateway', 'jwks.json'), readFileSync(keys.keySetFile, 'utf8'));
}

function databaseUrl(user: string, password: string): string {
  return `postgres://${user}:${password}@postgres:5432/${database}`;
}

/** The secret of a file: made at random the first time, the same ever after. Safe inside a URL. */
function kept(path: string, bytes = 24): string {
  if (!existsSync(path)) write(path, randomBytes(bytes).toString('base64url'));
  return readFileSync(path, 'utf8');
}

/** Whole or not at all. Who may mount the folder may read the file: the parts run as users of their own, unknown here. */
function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  if (existsSync(path) && readFileSync(path, 'utf8') === content) return;
  writeFileSync(`${path}.new`, content);
  chmodSync(`${path}.new`, 0o444);
  renameSync(`${path}.new`, path);
}
