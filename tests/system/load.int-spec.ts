import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { maxLineBytes } from '#contracts';
import { userId } from '#identity';
import { type AppProcess, type Device, freshUser, SharedStack, TokenIssuer } from '#testing';
import { episodeConfig } from '../../apps/episode/src/episode.config.js';
import { ProgressFile } from '../../apps/load/src/progress-file.js';
import { fileOf, LoadProgram, partOf } from './testing/load-program.js';
import { dump } from './testing/operator-programs.js';

let stack: SharedStack;
let gateway: Pick<AppProcess, 'facts'>;
let owner: pg.Client;
let loader: LoadProgram;

beforeAll(async () => {
  stack = await SharedStack.open();
  gateway = stack.app('gateway');
  owner = new pg.Client({ connectionString: stack.postgres.url });
  await owner.connect();
  loader = new LoadProgram(stack.redis.url);
});
afterAll(async () => {
  loader.close();
  await owner.end();
  await stack.close();
});

const idOf = (user: string) => userId(TokenIssuer.issuer, user, TokenIssuer.issuer);
const at = (minute: number) => new Date(Date.UTC(2025, 0, 1, 0, minute)).toISOString();
const podcast = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const feed = (n: number, more: object = {}) => ({
  feed_url: `https://feeds.example/${n}`,
  guid: podcast(n),
  timestamp: at(n),
  ...more,
});
const episode = (n: number, more: object = {}) => ({
  podcast_guid: podcast(1),
  sync_id: `5c000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  episode_guid: `episode ${n}`,
  title: `Title ${n}`,
  enclosure_url: `https://media.example/${n}.mp3`,
  playback_position: { value: n, timestamp: at(n) },
  ...more,
});

const device = (user: string) => stack.device(gateway, user);
async function items(
  of: Device,
  list: 'subscriptions' | 'episodes',
  query = '',
): Promise<Record<string, unknown>[]> {
  const { status, body } = await of.send('GET', `/${list}?per_page=250${query}`);
  expect(status).toBe(200);
  return body[list] as Record<string, unknown>[];
}
const lists = async (of: Device) => [await items(of, 'subscriptions'), await items(of, 'episodes')];
/** Lists without what the server stamps. */
const unstamped = (rows: Record<string, unknown>[]) =>
  rows.map((row) => ({ ...row, subscription_changed: 'stamped' }));
const clock = async (of: Device) =>
  (await of.send('GET', '/episodes')).headers.get('sync-timestamp') as string;

