import { beforeEach, describe, expect, test } from 'vitest';
import { Follower } from './follower.js';
import { type Answer, expectError, send } from './http.js';
import type { EpisodePage, SubscriptionPage } from './interface.js';
import { episode, feed, newGuid } from './samples.js';
import { User } from './user.js';

/** All identifiers of the first user that a second one could obtain. */
interface ForeignIds {
  guid: string;
  former: string;
  sync_id: string;
  deletion: number;
  key: string;
  cursors: { subscriptions: string; episodes: string };
  etags: { subscriptions: string; episodes: string };
}

async function createForeignData(ann: User): Promise<ForeignIds> {
  const [former, guid, sync_id, key] = [newGuid(), newGuid(), newGuid(), newGuid()];
  await ann.subscribed(feed(1), former);
  await ann.update(former, { new_guid: guid });
  const other = await ann.subscribed(feed(2));
  for (const n of [1, 2]) await ann.uploaded(episode(guid, n, n === 1 ? { sync_id } : {}));
  const deletion = await ann.requestDeletion(await ann.subscribed(feed(3)));
  await ann.ended(deletion);
  const body = { episodes: [episode(other, 3)] };
  expect((await ann.post('/episodes', body, { 'idempotency-key': key })).status).toBe(200);
  const subscriptions = await ann.get<SubscriptionPage>('/subscriptions?per_page=1');
  const episodes = await ann.get<EpisodePage>('/episodes?per_page=1');
  const cursor = (next?: string) => new URL(next ?? '').searchParams.get('cursor') ?? '';
  return {
    guid,
    former,
    sync_id,
    deletion,
    key,
    cursors: {
      subscriptions: cursor(subscriptions.body.next),
      episodes: cursor(episodes.body.next),
    },
    etags: { subscriptions: etag(subscriptions), episodes: etag(episodes) },
  };
}

const etag = ({ headers }: Answer) => headers.get('etag') ?? '';
const state = async (user: User) => ({
  ...(await user.subscriptions()),
  ...(await user.episodes()),
});

let [ann, bob]: User[] = [];
let foreignIds: ForeignIds;
let before: unknown;
let bobs: string;
beforeEach(async () => {
  [ann, bob] = [await User.fresh(), await User.fresh()];
  foreignIds = await createForeignData(ann);
  before = await state(ann);
  bobs = await bob.subscribed('https://feeds.example/of-bob.xml');
  await bob.uploaded(episode(bobs, 9));
});

