import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { TokenIssuer } from '#embedded';

/** The services with a login of their own in Postgres, and the variable by which migrate is told of it. */
const services = {
  subscription: { login: 'podcast_sync_subscription', variable: 'SUBSCRIPTION_DATABASE_URL' },
  episode: { login: 'podcast_sync_episode', variable: 'EPISODE_DATABASE_URL' },
  'deletion-worker': { login: 'podcast_sync_deletion', variable: 'DELETION_DATABASE_URL' },
} as const;

const database = 'podcast_sync';
const owner = 'podcast_sync';

/** How the key of the issuer is replaced: tokens of the old one stay good until they expire, or end `now`. */
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
  write(file('gateway', 'REDIS_PASSWORD'), redisPassword);
  write(file('migrate', 'DATABASE_URL'), databaseUrl(owner, ownerPassword));
  for (const [service, { login, variable }] of Object.entries(services)) {
    const url = databaseUrl(login, kept(file(service, 'DATABASE_PASSWORD')));
    write(file(service, 'DATABASE_URL'), url);
    write(file(service, 'REDIS_PASSWORD'), redisPassword);
    write(file('migrate', variable), url);
  }
  const issuer = await TokenIssuer.open(join(directory, 'tokens'));
  if (rotation) await issuer.rotate({ now: rotation === 'now' });
  chmodSync(file('tokens', 'signing-key.json'), 0o444);
  write(file('gateway', 'jwks.json'), readFileSync(issuer.keySetFile, 'utf8'));
}

function databaseUrl(user: string, password: string): string {
  return `postgres://${user}:${password}@postgres:5432/${database}`;
}

/** The secret of a file: made at random the first time, the same ever after. Safe inside a URL. */
function kept(path: string): string {
  if (!existsSync(path)) write(path, randomBytes(24).toString('base64url'));
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
