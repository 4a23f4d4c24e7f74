import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { DataSource, QueryRunner } from 'typeorm';
import { podcastGuid, urlKey } from '#contracts';
import { createDatabase, freshUser, type TestDatabase } from '#testing';
import { createDataSource } from '../data-source.js';
import { MergeEqualUrls1764086401000 } from './1764086401000-merge-equal-urls.js';

let database: TestDatabase;
let dataSource: DataSource;
let runner: QueryRunner;
beforeAll(async () => {
  database = await createDatabase();
  dataSource = await createDataSource({ url: database.ownerUrl }).initialize();
  runner = dataSource.createQueryRunner();
});
afterAll(async () => {
  await runner.release();
  await dataSource.destroy();
  await database.drop();
});

const rows = (sql: string, ...values: unknown[]) =>
  dataSource.query<Record<string, unknown>[]>(sql, values);

/** Stores a subscription as code did that compared URLs as texts. @returns its row id. */
async function stored(
  userId: string,
  urls: [current: string, ...former: string[]],
  { isSubscribed = true, deleted = null as string | null } = {},
): Promise<number> {
  const [made] = await rows(
    `INSERT INTO subscription.subscriptions (user_id, feed_url, guid, is_subscribed,
       is_subscribed_at, subscription_changed, deleted, changed)
     VALUES ($1, $2, $3, $4, 'epoch', 'epoch', $5::timestamptz, coalesce($5::timestamptz, 'epoch'))
     RETURNING id::int`,
    userId,
    urls[0],
    randomUUID(),
    isSubscribed && deleted === null,
    deleted,
  );
  const id = made?.['id'] as number;
  await rows(
    `INSERT INTO subscription.feed_urls (user_id, url_sha256, subscription_id, url)
     SELECT $1, sync.sha256(url), $2, CASE WHEN place > 1 THEN url END
     FROM unnest($3::text[]) WITH ORDINALITY u (url, place)`,
    userId,
    id,
    urls,
  );
  await rows(
    `INSERT INTO subscription.totals AS t (user_id, live, urls)
     VALUES ($1, CASE WHEN $2::text IS NULL THEN 1 ELSE 0 END, $3)
     ON CONFLICT (user_id) DO UPDATE
       SET live = t.live + excluded.live, urls = t.urls + excluded.urls`,
    userId,
    deleted,
    urls.length,
  );
  return id;
}

async function storedEpisode(
  userId: string,
  subscription: number,
  enclosureUrl: string,
  at: number,
) {
  const [made] = await rows(
    `WITH made AS (
       INSERT INTO episode.episodes (user_id, subscription_id, publish_date, sync_id, episode_guid,
         title, enclosure_url, episode_url)
       VALUES ($1, $2, 'epoch', gen_random_uuid(), '', '', $3, '') RETURNING id, sync_id
     ), state AS (
       INSERT INTO episode.states (
         user_id, id, sync_id, changed, playback_position, playback_position_at
       )
       SELECT $1, id, sync_id, 'epoch', $4::float8, to_timestamp($4::float8) FROM made
     ), counted AS (
       INSERT INTO episode.totals AS t (user_id, episodes) VALUES ($1, 1)
       ON CONFLICT (user_id) DO UPDATE SET episodes = t.episodes + 1
     )
     SELECT id::int FROM made`,
    userId,
    subscription,
    enclosureUrl,
    at,
  );
  return made?.['id'] as number;
}

async function user(): Promise<string> {
  const userId = freshUser();
  await rows(`INSERT INTO sync.user_clock (user_id, stamp) VALUES ($1, 'epoch')`, userId);
  return userId;
}

/** Runs the migration twice, as after a crash. */
async function migrated(): Promise<void> {
  for (let run = 0; run < 2; run++) await new MergeEqualUrls1764086401000().up(runner);
}

const namesOf = (userId: string) =>
  rows(
    `SELECT encode(url_sha256, 'hex') AS key, subscription_id::int AS id FROM subscription.feed_urls
     WHERE user_id = $1 ORDER BY 1`,
    userId,
  );
const subscriptionsOf = (userId: string) =>
  rows(
    `SELECT id::int, feed_url AS url, is_subscribed AS on, merged_into::int AS into,
       has_lost_url AS lost
     FROM subscription.subscriptions WHERE user_id = $1 ORDER BY id`,
    userId,
  );

const [normal, upper, port] = [
  'https://feeds.example.com/x',
  'https://Feeds.Example.com/x',
  'https://feeds.example.com:443/x',
] as const;

it('moves a URL to its key, keeps it as sent, and adds its derived guid', async () => {
  const userId = await user();
  const id = await stored(userId, [upper, 'https://feeds.example.com/%7Eold']);
  await migrated();
  const keys = [upper, 'https://feeds.example.com/~old'].map(urlKey).toSorted();
  expect(await namesOf(userId)).toEqual(keys.map((key) => ({ key, id })));
  expect(await subscriptionsOf(userId)).toMatchObject([{ url: upper, into: null, lost: false }]);
  const [guid] = await rows(
    `SELECT subscription_id::int AS id, derived FROM subscription.guids
     WHERE user_id = $1 AND guid = $2`,
    userId,
    podcastGuid(normal),
  );
  expect(guid).toEqual({ id, derived: true });
});

