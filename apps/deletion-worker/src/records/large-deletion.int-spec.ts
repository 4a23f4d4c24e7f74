import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { StoredUser } from '../../testing/stored-user.js';
import { openWorker, type WorkerContext } from '../../testing/worker.fixture.js';

const size = process.env.TEST_FULL ? 100_000 : 10_000;

let context: WorkerContext;
let watcher: pg.Client;
let other: pg.Client;

beforeAll(async () => {
  context = await openWorker();
  [watcher, other] = [1, 2].map(
    () => new pg.Client({ connectionString: context.urls.deletion }),
  ) as [pg.Client, pg.Client];
  await Promise.all([watcher.connect(), other.connect()]);
});
afterAll(async () => {
  await Promise.all([watcher.end(), other.end()]);
  await context.close();
});

const seen = `SELECT (SELECT count(*)::int FROM episode.episodes WHERE user_id = $1) AS episodes,
  (SELECT deleted IS NOT NULL FROM subscription.subscriptions WHERE user_id = $1) AS deleted,
  (SELECT status FROM deletion.deletions WHERE user_id = $1) AS status`;

it(`a deletion of ${size} episodes is atomic for readers and blocks no other user`, async () => {
  const { user, guid, subscriptionId } = await StoredUser.subscriber(context.owner);
  await user.addEpisodes(subscriptionId, size - 3);
  const deletionId = await context.request(user.id, guid);

  const done = new AbortController();
  const states = new Set<string>();
  const watch = async () => {
    while (!done.signal.aborted)
      states.add(JSON.stringify((await watcher.query(seen, [user.id])).rows[0]));
  };
  let slowest = 0;
  const write = async () => {
    const another = randomUUID();
    while (!done.signal.aborted) {
      const startedAt = performance.now();
      await other.query('SELECT sync.begin_write($1, gen_random_uuid())', [another]);
      slowest = Math.max(slowest, performance.now() - startedAt);
    }
  };
  const beside = Promise.all([watch(), write()]);
  const startedAt = performance.now();
  await context.service.process({ userId: user.id, deletionId });
  const took = performance.now() - startedAt;
  // A read after the commit sees the final state.
  states.add(JSON.stringify((await context.owner.query(seen, [user.id])).rows[0]));
  done.abort();
  await beside;
  console.log(
    `${size} episodes: ${took.toFixed()} ms, slowest write of another user ${slowest.toFixed()} ms`,
  );

  expect([...states].map((state) => JSON.parse(state) as unknown)).toEqual([
    { episodes: size, deleted: false, status: 'PENDING' },
    { episodes: 0, deleted: true, status: 'SUCCESS' },
  ]);
  // The limit of a cascade is 60 s.
  expect(took).toBeLessThan(30_000);
  expect(slowest).toBeLessThan(5_000);
});
