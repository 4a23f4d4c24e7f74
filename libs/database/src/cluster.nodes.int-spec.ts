import { afterAll, beforeAll, expect, it } from 'vitest';
import type { DataSource } from 'typeorm';
import { freePort } from '#embedded';
import { createDatabase, type TestDatabase } from '#testing';
import { nodesOf } from './cluster.nodes.js';
import { createDataSource } from './data-source.js';

let nodes: TestDatabase[];
const sources: DataSource[] = [];
beforeAll(async () => {
  nodes = await Promise.all([createDatabase(), createDatabase()]);
});
afterAll(async () => {
  await Promise.all(sources.map((source) => source.destroy()));
  await Promise.all(nodes.map((node) => node.drop()));
});

/** Returns the databases of six concurrent connections. */
async function namesOf(urls: string[]): Promise<string[]> {
  const source = await createDataSource({ url: urls.join(','), poolSize: 6 }).initialize();
  sources.push(source);
  const runners = Array.from({ length: 6 }, () => source.createQueryRunner());
  const rows = await Promise.allSettled(
    runners.map((runner) => runner.query('SELECT current_database() AS name, pg_sleep(0.1)')),
  );
  await Promise.all(runners.map((runner) => runner.release()));
  return rows.map((row) =>
    row.status === 'rejected' ? 'failed' : ((row.value as { name: string }[])[0]?.name ?? ''),
  );
}

it('a list of URLs is separated by commas, and a password can have one', () => {
  expect(nodesOf('postgres://a:b@c/d')).toEqual(['postgres://a:b@c/d']);
  expect(nodesOf('postgres://a:b,c@d/e, postgresql://f/g')).toEqual([
    'postgres://a:b,c@d/e',
    'postgresql://f/g',
  ]);
});

it('connections are spread over the nodes', async () => {
  const found = await namesOf(nodes.map((node) => node.urls.episode));
  for (const { name } of nodes) expect(found.filter((one) => one === name)).toHaveLength(3);
});

it('after a refused connection, the other nodes get all', async () => {
  const gone = Object.assign(new URL(nodes[0]?.urls.episode ?? ''), {
    port: String(await freePort()),
  });
  const [, only] = nodes as [TestDatabase, TestDatabase];
  const urls = [gone.href, only.urls.episode];
  const source = createDataSource({ url: urls.join(','), poolSize: 6 });
  await source.initialize().catch(() => source.initialize());
  sources.push(source);
  const name = async () => {
    const rows = await source.query<{ name: string }[]>('SELECT current_database() AS name');
    return rows[0]?.name;
  };
  for (let n = 0; n < 3; n++) await Promise.allSettled([name(), name()]);
  expect(await Promise.all(Array.from({ length: 6 }, name))).toEqual(Array(6).fill(only.name));
});