describe('a load', () => {
  it('writes the same rows as uploads of its entries', async () => {
    const [loaded, uploaded] = [freshUser(), freshUser()];
    const feeds = [
      feed(1),
      feed(2),
      { feed_url: 'http://feeds.example/3' },
      { feed_url: 'https://feeds.example/3/' },
    ];
    const episodes = [
      ...[1, 2, 3].map((n) => episode(n)),
      // The same episode by its guid, by its enclosure, and two that turn out to be one.
      episode(1, {
        sync_id: undefined,
        playback_position: { value: 99, timestamp: at(0) },
        played_status: { value: true, timestamp: at(9) },
      }),
      episode(4, { episode_guid: undefined, sync_id: undefined }),
      episode(5, { enclosure_url: undefined }),
      episode(5, { enclosure_url: 'https://media.example/4.mp3' }),
      episode(6, { podcast_guid: podcast(2), duration: 90.5, publish_date: at(7) }),
    ];
    expect(await loader.load(fileOf(...partOf(loaded, feeds, episodes)))).toMatchObject({
      code: 0,
      rejected: [],
    });
    const by = await device(uploaded);
    const timed = feeds.map((entry) => ({ timestamp: '1970-01-01T00:00:00Z', ...entry }));
    expect(
      (await by.send('POST', '/subscriptions', { body: { subscriptions: timed } })).body.failure,
    ).toEqual([]);
    expect((await by.send('POST', '/episodes', { body: { episodes } })).body.failure).toEqual([]);
    const [expected, found] = [await lists(by), await lists(await device(loaded))];
    expect(unstamped(found[0] as [])).toEqual(unstamped(expected[0] as []));
    const known = new Set(episodes.map(({ sync_id }) => sync_id));
    // A sync_id that no entry sent is random.
    const named = (rows: Record<string, unknown>[]) =>
      rows.map((row) => ({
        ...row,
        sync_id: known.has(row.sync_id as string) ? row.sync_id : 'made',
      }));
    expect(named(found[1] as [])).toEqual(named(expected[1] as []));
  });

  it('again changes no state, and no device has anything to fetch', async () => {
    const user = freshUser();
    const file = fileOf(
      ...partOf(
        user,
        [
          feed(1, { title: 'One' }),
          feed(2, { is_subscribed: false, title: 'Two' }),
          feed(3, { timestamp: undefined }),
          feed(4, { timestamp: undefined, is_subscribed: false }),
          { feed_url: 'https://feeds.example/5', is_subscribed: false },
        ],
        [episode(1), episode(2, { sync_id: undefined })],
      ),
    );
    await loader.load(file);
    const of = await device(user);
    const [first, since] = [await lists(of), await clock(of)];
    expect(first[0]?.map((row) => row['is_subscribed'])).toEqual([true, false, true, false, false]);
    expect(first[0]?.slice(0, 3).map((row) => row['title'])).toEqual(['One', 'Two', undefined]);
    expect(await loader.load(file)).toMatchObject({ code: 0, rejected: [] });
    expect(await lists(of)).toEqual(first);
    expect(await items(of, 'episodes', `&since=${since}`)).toEqual([]);
    expect(await items(of, 'subscriptions', `&since=${since}`)).toEqual([]);
  });

  it('keeps the newest of each status, from any source', async () => {
    const user = freshUser();
    const of = await device(user);
    await of.send('POST', '/subscriptions', { body: { subscriptions: [feed(1), feed(2)] } });
    await of.send('PATCH', `/subscriptions/${podcast(2)}`, {
      body: { is_subscribed: false, timestamp: at(50) },
    });
    const live = episode(1, { playback_position: { value: 7, timestamp: at(30) } });
    await of.send('POST', '/episodes', { body: { episodes: [live] } });
    const states = {
      playback_position: { value: 1, timestamp: at(20) },
      played_status: { value: true, timestamp: at(20) },
    };
    await loader.load(
      fileOf(
        ...partOf(
          user,
          [feed(1, { is_subscribed: false, timestamp: at(40) }), feed(2)],
          [episode(1, states)],
        ),
      ),
    );
    expect(await items(of, 'episodes')).toMatchObject([
      {
        playback_position: { value: 7 },
        played_status: { value: true, timestamp: at(20).slice(0, 16) },
      },
    ]);
    expect(await items(of, 'subscriptions')).toMatchObject([
      { is_subscribed: false },
      { is_subscribed: false },
    ]);
  });

  it('loads a user of several chunks in any file', async () => {
    const users = [freshUser(), freshUser()];
    const episodes = Array.from({ length: 2_300 }, (_, n) => episode(n));
    const parts = users.flatMap((user) => partOf(user, [feed(1)], episodes));
    expect(await loader.load(fileOf({ podcast_sync: { format: 1 } }, ...parts))).toMatchObject({
      code: 0,
      rejected: [],
    });
    for (const user of users)
      expect((await (await device(user)).send('GET', '/episodes')).body.total).toBe(2_300);
  });

  it('takes a dump: another user has the same lists then, and the same dump', async () => {
    const [from, to] = [freshUser(), freshUser()];
    const of = await device(from);
    const titled = { feed_url: 'https://feeds.example/2', title: 'Two' };
    const feeds = [feed(1), titled, feed(3), feed(4)];
    await of.send('POST', '/subscriptions', { body: { subscriptions: feeds } });
    await of.send('PATCH', `/subscriptions/${podcast(3)}`, {
      body: { is_subscribed: false, timestamp: at(50) },
    });
    await of.send('PATCH', `/subscriptions/${podcast(4)}`, {
      body: { new_feed_url: 'https://feeds.example/moved' },
    });
    const minute = {
      playback_position: { value: 3, timestamp: '2025-01-01T00:03' },
      duration: 90.5,
    };
    const episodes = [episode(1), episode(2, { episode_guid: undefined }), episode(3, minute)];
    expect((await of.send('POST', '/episodes', { body: { episodes } })).body.failure).toEqual([]);
    const dumped = async (user: string) => {
      const users = loader.write(fileOf({ id: idOf(user) }));
      await dump(stack, `${users}.dump`, '--users', users);
      return readFileSync(`${users}.dump`, 'utf8');
    };
    const file = (await dumped(from)).replace(idOf(from), idOf(to));
    expect(await loader.load(file)).toMatchObject({ code: 0, rejected: [] });
    expect(await dumped(to)).toBe(file);
    const [expected, found] = [await lists(of), await lists(await device(to))];
    expect(unstamped(found[0] as [])).toEqual(unstamped(expected[0] as []));
    expect(found[1]).toEqual(expected[1]);
  });

  it('finds episodes by their metadata without sync_ids, even among similar ones', async () => {
    const user = freshUser();
    const long = 'x'.repeat(1_500);
    const entries = Array.from({ length: 1_200 }, (_, n) => ({
      ...episode(n, { sync_id: undefined, episode_guid: n % 2 ? undefined : `episode ${n}` }),
      publish_date: at(n % 3),
      episode_url: `https://podcast.example/${n}/${long}`,
    }));
    const file = fileOf(...partOf(user, [feed(1)], entries));
    expect(await loader.load(file)).toMatchObject({ code: 0, rejected: [] });
    const of = await device(user);
    const since = await clock(of);
    expect(await loader.load(file)).toMatchObject({ code: 0, rejected: [] });
    expect((await of.send('GET', '/episodes')).body.total).toBe(1_200);
    expect(await items(of, 'episodes', `&since=${since}`)).toEqual([]);
  });

  it('applies the quotas of users, and reports the rejected lines', async () => {
    const user = freshUser();
    await loader.load(fileOf(...partOf(user, [feed(1)], [episode(0)])));
    // As if the user had all episodes but ten that the quota allows.
    const quota = episodeConfig.shape.QUOTA_EPISODE_STATES.parse(undefined);
    const { rowCount } = await owner.query(
      'UPDATE episode.totals SET episodes = $2 WHERE user_id = $1',
      [idOf(user), quota - 10],
    );
    expect(rowCount).toBe(1);
    const entries = Array.from({ length: 20 }, (_, n) => episode(n + 1));
    const { code, rejected } = await loader.load(fileOf(...partOf(user, [feed(1)], entries)));
    expect([code, rejected.map(({ line, code: why }) => [line, why])]).toEqual([
      3,
      Array.from({ length: 10 }, (_, n) => [13 + n, 'limit_reached']),
    ]);
    expect((await items(await device(user), 'episodes')).length).toBe(11);
  });

  it('takes gzip, and the standard input', async () => {
    // The one start of the built program.
    const [zipped, piped] = [freshUser(), freshUser()];
    const part = (user: string) => gzipSync(fileOf(...partOf(user, [feed(1)], [episode(1)])));
    expect(await loader.load(part(zipped))).toMatchObject({ code: 0 });
    expect(await loader.begin('-', [], part(piped)).ended).toMatchObject({ code: 0 });
    for (const user of [zipped, piped])
      expect(await items(await device(user), 'episodes')).toHaveLength(1);
  });

  it('counts times ahead of the clock as now', async () => {
    const user = freshUser();
    const ahead = '2099-01-01T00:00:00Z';
    const file = fileOf(
      ...partOf(
        user,
        [feed(1, { timestamp: ahead })],
        [episode(1, { playback_position: { value: 1, timestamp: ahead } })],
      ),
    );
    expect(await loader.load(file)).toMatchObject({ code: 0, rejected: [] });
    const of = await device(user);
    const [position] = await items(of, 'episodes');
    expect(position).not.toMatchObject({ playback_position: { timestamp: '2099-01-01T00:00' } });
    const first = await lists(of);
    await loader.load(file);
    expect(await lists(of)).toEqual(first);
  });
});

