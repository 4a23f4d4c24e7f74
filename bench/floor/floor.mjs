// The smallest honest system of the same shape as the product: a gateway of bare Fastify, one hop
// over Redis streams with a consumer group, a bare service, and the minimal statements with the
// same guarantees. Each user's writes lock one clock and take one stamp, the newer value of each
// field wins, a repeated request changes nothing, and an answer follows the commit.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { removeRedis, startRedis } from '#embedded';
import pg from 'pg';
import { schema } from './schema.mjs';

/**
 * Starts the floor on a Postgres server, in a database of its own.
 *
 * @param options.postgresUrl a database of an owner that can create databases.
 * @param options.publicKey the JWK that verifies tokens.
 * @returns its URL, the pids of its processes, `analyze`, and `stop`, which removes its data.
 */
export async function startFloor({ postgresUrl, publicKey }) {
  const database = await createDatabase(postgresUrl);
  const owner = new pg.Client({ connectionString: database });
  await owner.connect();
  await owner.query(schema);
  const directory = mkdtempSync(join(tmpdir(), 'podcast-sync-floor-'));
  const redis = await startRedis({ directory });
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: database,
    REDIS_URL: redis.url,
    PUBLIC_KEY: JSON.stringify(publicKey),
  };
  const service = await launch('service.mjs', env);
  const gateway = await launch('gateway.mjs', env);
  const stop = async () => {
    for (const { child } of [gateway, service]) child.kill();
    await owner.end();
    await redis.stop();
    await removeRedis(directory);
  };
  return {
    baseUrl: gateway.message,
    pids: [gateway.child.pid, service.child.pid, redis.pid],
    analyze: () => owner.query('VACUUM ANALYZE'),
    stop,
  };
}

async function createDatabase(postgresUrl) {
  const owner = new pg.Client({ connectionString: postgresUrl });
  await owner.connect();
  await owner.query('CREATE DATABASE floor');
  await owner.end();
  const url = new URL(postgresUrl);
  url.pathname = '/floor';
  return url.href;
}

/** Starts a program that ends with this process. Resolves with its first message. */
async function launch(name, env) {
  const child = fork(fileURLToPath(new URL(name, import.meta.url)), [], { env, execArgv: [] });
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`${name} ended`)));
  ended.catch(() => undefined);
  const [message] = await Promise.race([once(child, 'message'), ended]);
  return { child, message };
}
