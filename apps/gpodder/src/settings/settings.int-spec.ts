import { randomUUID } from 'node:crypto';
import { podcastGuid } from '#contracts';
import type { AppProcess } from '#testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { GpodderWorld, type Person } from '../../testing/gpodder.world.js';

let world: GpodderWorld;
let gateway: Pick<AppProcess, 'facts'>;
let ann: Person;
beforeAll(async () => {
  world = await GpodderWorld.open();
  gateway = world.stack.app('gateway');
});
afterAll(() => world.close());
beforeEach(async () => {
  ann = await world.person();
});

const feed = 'https://a.example/feed';
const media = 'https://a.example/one.mp3';
const inScope = (scope: string, query = '') => `/api/2/settings/{u}/${scope}.json${query}`;
const episode = inScope(
  'episode',
  `?podcast=${encodeURIComponent(feed)}&episode=${encodeURIComponent(media)}`,
);
const podcast = inScope('podcast', `?podcast=${encodeURIComponent(feed)}`);
const set = async (path: string, body: unknown) => (await ann.ask(path, { body })).json();
/** Returns the feeds with any data of the person, subscribed or not. */
const known = () => world.knownFeeds(ann);
const read = async (path: string) => (await ann.ask(path)).json();
const favorites = () => read('/api/2/favorites/{u}.json');

describe('settings', () => {
  it.each([
    ['the account', inScope('account')],
    ['a podcast', podcast],
    ['an episode', episode],
  ])(
    'of %s are answered as a whole after each change: first set, then removed',
    async (_, path) => {
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
    },
  );

  it('of a device are there where the device is', async () => {
    const path = inScope('device', '?device=phone');
    expect((await ann.ask(path)).status).toBe(404);
    expect((await ann.ask(path, { body: { set: { a: 1 } } })).status).toBe(404);
    await ann.ask('/api/2/devices/{u}/phone.json', { body: {} });
    expect(await set(path, { set: { a: 1 } })).toEqual({ a: 1 });
  });

  it('make a podcast known without subscribing to it, and to read them makes nothing known', async () => {
    await read(podcast);
    await set(podcast, { set: { a: 1 } });
    expect((await ann.ask('/subscriptions/{u}.json')).json()).toEqual([]);
    await ann.ask('/api/2/subscriptions/{u}/phone.json', { body: { add: [feed], remove: [] } });
    expect(await read(podcast)).toEqual({ a: 1 });
  });

  it.each([
    ['a podcast', podcast],
    ['an episode', episode],
  ])(
    'of %s are there when the guid of the podcast has changed, and when another turned out to be the same',
    async (_, path) => {
      const other = 'https://b.example/feed';
      await ann.ask('/api/2/subscriptions/{u}/phone.json', {
        body: { add: [feed, other], remove: [] },
      });
      await set(path, { set: { a: 1 } });
      const device = await world.stack.device(gateway, ann.userId);
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
    },
  );

  it.each([
    ['no device', inScope('device'), { set: {} }],
    ['no podcast', inScope('podcast'), { set: {} }],
    ['no episode', podcast.replace('podcast.json', 'episode.json'), { set: {} }],
    ['a podcast that is none', inScope('podcast', '?podcast=x'), { set: {} }],
    ['no object', inScope('account'), []],
    ['a set that is none', inScope('account'), { set: [1] }],
    ['a remove that is none', inScope('account'), { remove: 'a' }],
    ['a body of more than 128 KiB', inScope('account'), `{"set":{}}${' '.repeat(131_072)}`],
    ['a favourite that is neither', episode, { set: { is_favorite: 1 } }],
  ])('are 400 with %s', async (_, path, body) => {
    expect((await ann.ask(path, { body })).status).toBe(400);
    expect(await read(inScope('account'))).toEqual({});
  });

  it('are 413 with more than 1,000 values', async () => {
    const { status } = await ann.ask(inScope('account'), {
      body: { set: { a: Array<number>(1_000).fill(0) } },
    });
    expect(status).toBe(413);
    expect(await read(inScope('account'))).toEqual({});
  });

  it.each([
    ['a podcast', podcast],
    ['an episode', episode],
  ])(
    'of %s that is unknown are none where they are only removed, and nothing is known by it',
    async (_, path) => {
      expect(await set(path, { remove: ['a', 'is_favorite'] })).toEqual({});
      expect(await set(path, { set: { a: 1 }, remove: ['a'] })).toEqual({});
      expect(await known()).toEqual([]);
      await set(path, { set: { a: 1 } });
      expect(await known()).toEqual([feed]);
    },
  );

  it('beyond a limit leave nothing behind: no podcast and no favourite', async () => {
    const body = { set: { is_favorite: true, other: 'x'.repeat(70_000) } };
    for (const path of [podcast, episode]) expect((await ann.ask(path, { body })).status).toBe(400);
    expect([await known(), await favorites()]).toEqual([[], []]);
  });

  it('are 404 in another scope', async () =>
    expect((await ann.ask(inScope('server'))).status).toBe(404));
});

describe('a favourite', () => {
  it('is set by the setting is_favorite, shown there and listed, until it is unset', async () => {
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

  it('ends where the setting is removed', async () => {
    await set(episode, { set: { is_favorite: true } });
    expect(await set(episode, { remove: ['is_favorite'] })).toEqual({ is_favorite: false });
    expect(await favorites()).toEqual([]);
  });
});
