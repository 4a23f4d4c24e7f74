import { beforeAll, describe, expect, test } from 'vitest';
import { type Answer, expectError, send } from './http.js';
import type { EpisodePage, UploadAnswer } from './interface.js';
import { episode, feed, newGuid, numbers } from './samples.js';
import { User } from './user.js';

describe('the order of checks', () => {
  test('the credential precedes path, query and body', async () => {
    for (const path of [
      '/nothing',
      '/subscriptions/%zz',
      '/subscriptions/no-guid',
      '/deletions/x',
      '/subscriptions?page=x',
    ])
      expectError(await send('GET', path), 401);
    expectError(await send('PUT', '/subscriptions', { raw: '{' }), 401);
    expectError(await send('POST', '/subscriptions', { raw: '{' }), 401);
    expectError(
      await send('POST', '/episodes', { raw: 'x', headers: { 'content-type': 'text/plain' } }),
      401,
    );
  });

  test('the input precedes existence', async () => {
    const ann = await User.fresh();
    expectError(await ann.patch(`/subscriptions/${newGuid()}`, {}), 405);
    expectError(await ann.patch(`/subscriptions/${newGuid()}`, { is_subscribed: true }), 404);
    expectError(await ann.patch('/subscriptions/no-guid', { is_subscribed: true }), 405);
  });

  test('the input also precedes 410', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed();
    await ann.deleted(guid);
    expectError(await ann.patch(`/subscriptions/${guid}`, { is_subscribed: 1 }), 405);
    expectError(await ann.get(`/subscriptions/${guid}x`), 405);
    expectError(await ann.get(`/subscriptions/${guid}`), 410);
  });
});

describe('an unknown route is 404:', () => {
  test.each([
    '/v1',
    '/v1/',
    '/v2/subscriptions',
    '/subscription',
    '/deletions',
    '/subscriptions/a/b',
    '/episodes/1',
  ])('%s', async (path) => {
    const ann = await User.fresh();
    expectError(await ann.get(path), 404);
    expectError(await ann.post(path, {}), 404);
  });
});

describe('a wrong method on an existing path is 405 with Allow:', () => {
  const guid = newGuid();
  test.each([
    ['PUT', '/subscriptions', ['GET', 'HEAD', 'POST']],
    ['DELETE', '/subscriptions', ['GET', 'HEAD', 'POST']],
    ['PATCH', '/episodes', ['GET', 'HEAD', 'POST']],
    ['PUT', `/subscriptions/${guid}`, ['DELETE', 'GET', 'HEAD', 'PATCH']],
    ['POST', `/subscriptions/${guid}`, ['DELETE', 'GET', 'HEAD', 'PATCH']],
    ['POST', '/deletions/1', ['GET', 'HEAD']],
    ['DELETE', '/v1/deletions/1', ['GET', 'HEAD']],
    ['OPTIONS', '/v1/episodes', ['GET', 'HEAD', 'POST']],
    ['PUT', '/%65pisodes', ['GET', 'HEAD', 'POST']],
    ['PROPFIND', '/episodes', ['GET', 'HEAD', 'POST']],
    ['QUERY', '/subscriptions', ['GET', 'HEAD', 'POST']],
    ['POST', '/openapi.json', ['GET', 'HEAD']],
    ['DELETE', '/.well-known/jwks.json', ['GET', 'HEAD']],
  ])('%s %s', async (method, path, allowed) => {
    const answer = await (await User.fresh()).send(method, path);
    expectError(answer, 405);
    const allow = (answer.headers.get('allow') ?? '')
      .split(', ')
      .filter((name) => name !== 'OPTIONS');
    expect(allow.sort()).toEqual(allowed);
  });
});

describe('HEAD', () => {
  test('has the answer of GET without a body', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed();
    const id = await ann.requestDeletion(await ann.subscribed(feed(2)));
    await ann.ended(id);
    const lists = ['/subscriptions', '/episodes', '/subscriptions?page=x'];
    for (const path of [
      ...lists,
      `/subscriptions/${guid}`,
      `/deletions/${id}`,
      '/openapi.json',
      '/docs',
    ]) {
      const [get, head] = [await ann.get(path), await ann.send('HEAD', path)];
      expect([head.status, head.text]).toEqual([200, '']);
      for (const name of [
        'content-type',
        'cache-control',
        'etag',
        'sync-timestamp',
        'ignored-parameters',
      ])
        expect(head.headers.get(name)).toBe(get.headers.get(name));
    }
  });

  test('has the status of GET for errors', async () => {
    const ann = await User.fresh();
    expect((await ann.send('HEAD', `/subscriptions/${newGuid()}`)).status).toBe(404);
    expect((await ann.send('HEAD', '/deletions/x')).status).toBe(405);
    expect((await ann.send('HEAD', '/nothing')).status).toBe(404);
    expect((await send('HEAD', '/subscriptions')).status).toBe(401);
  });
});

