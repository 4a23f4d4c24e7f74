import { randomUUID } from 'node:crypto';
import { podcastGuid } from '#contracts';
import type { AppProcess } from '#testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { GpodderFixture, type GpodderUser } from '../../testing/gpodder.fixture.js';

let fixture: GpodderFixture;
let gateway: Pick<AppProcess, 'facts'>;
let ann: GpodderUser;
beforeAll(async () => {
  fixture = await GpodderFixture.open();
  gateway = fixture.stack.app('gateway');
});
afterAll(() => fixture.close());
beforeEach(async () => {
  ann = await fixture.user();
});

const feed = 'https://a.example/feed';
const media = 'https://a.example/one.mp3';
const inScope = (scope: string, query = '') => `/api/2/settings/{u}/${scope}.json${query}`;
const episode = inScope(
  'episode',
  `?podcast=${encodeURIComponent(feed)}&episode=${encodeURIComponent(media)}`,
);
const podcast = inScope('podcast', `?podcast=${encodeURIComponent(feed)}`);
const set = async (path: string, body: unknown) => (await ann.request(path, { body })).json();
const storedFeeds = () => fixture.storedFeeds(ann);
const read = async (path: string) => (await ann.request(path)).json();
const favorites = () => read('/api/2/favorites/{u}.json');

describe('settings', () => {
  it.each([
    ['the account', inScope('account')],
    ['a podcast', podcast],
    ['an episode', episode],
  ])('of %s are returned after each change, which sets and then removes', async (_, path) => {
    expect(await read(path)).toEqual({});
    expect(await set(path, { set: { a: null, b: { c: [1, 'x'] }, d: 1 } })).toEqual({
      a: null,
      b: { c: [1, 'x'] },
      d: 1,
    });
    expect(await set(path, { set: { e: true, d: 2 }, remove: ['d', 'nothing'] })).toEqual({
      a: null,
      b: { c: [1, 'x'] },
      e: true,
    });
    expect(await read(path)).toEqual({ a: null, b: { c: [1, 'x'] }, e: true });
  });

  it('of a device are 404 until the device exists', async () => {
    const path = inScope('device', '?device=phone');
    expect((await ann.request(path)).status).toBe(404);
    expect((await ann.request(path, { body: { set: { a: 1 } } })).status).toBe(404);
    await ann.request('/api/2/devices/{u}/phone.json', { body: {} });
    expect(await set(path, { set: { a: 1 } })).toEqual({ a: 1 });
  });

  it('create a podcast without subscribing to it; a read creates none', async () => {
    await read(podcast);
    await set(podcast, { set: { a: 1 } });
    expect((await ann.request('/subscriptions/{u}.json')).json()).toEqual([]);
    await ann.request('/api/2/subscriptions/{u}/phone.json', { body: { add: [feed], remove: [] } });
    expect(await read(podcast)).toEqual({ a: 1 });
  });

  it.each([
    ['a podcast', podcast],
    ['an episode', episode],
  ])('of %s stay after a new guid and after a merge of the podcast', async (_, path) => {
    const other = 'https://b.example/feed';
    await ann.request('/api/2/subscriptions/{u}/phone.json', {
      body: { add: [feed, other], remove: [] },
    });
    await set(path, { set: { a: 1 } });
    const device = await fixture.stack.device(gateway, ann.userId);
    const second = randomUUID();
    const changeGuid = async (guid: string, newGuid: string) => {
      const { status } = await device.send('PATCH', `/subscriptions/${guid}`, {
        body: { new_guid: newGuid },
      });
      expect(status).toBe(200);
    };
    await changeGuid(podcastGuid(feed), second);
    expect(await read(path)).toEqual({ a: 1 });
    await changeGuid(second, podcastGuid(other));
    expect(await set(path, { set: { b: 2 } })).toEqual({ a: 1, b: 2 });
    const byOther = path.replace(encodeURIComponent(feed), encodeURIComponent(other));
    expect(await read(byOther)).toEqual({ a: 1, b: 2 });
  });

  it.each([
    ['no device', inScope('device'), { set: {} }],
    ['no podcast', inScope('podcast'), { set: {} }],
    ['no episode', podcast.replace('podcast.json', 'episode.json'), { set: {} }],
    ['an invalid podcast', inScope('podcast', '?podcast=x'), { set: {} }],
    ['no object', inScope('account'), []],
    ['an invalid set', inScope('account'), { set: [1] }],
    ['an invalid remove', inScope('account'), { remove: 'a' }],
    ['a body of more than 128 KiB', inScope('account'), `{"set":{}}${' '.repeat(131_072)}`],
    ['a favourite that is no boolean', episode, { set: { is_favorite: 1 } }],
  ])('are 400 with %s', async (_, path, body) => {
    expect((await ann.request(path, { body })).status).toBe(400);
    expect(await read(inScope('account'))).toEqual({});
  });

  it('are 413 with more than 1,000 values', async () => {
    const { status } = await ann.request(inScope('account'), {
      body: { set: { a: Array<number>(1_000).fill(0) } },
    });
    expect(status).toBe(413);
    expect(await read(inScope('account'))).toEqual({});
  });

  it.each([
    ['a podcast', podcast],
    ['an episode', episode],
  ])(
    'of %s that does not exist are empty after a removal, which creates nothing',
    async (_, path) => {
      expect(await set(path, { remove: ['a', 'is_favorite'] })).toEqual({});
      expect(await set(path, { set: { a: 1 }, remove: ['a'] })).toEqual({});
      expect(await storedFeeds()).toEqual([]);
      await set(path, { set: { a: 1 } });
      expect(await storedFeeds()).toEqual([feed]);
    },
  );

  it('above a limit store nothing: no podcast and no favourite', async () => {
    const body = { set: { is_favorite: true, other: 'x'.repeat(70_000) } };
    for (const path of [podcast, episode])
      expect((await ann.request(path, { body })).status).toBe(400);
    expect([await storedFeeds(), await favorites()]).toEqual([[], []]);
  });

  it('are 404 in an unknown scope', async () =>
    expect((await ann.request(inScope('server'))).status).toBe(404));
});

describe('a favourite', () => {
  it('is set by the setting is_favorite, and listed until it is unset', async () => {
    expect(await favorites()).toEqual([]);
    expect(await set(episode, { set: { is_favorite: true, other: 1 } })).toEqual({
      is_favorite: true,
      other: 1,
    });
    expect(await favorites()).toEqual([
      {
        title: media,
        url: media,
        podcast_title: '',
        podcast_url: feed,
        description: '',
        website: '',
        released: '',
        mygpo_link: '',
      },
    ]);
    expect(await read(episode)).toEqual({ is_favorite: true, other: 1 });
    expect(await set(episode, { set: { is_favorite: false } })).toEqual({
      is_favorite: false,
      other: 1,
    });
    expect(await favorites()).toEqual([]);
  });

  it('ends with the removal of the setting', async () => {
    await set(episode, { set: { is_favorite: true } });
    expect(await set(episode, { remove: ['is_favorite'] })).toEqual({ is_favorite: false });
    expect(await favorites()).toEqual([]);
  });
});
