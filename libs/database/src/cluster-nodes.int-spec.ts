import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Pool } from 'pg';
import { freePort } from '#embedded';
import { createDatabase, type TestDatabase } from '#testing';
import { nodesOf } from './cluster-nodes.js';
import { createPool } from './pool.js';

let nodes: TestDatabase[];
const pools: Pool[] = [];
beforeAll(async () => {
  nodes = await Promise.all([createDatabase(), createDatabase()]);
});
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  await Promise.all(nodes.map((node) => node.drop()));
});

function openPool(urls: string[]): Pool {
  const pool = createPool({ url: urls.join(','), poolSize: 6 });
  // `end` does not wait until Postgres has closed the connections: `drop` can end them first.
  pool.on('connect', (client) => client.on('error', () => {}));
  pools.push(pool);
  return pool;
}

/** Returns the databases of six concurrent connections. */
async function kindNames(urls: string[]): Promise<string[]> {
  const pool = openPool(urls);
  const sleep = 'SELECT current_database() AS name, pg_sleep(0.1)';
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => pool.query<{ name: string }>(sleep)),
  );
  return answers.map(({ rows }) => rows[0]?.name ?? '');
}

it('a list of URLs is split at commas, except those in passwords', () => {
  expect(nodesOf('postgres://a:b@c/d')).toEqual(['postgres://a:b@c/d']);
  expect(nodesOf('postgres://a:b,c@d/e, postgresql://f/g')).toEqual([
    'postgres://a:b,c@d/e',
    'postgresql://f/g',
  ]);
});

it('connections are spread over the nodes', async () => {
  const found = await kindNames(nodes.map((node) => node.urls.episode));
  for (const { name } of nodes) expect(found.filter((one) => one === name)).toHaveLength(3);
});

it('after a refused connection, only the other nodes get connections', async () => {
  const gone = Object.assign(new URL(nodes[0]?.urls.episode ?? ''), {
    port: String(await freePort()),
  });
  const [, only] = nodes as [TestDatabase, TestDatabase];
  const pool = openPool([gone.href, only.urls.episode]);
  const name = async () => {
    const query = 'SELECT current_database() AS name';
    return (await pool.query<{ name: string }>(query)).rows[0]?.name;
  };
  for (let n = 0; n < 3; n++) await Promise.allSettled([name(), name()]);
  expect(await Promise.all(Array.from({ length: 6 }, name))).toEqual(Array(6).fill(only.name));
});