describe('of a file that is not as it should be', () => {
  it('invalid lines are rejected with number and code, and the rest is loaded', async () => {
    const user = freshUser();
    const unusable = [
      episode(2, { podcast_guid: podcast(7) }),
      episode(3, { sync_id: 'x' }),
      episode(4, { enclosure_url: 'nowhere' }),
    ];
    const states = [
      episode(5, { playback_position: { value: -1, timestamp: at(1) } }),
      { title: 'No podcast' },
    ];
    const feeds = [
      feed(1),
      { ...feed(2), guid: 'x' },
      { ...feed(3), feed_url: 'feeds.example' },
      feed(4, { is_subscribed: 'no' }),
    ];
    const entries = [episode(1), ...unusable, ...states, { podcast_guid: podcast(1) }];
    const { code, rejected } = await loader.load(fileOf(...partOf(user, feeds, entries)));
    expect(code).toBe(3);
    expect(
      rejected.map(({ line, code: why }) => [line, why]).sort(([a], [b]) => Number(a) - Number(b)),
    ).toEqual([
      [3, 'invalid_guid'],
      [4, 'invalid_url'],
      [5, 'invalid_line'],
      [7, 'unknown_subscription'],
      [8, 'invalid_guid'],
      [9, 'invalid_url'],
      [10, 'invalid_value'],
      [11, 'missing_identifier'],
      [12, 'missing_identifier'],
    ]);
    const [subscriptions, episodes] = await lists(await device(user));
    expect([subscriptions, episodes]).toMatchObject([
      [{ guid: podcast(1) }],
      [{ title: 'Title 1' }],
    ]);
  });

  it('lines that a run rejected count for the run that continues it', async () => {
    const [first, second] = [freshUser(), freshUser()];
    const begin = fileOf(...partOf(first, [feed(1)]));
    const path = loader.write(begin + fileOf(...partOf(second, [feed(1)])));
    const progress = await ProgressFile.open(path);
    progress.reached = { offset: begin.length, line: 3 };
    progress.rejected = 1;
    await progress.save();
    const { code, stderr, rejected } = await loader.run(path);
    expect([code, stderr, rejected]).toEqual([3, expect.stringContaining('after line 3'), []]);
    expect(await items(await device(first), 'subscriptions')).toEqual([]);
    expect(await items(await device(second), 'subscriptions')).toHaveLength(1);
    expect((await loader.run(path)).code).toBe(0);
  });

  it('a line without JSON, without UTF-8 or too long is rejected, and counts', async () => {
    const user = freshUser();
    const [begin, subscription, known] = partOf(user, [feed(1)], [episode(1)]) as [
      object,
      object,
      object,
    ];
    const parts = [
      fileOf(begin, subscription, known, '{"episode":'),
      Buffer.concat([
        Buffer.from('{"episode":{"title":"'),
        Buffer.from([0xff]),
        Buffer.from('"}}\n'),
      ]),
      fileOf(`{"episode":{"title":"${'x'.repeat(maxLineBytes)}"}}`, {
        end: { subscriptions: 1, episodes: 4 },
      }),
    ];
    const { code, rejected } = await loader.load(
      Buffer.concat(parts.map((part) => Buffer.from(part))),
    );
    expect([code, rejected.map(({ line, code: why }) => [line, why])]).toEqual([
      3,
      [
        [4, 'invalid_line'],
        [5, 'invalid_line'],
        [6, 'invalid_line'],
      ],
    ]);
    expect(await items(await device(user), 'episodes')).toHaveLength(1);
  });

  it('a user without issuer or end is not applied, and others are', async () => {
    const [cut, wrong, good, unnamed, last] = Array.from({ length: 5 }, freshUser) as [
      string,
      string,
      string,
      string,
      string,
    ];
    const file = fileOf(
      { episode: episode(1) },
      ...partOf(cut, [feed(1)], [episode(1)]).slice(0, -1),
      ...partOf(wrong, [feed(1)], [episode(1)], { subscriptions: 1, episodes: 2 }),
      ...partOf(good, [feed(1)], [episode(1)]),
      { user: { subject: unnamed } },
      ...partOf(unnamed, [feed(1)], [episode(1)]).slice(1),
      ...partOf(last, [feed(1)], [episode(1)]).slice(0, -1),
    );
    const { code, rejected } = await loader.load(file);
    expect([code, rejected.map(({ line, code: why }) => [line, why])]).toEqual([
      3,
      [
        [1, 'no_user'],
        [2, 'incomplete'],
        [5, 'incomplete'],
        [13, 'invalid_user'],
        [17, 'incomplete'],
      ],
    ]);
    for (const user of [cut, wrong, unnamed, last])
      expect(await lists(await device(user))).toEqual([[], []]);
    expect(await items(await device(good), 'episodes')).toHaveLength(1);
  });

  it.each([
    [1, 'is disabled'],
    [2, 'is being erased'],
    [3, 'was erased'],
  ])(
    'a user who is refused as %i, who %s, is refused once and gets nothing; the others are loaded',
    async (why) => {
      const [before, refusedUser, after] = [freshUser(), freshUser(), freshUser()];
      const id = idOf(refusedUser);
      await owner.query(
        `INSERT INTO sync.user_clock (user_id, stamp, refused) VALUES ($1, 'epoch', $2)`,
        [id, why],
      );
      const file = fileOf(
        ...partOf(before, [feed(1)], [episode(1)]),
        ...partOf(refusedUser, [feed(1), feed(2)], [episode(1)]),
        ...partOf(refusedUser, [], [episode(1)]),
        ...partOf(after, [feed(1)], [episode(1)]),
      );
      const { code, rejected } = await loader.load(file);
      const { rows } = await owner.query(
        'SELECT FROM subscription.subscriptions WHERE user_id = $1',
        [id],
      );
      // Users are on their way side by side.
      rejected.sort((a, b) => a.line - b.line);
      const lines = rejected.map(({ line, code: reason, message }) => [line, reason, message]);
      const message = 'the user is disabled or erased';
      expect([code, lines]).toEqual([3, [5, 10].map((line) => [line, 'user_refused', message])]);
      expect(rows).toHaveLength(0);
      for (const user of [before, after])
        expect(await items(await device(user), 'episodes')).toHaveLength(1);
    },
  );

  it('of another form nothing is loaded', async () => {
    const user = freshUser();
    const { code, stderr } = await loader.load(
      fileOf({ podcast_sync: { format: 2 } }, ...partOf(user, [feed(1)])),
    );
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('the file has format 2; this release reads format 1'),
    ]);
    expect(await lists(await device(user))).toEqual([[], []]);
  });

  it('a truncated gzip file is loaded up to its end', async () => {
    const [whole, broken] = [freshUser(), freshUser()];
    const many = Array.from({ length: 900 }, (_, n) => episode(n, { title: randomUUID() }));
    const zipped = gzipSync(
      fileOf(...partOf(whole, [feed(1)], [episode(1)]), ...partOf(broken, [feed(1)], many)),
    );
    const { code, stderr, rejected } = await loader.load(zipped.subarray(0, zipped.length - 500));
    expect([code, stderr]).toEqual([1, expect.stringContaining('corrupt gzip')]);
    expect(rejected).toMatchObject([{ line: 5, code: 'incomplete' }]);
    expect(await items(await device(whole), 'episodes')).toHaveLength(1);
    expect(await lists(await device(broken))).toEqual([[], []]);
  });

  it('missing files and wrong options have their own exit codes', async () => {
    expect(await loader.run('nowhere.ndjson')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('ENOENT'),
    });
    expect(await loader.run('x', '--parallel', '0')).toMatchObject({ code: 2 });
  });
});