it('merges subscriptions with equal URLs; the subscribed one survives', async () => {
  const userId = await user();
  const unsubscribed = await stored(userId, [upper], { isSubscribed: false });
  const kept = await stored(userId, [normal]);
  const third = await stored(userId, [port, 'https://feeds.example.com/former']);
  await storedEpisode(userId, unsubscribed, 'https://media.example.com/%7E1.mp3', 30);
  const episode = await storedEpisode(userId, kept, 'https://media.example.com/~1.mp3', 20);
  await storedEpisode(userId, third, 'https://media.example.com/2.mp3', 10);
  await migrated();
  expect(await subscriptionsOf(userId)).toEqual([
    { id: unsubscribed, url: upper, on: false, into: kept, lost: false },
    { id: kept, url: normal, on: true, into: null, lost: false },
    { id: third, url: port, on: true, into: kept, lost: false },
  ]);
  const keys = [normal, 'https://feeds.example.com/former'].map(urlKey).toSorted();
  expect(await namesOf(userId)).toEqual(keys.map((key) => ({ key, id: kept })));
  expect(
    await rows(
      `SELECT e.id::int, e.enclosure_url AS url, s.playback_position AS position
       FROM episode.episodes e JOIN episode.states s USING (user_id, id)
       WHERE user_id = $1 AND subscription_id = $2 ORDER BY id`,
      userId,
      kept,
    ),
  ).toMatchObject([
    { id: episode, url: 'https://media.example.com/~1.mp3', position: 30 },
    { url: 'https://media.example.com/2.mp3', position: 10 },
  ]);
  expect(
    await rows(
      'SELECT live::int, pointers::int, urls::int FROM subscription.totals WHERE user_id = $1',
      userId,
    ),
  ).toEqual([{ live: 1, pointers: 2, urls: 2 }]);
});

it('merges episodes with equal URLs in one subscription, and leaves others apart', async () => {
  const userId = await user();
  const id = await stored(userId, [normal]);
  const urls = ['https://media.example.com/a%20b.mp3', 'https://media.example.com/a b.mp3'];
  const [oldest] = [
    await storedEpisode(userId, id, urls[0] as string, 1),
    await storedEpisode(userId, id, urls[1] as string, 2),
    await storedEpisode(userId, id, 'https://media.example.com/A%20b.mp3', 3),
  ];
  await migrated();
  const episodes = await rows(
    `SELECT e.id::int, e.subscription_id::int AS of, s.playback_position AS position
     FROM episode.episodes e JOIN episode.states s USING (user_id, id)
     WHERE user_id = $1 ORDER BY id`,
    userId,
  );
  expect(episodes).toMatchObject([
    { id: oldest, of: id, position: 2 },
    { of: id, position: 3 },
  ]);
  expect(
    await rows(
      'SELECT episodes::int, sync_ids::int FROM episode.totals WHERE user_id = $1',
      userId,
    ),
  ).toEqual([{ episodes: 2, sync_ids: 1 }]);
});

it('gives a key to the subscription whose current URL it is', async () => {
  const userId = await user();
  const tombstone = await stored(userId, [normal], { deleted: '2026-01-01' });
  const other = await stored(userId, ['https://other.example.com/', port]);
  const live = await stored(userId, [upper]);
  await migrated();
  expect(await subscriptionsOf(userId)).toMatchObject([
    { id: tombstone, into: null, lost: true },
    { id: other, into: null },
    { id: live, into: null },
  ]);
  expect((await namesOf(userId)).find(({ key }) => key === urlKey(normal))).toMatchObject({
    id: live,
  });
});

it('moves a URL to the former key of another', async () => {
  const userId = await user();
  const urls = ['https://feeds.example.com/%2541', 'https://feeds.example.com/%41'] as const;
  const ids = [await stored(userId, [urls[0]]), await stored(userId, [urls[1]])];
  await migrated();
  const named = urls.map((url, n) => ({ key: urlKey(url), id: ids[n] }));
  expect(await namesOf(userId)).toEqual(
    named.toSorted((one, other) => (one.key < other.key ? -1 : 1)),
  );
});

it('changes nothing of users whose URLs are normal', async () => {
  const userId = await user();
  await stored(userId, [normal, 'http://feeds.example.com/x']);
  const before = [await namesOf(userId), await subscriptionsOf(userId)];
  await migrated();
  expect([await namesOf(userId), await subscriptionsOf(userId)]).toEqual(before);
  expect(await rows('SELECT stamp FROM sync.user_clock WHERE user_id = $1', userId)).toEqual([
    { stamp: '1970-01-01T00:00:00.000Z' },
  ]);
  expect(createHash('sha256').update(normal).digest('hex')).toBe(urlKey(normal));
});