describe('a path with an invalid encoding is 405:', () => {
  test.each([
    '/subscriptions/%zz',
    '/subscriptions/%',
    '/subscriptions/%ff%fe',
    '/deletions/%c3%28',
    '/v1/subscriptions/%80',
    '/subscriptions/%ed%a0%80',
    '/nothing/%ff',
    '/%zz',
  ])('%s', async (path) => expectError(await (await User.fresh()).get(path), 405));
});

describe('the body of a request', () => {
  test.each([
    ['another content type', 'text/plain', '{"subscriptions":[]}'],
    ['a content type that ends like JSON', 'application/vnd.api+json', '{"subscriptions":[]}'],
    ['a form', 'application/x-www-form-urlencoded', 'subscriptions='],
    ['JSON that is cut off', 'application/json', '{"subscriptions":['],
    ['empty', 'application/json', ''],
    ['no object', 'application/json', '[]'],
    ['null', 'application/json', 'null'],
    ['no list of entries', 'application/json', '{"subscriptions":{}}'],
    ['another name', 'application/json', '{"podcasts":[]}'],
  ])('that is %s is 405', async (_, type, raw) => {
    const ann = await User.fresh();
    expectError(
      await ann.send('POST', '/subscriptions', { raw, headers: { 'content-type': type } }),
      405,
    );
    expectError(
      await ann.send('POST', '/episodes', { raw, headers: { 'content-type': type } }),
      405,
    );
  });

  test('of another content type is also 405 for PATCH and DELETE', async () => {
    const ann = await User.fresh();
    const path = `/subscriptions/${await ann.subscribed()}`;
    const other = { raw: '{"is_subscribed":false}', headers: { 'content-type': 'text/plain' } };
    expectError(await ann.send('PATCH', path, other), 405);
    expectError(await ann.send('DELETE', path, other), 405);
    expect((await ann.get(path)).body).toMatchObject({ is_subscribed: true });
  });

  test('that is missing is 405', async () => {
    const ann = await User.fresh();
    expectError(await ann.send('POST', '/subscriptions'), 405);
    expectError(await ann.send('PATCH', `/subscriptions/${newGuid()}`), 405);
  });

  test('with invalid UTF-8 is 405', async () => {
    const ann = await User.fresh();
    const raw = new Uint8Array(
      Buffer.from('{"subscriptions":[{"feed_url":"https://a.example/\xff"}]}', 'latin1'),
    );
    expectError(await ann.send('POST', '/subscriptions', { raw }), 405);
  });

  test.each(['application/json; charset=utf-8', 'Application/JSON'])(
    'can have the content type %s',
    async (type) => {
      const ann = await User.fresh();
      const headers = { 'content-type': type };
      expect((await ann.post('/subscriptions', { subscriptions: [] }, headers)).status).toBe(200);
    },
  );

  test('can be empty of changes', async () => {
    const ann = await User.fresh();
    expect((await ann.post('/subscriptions', { subscriptions: [] })).body).toEqual({
      success: [],
      failure: [],
    });
    expect((await ann.post('/episodes', { episodes: [] })).body).toEqual({
      success: [],
      failure: [],
    });
  });
});

