import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { eventually } from './eventually.js';
import { expectError, send } from './http.js';
import { newGuid } from './samples.js';
import { token } from './stack.js';
import { User } from './user.js';

let platform: User;
beforeAll(async () => {
  platform = await User.fresh({ scope: 'write:feeds' });
});

const pushed = (feed_url: string) => ({
  feed_url,
  title: 'Mind & Matter',
  episodes: [{ episode_guid: '1', title: 'One', enclosure_url: `${feed_url}.mp3` }],
});

describe('pushed feeds', () => {
  test('reach the followers, podcast by podcast and as new episodes', async () => {
    const feed_url = `https://feeds.example/${randomUUID()}`;
    const ann = await User.fresh();
    const guid = await ann.subscribed(feed_url);
    const start = (await ann.get('/feeds')).headers.get('sync-timestamp') ?? '';
    expect((await platform.post('/v1/feeds', { feeds: [pushed(feed_url)] })).body).toEqual({
      success: [{ feed_url }],
      failure: [],
    });
    // For some seconds after the subscription, an answer hides whether others follow the feed.
    await eventually(async () => {
      for await (const page of ann.api.feeds())
        expect(page.feeds).toEqual([{ guid, feed_url, status: 'ok', title: 'Mind & Matter' }]);
    });
    const episode = {
      podcast_guid: guid,
      episode_guid: '1',
      title: 'One',
      enclosure_url: `${feed_url}.mp3`,
    };
    expect(await ann.api.feedEpisodes(guid)).toEqual({ episodes: [episode] });
    for await (const page of ann.api.newEpisodes(start)) {
      expect(page.episodes).toEqual([episode]);
      expect(Date.parse(page.syncTimestamp)).toBeGreaterThanOrEqual(Date.parse(start));
    }
    for await (const page of ann.api.feeds({ since: '2100-01-01T00:00:00Z' }))
      expect(page.feeds).toEqual([]);
    expect(await ann.api.refreshFeeds([guid])).toEqual({ guids: [guid] });
    // An episode of a feed is an entry.
    await ann.uploaded({
      ...episode,
      played_status: { value: true, timestamp: '2026-01-01T00:00' },
    });
  });

  test('need a token that names their scope', async () => {
    const body = { feeds: [pushed('https://feeds.example/scope')] };
    for (const scope of [undefined, 'write:subscriptions', 'read:subscriptions'])
      for (const path of ['/feeds', '/v1/feeds', '/feeds?x=1']) {
        const answer = await send('POST', path, { token: await token({ scope }), body });
        expectError(answer, 401);
        expect(answer.headers.get('www-authenticate')).toContain('scope="write:feeds"');
      }
    expectError(await platform.get('/feeds'), 401);
  });

  test('are refused one by one, or as a whole', async () => {
    const feeds = [{ feed_url: 'x' }, {}, null, pushed('https://feeds.example/one')];
    const { body } = await platform.post('/feeds', { feeds });
    expect(body).toMatchObject({
      success: [{ feed_url: 'https://feeds.example/one' }],
      failure: [{ feed_url: 'x', code: 'invalid_url' }, { feed_url: '' }, { feed_url: '' }],
    });
    const many = Array.from({ length: 501 }, () => ({}));
    for (const wrong of [{ feeds: many }, { feeds: {} }, {}, []])
      expectError(await platform.post('/feeds', wrong), 405);
  });
});

test('a preview of a feed for one listener is no request', async () => {
  const ann = await User.fresh();
  const preview = (feed_url: string) => ann.post('/feeds/preview', { feed_url });
  expect((await preview('https://ann:secret@feeds.example/')).body).toEqual({ status: 'private' });
  expectError(await preview('feeds.example'), 405);
});

describe('an import from another server', () => {
  test('that never started is 404', async () => {
    const ann = await User.fresh();
    expectError(await ann.get('/feeds/import'), 404);
    expectError(await ann.send('DELETE', '/feeds/import'), 404);
  });

  test.each([
    ['no address', { source: 'other' }],
    ['an address with a password', { source: 'https://ann:secret@other.example/' }],
    ['another scheme', { source: 'ftp://other.example/' }],
    ['no password', { password: '' }],
    ['a password of more than 256 bytes', { password: 'ä'.repeat(129) }],
    ['no name', { login: '' }],
    ['a NUL in the name', { login: 'ann\0' }],
  ])('with %s is 405', async (_, sent) => {
    const ann = await User.fresh();
    const body = { source: 'https://other.example/', login: 'ann', password: 'secret', ...sent };
    expectError(await ann.post('/feeds/import', body), 405);
  });
});

test('an unknown picture is 404 without a credential', async () => {
  expectError(await send('GET', `/feeds/artwork/${randomUUID()}`), 404);
});

describe('invalid parameters', () => {
  test('are named and ignored, except those that an operation needs', async () => {
    const ann = await User.fresh();
    const { status, headers } = await ann.get('/feeds?since=x&per_page=0&cursor=y');
    expect([status, headers.get('ignored-parameters')]).toEqual([200, 'since, per_page, cursor']);
    for (const path of ['', '?guid=x', `?guid=${newGuid()}&guid=${newGuid()}`, '?since=x'])
      expectError(await ann.get(`/feeds/episodes${path}`), 405);
    expectError(await ann.post('/feeds/refresh', { guids: ['x'] }), 405);
  });
});