/** Each operation as the second user, with identifiers of the first one in all inputs. */
const calls: Record<string, (user: User) => Promise<void>> = {
  'GET /subscriptions': (user) => seesOwnListOnly(user, 'subscriptions'),
  'GET /episodes': (user) => seesOwnListOnly(user, 'episodes'),
  'GET /subscriptions/{guid}': async (user) => {
    for (const guid of [foreignIds.guid, foreignIds.former])
      expectError(await user.get(`/subscriptions/${guid}`), 404);
  },
  'PATCH /subscriptions/{guid}': async (user) => {
    for (const guid of [foreignIds.guid, foreignIds.former])
      expectError(
        await user.patch(`/subscriptions/${guid}`, { is_subscribed: false, new_guid: newGuid() }),
        404,
      );
    // Other users can use the same guids and feeds, without access to the data.
    await user.update(bobs, { new_guid: foreignIds.guid, new_feed_url: feed(1) });
    expect((await user.episodes()).total).toBe(1);
  },
  'DELETE /subscriptions/{guid}': async (user) => {
    for (const guid of [foreignIds.guid, foreignIds.former])
      expectError(await user.delete(`/subscriptions/${guid}`), 404);
  },
  'GET /deletions/{id}': async (user) =>
    expectError(await user.get(`/deletions/${foreignIds.deletion}`), 404),
  'GET /feeds': async (user) => {
    const { feeds } = (await user.get<{ feeds: { guid: string }[] }>('/feeds')).body;
    expect(feeds.map(({ guid }) => guid)).toEqual([bobs]);
  },
  'GET /feeds/episodes': async (user) => {
    for (const guid of [foreignIds.guid, foreignIds.former])
      expectError(await user.get(`/feeds/episodes?guid=${guid}`), 404);
    const path = `/feeds/episodes?since=2020-01-01T00:00:00Z&cursor=${foreignIds.cursors.episodes}`;
    expect((await user.get(path)).body).toEqual({ episodes: [] });
  },
  'GET /feeds/artwork/{id}': async (user) =>
    expectError(await user.get(`/feeds/artwork/${foreignIds.guid}`), 404),
  'POST /feeds/preview': async (user) => {
    const sent = { feed_url: 'https://ann:secret@feeds.example/' };
    expect((await user.post('/feeds/preview', sent)).body).toEqual({ status: 'private' });
  },
  'POST /feeds/import': async (user) =>
    expectError(await user.post('/feeds/import', { source: 'https://other.example' }), 405),
  'GET /feeds/import': async (user) => expectError(await user.get('/feeds/import'), 404),
  'DELETE /feeds/import': async (user) =>
    expectError(await user.send('DELETE', '/feeds/import'), 404),
  'POST /feeds/refresh': async (user) => {
    const sent = { guids: [foreignIds.guid] };
    expect((await user.post('/feeds/refresh', sent)).body).toEqual(sent);
  },
  'POST /feeds': async (user) =>
    expectError(await user.post('/feeds', { feeds: [{ feed_url: feed(1), title: 'x' }] }), 401),
  'GET /changes': async (user) => {
    const follower = await Follower.of(user, `/changes?since=${foreignIds.cursors.episodes}`);
    expect(follower.stamps).toEqual([(await user.subscriptions()).sync]);
    follower.leave();
  },
  'GET /capabilities': async (user) => {
    const { text } = await send('GET', '/capabilities');
    expect((await user.get('/capabilities')).text).toBe(text);
  },
  'POST /subscriptions': async (user) => {
    const headers = { 'idempotency-key': foreignIds.key };
    const subscriptions = [{ feed_url: feed(1), guid: foreignIds.guid }];
    const { body } = await user.post('/subscriptions', { subscriptions }, headers);
    expect(body).toMatchObject({ success: [{ guid: foreignIds.guid }], failure: [] });
    expect([(await user.subscriptions()).total, (await user.episodes()).total]).toEqual([2, 1]);
  },
  'GET /subscriptions.opml': async (user) => {
    const { text } = await user.get('/subscriptions.opml');
    expect(text.match(/xmlUrl="[^"]*"/g)).toEqual(['xmlUrl="https://feeds.example/of-bob.xml"']);
  },
  'POST /subscriptions/opml': async (user) => {
    const headers = { 'idempotency-key': foreignIds.key, 'content-type': 'text/x-opml' };
    const raw = `<opml><body><outline xmlUrl="${feed(1)}"/></body></opml>`;
    const { body } = await user.send('POST', '/subscriptions/opml', { raw, headers });
    expect(body).toMatchObject({ success: [{ feed_url: feed(1) }], failure: [] });
    expect([(await user.subscriptions()).total, (await user.episodes()).total]).toEqual([2, 1]);
  },
  'POST /episodes': async (user) => {
    await user.refused(episode(foreignIds.guid, 1, { sync_id: foreignIds.sync_id }));
    const [headers, episodes] = [
      { 'idempotency-key': foreignIds.key },
      [episode(bobs, 1, { sync_id: foreignIds.sync_id })],
    ];
    const { body } = await user.post('/episodes', { episodes }, headers);
    expect(body).toMatchObject({
      success: [{ sync_id: foreignIds.sync_id, podcast_guid: bobs }],
      failure: [],
    });
    expect((await user.episodes()).total).toBe(2);
  },
};

async function seesOwnListOnly(user: User, list: 'subscriptions' | 'episodes'): Promise<void> {
  const own = await user.get<Record<string, unknown>>(`/${list}`);
  const foreign = await user.get<Record<string, unknown>>(
    `/${list}?cursor=${encodeURIComponent(foreignIds.cursors[list])}`,
  );
  expect([foreign.status, foreign.body]).toEqual([200, own.body]);
  expect(foreign.headers.get('ignored-parameters')).toBe('cursor');
  expect(
    (await user.get(`/${list}?per_page=1`, { 'if-none-match': foreignIds.etags[list] })).status,
  ).toBe(200);
}

describe('a second user with ids, keys and ETags of the first gets 404 or nothing:', () => {
  test.each(Object.keys(calls))('%s', async (operation) => {
    await calls[operation]?.(bob as User);
    expect(await state(ann as User)).toEqual(before);
  });

  test('for every operation', async () => {
    const { body } = await send<{ paths: Record<string, Record<string, unknown>> }>(
      'GET',
      '/openapi.json',
    );
    const operations = Object.entries(body.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(operations.sort()).toEqual(Object.keys(calls).sort());
  });
});

test('a tampered cursor is ignored', async () => {
  const user = ann as User;
  const first = await user.get('/subscriptions?per_page=1');
  const cursor = foreignIds.cursors.subscriptions;
  for (const place of [0, 1, Math.floor(cursor.length / 2), cursor.length - 1]) {
    const letter = cursor[place] === 'A' ? 'B' : 'A';
    const tampered = cursor.slice(0, place) + letter + cursor.slice(place + 1);
    const answer = await user.get<SubscriptionPage>(
      `/subscriptions?per_page=1&cursor=${encodeURIComponent(tampered)}`,
    );
    const { subscriptions, page } = first.body as SubscriptionPage;
    expect(answer.body).toMatchObject({ subscriptions, page });
    expect(answer.headers.get('ignored-parameters')).toBe('cursor');
  }
});