describe('limits of a batch', () => {
  const subscriptions = (count: number) => numbers(count).map((n) => ({ feed_url: feed(n) }));

  test('allow 1,000 subscriptions and 250 episodes', async () => {
    const ann = await User.fresh();
    expect(await ann.subscribe(...subscriptions(1_000))).toHaveLength(1_000);
    expect((await ann.subscriptions({ per_page: 1 })).total).toBe(1_000);
    const guid = await ann.subscribed();
    expect(await ann.upload(...numbers(250).map((n) => episode(guid, n)))).toHaveLength(250);
    expect((await ann.episodes({ per_page: 1 })).total).toBe(250);
  });

  test('reject one more with 405 and without effect', async () => {
    const ann = await User.fresh();
    expectError(await ann.post('/subscriptions', { subscriptions: subscriptions(1_001) }), 405);
    expect((await ann.subscriptions()).total).toBe(0);
    const guid = await ann.subscribed();
    expectError(
      await ann.post('/episodes', { episodes: numbers(251).map((n) => episode(guid, n)) }),
      405,
    );
    expect((await ann.episodes()).total).toBe(0);
  });

  test('allow 2 MiB and reject one byte more with 413', async () => {
    const ann = await User.fresh();
    const body = (bytes: number) => '{"subscriptions":[]}'.padEnd(bytes, ' ');
    expect((await ann.send('POST', '/subscriptions', { raw: body(2_097_152) })).status).toBe(200);
    expectError(await ann.send('POST', '/subscriptions', { raw: body(2_097_153) }), 413);
  });
});

describe('null counts as not sent', () => {
  test('in every field of an entry of POST /episodes, and of its statuses', async () => {
    const ann = await User.fresh();
    const podcast_guid = await ann.subscribed();
    const status = <Value>(value: Value) => ({ value, timestamp: '2023-02-23T14:00' });
    const made = await ann.uploaded(
      episode(podcast_guid, 1, {
        playback_position: status(1),
        played_status: status(true),
        new_status: status(false),
        download_status: status(true),
        favorite_status: status(true),
      }),
    );
    const { sync_id } = made;
    for (const nothing of [
      null,
      { value: null, timestamp: null },
      { timestamp: '2024-01-01T00:00' },
    ]) {
      const names = Object.keys({ ...made, temporary_id: 1 });
      const nulls = Object.fromEntries(
        names.map((name) => [name, /_(status|position)$/.test(name) ? nothing : null]),
      );
      const { body } = await ann.post('/episodes', {
        episodes: [{ ...nulls, podcast_guid, sync_id }],
      });
      expect(body).toEqual({ success: [made], failure: [] });
    }
  });

  test('instead of the entries, or in feed_url, is 405 as they are missing', async () => {
    const ann = await User.fresh();
    expectError(await ann.post('/subscriptions', { subscriptions: null }), 405);
    expectError(await ann.post('/subscriptions', { subscriptions: [{ feed_url: null }] }), 405);
    expectError(await ann.post('/episodes', { episodes: null }), 405);
  });
});

describe('an answer has at most 4 MiB', () => {
  let ann: User;
  let syncIds: string[];
  let podcast_guid: string;
  beforeAll(async () => {
    ann = await User.fresh();
    podcast_guid = await ann.subscribed();
    // Texts at their limits, of characters that JSON makes longer.
    const large = (n: number) =>
      episode(podcast_guid, n, {
        episode_guid: `${n}${'\u0001'.repeat(2_000)}`,
        enclosure_url: `https://a.example/${n}${'"'.repeat(4_000)}`,
      });
    syncIds = [];
    for (const part of numbers(5)) {
      const made = await ann.upload(...numbers(50).map((n) => large(part * 100 + n)));
      syncIds.push(...made.map(({ sync_id }) => sync_id));
    }
  });
  const expectWithin = ({ text }: Answer) =>
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4 * 1_024 * 1_024);

  test('of an upload: further entries fail with limit_reached', async () => {
    const episodes = syncIds.map((sync_id) => ({ podcast_guid, sync_id }));
    const answer = await ann.post<UploadAnswer>('/episodes', { episodes });
    const { success, failure } = answer.body;
    expect([answer.status, success.length + failure.length]).toEqual([200, 250]);
    expect(success.length).toBeGreaterThan(100);
    expect(new Set(failure.map(({ code }) => code))).toEqual(new Set(['limit_reached']));
    expectWithin(answer);
  });

  test('of a list: the page is shorter, and `next` continues after it', async () => {
    const seen: string[] = [];
    let pages = 0;
    for (let link: string | undefined = '/episodes?per_page=250'; link !== undefined; pages += 1) {
      const answer: Answer<EpisodePage> = await ann.get<EpisodePage>(link);
      expectWithin(answer);
      seen.push(...answer.body.episodes.map(({ sync_id }) => sync_id));
      link = answer.body.next;
    }
    expect([pages > 1, seen]).toEqual([true, syncIds]);
  });
});
