import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ClientsWorld } from './testing/clients.world.js';
import { FacadeUser } from './testing/facade.user.js';
import { exchange } from './testing/http.exchange.js';
import { plainTime } from './testing/web.episodes.js';

let world: ClientsWorld;
let user: FacadeUser;
let feed: string;
let other: string;
beforeAll(async () => {
  world = await ClientsWorld.open();
});
afterAll(() => world?.close());
beforeEach(async () => {
  user = new FacadeUser(world.server, await world.account());
  [feed, other] = [`https://feeds.example/${randomUUID()}`, `https://feeds.example/${randomUUID()}`];
});

const play = (position: number, timestamp: string, more: object = {}) => ({
  podcast: feed,
  episode: `${feed}/1.mp3`,
  action: 'play',
  started: 0,
  position,
  total: 1_800,
  timestamp,
  ...more,
});

/** Where today's servers differ from each other, what this one does. */
describe('beside mygpo, oPodSync and nextcloud-gpodder', () => {
  it('an add on one device is there for another one at since 0', async () => {
    await user.change('phone', [feed]);
    expect(await user.delta('laptop')).toMatchObject({ add: [feed], remove: [] });
  });

  it('one bad URL in a batch is repaired and reported, or reported as unusable; the rest is applied', async () => {
    const [repaired, unusable] = [` feed:${feed}`, 'mailto:somebody@feeds.example'];
    const { update_urls } = await user.change('phone', [repaired, unusable, other]);
    expect(update_urls.toSorted()).toEqual(
      [
        [repaired, feed],
        [unusable, ''],
      ].toSorted(),
    );
    expect((await user.delta('phone')).add.toSorted()).toEqual([feed, other].toSorted());
  });

  it('the same URL in add and remove is 400, and nothing is applied', async () => {
    const path = `/api/2/subscriptions/${user.account.name}/phone.json`;
    expect((await user.send('POST', path, { add: [feed, other], remove: [feed] })).status).toBe(400);
    expect(await user.delta('phone')).toMatchObject({ add: [], remove: [] });
  });

  it('a removed feed is in no simple list', async () => {
    await user.change('phone', [feed, other]);
    await user.change('phone', [], [feed]);
    for (const path of [user.account.name, `${user.account.name}/phone`])
      for (const format of ['opml', 'json', 'txt']) {
        const { status, text } = await user.send('GET', `/subscriptions/${path}.${format}`);
        expect([status, text.includes(other), text.includes(feed)]).toEqual([200, true, false]);
      }
  });

  it('a late offline action with an old time reaches those who have polled since', async () => {
    await user.change('phone', [feed]);
    const { timestamp } = await user.actions();
    const polled = await user.actions(`since=${timestamp}`);
    await user.upload(play(300, '2019-01-01T10:00:00'));
    const { actions } = await user.actions(`since=${polled.timestamp}`);
    expect(actions).toMatchObject([{ action: 'play', position: 300, timestamp: '2019-01-01T10:00:00' }]);
  });

  it('the same upload twice is one row, and no news for anybody', async () => {
    await user.upload(play(300, '2024-01-01T10:00:00'));
    const first = await user.actions();
    await user.upload(play(300, '2024-01-01T10:00:00'));
    expect(await user.actions(`since=${first.timestamp}`)).toEqual({ actions: [], timestamp: first.timestamp });
    expect((await user.actions()).actions).toHaveLength(1);
  });

  it('an older action after a newer one is ignored', async () => {
    await user.upload(play(300, '2024-01-01T10:00:00'));
    await user.upload(play(100, '2024-01-01T09:00:00'));
    expect((await user.actions()).actions).toMatchObject([{ position: 300 }]);
  });

  it("another user's path is 400", async () => {
    const stranger = await world.account();
    for (const path of [
      `subscriptions/${stranger.name}/phone`,
      `episodes/${stranger.name}`,
      `devices/${stranger.name}`,
    ])
      expect((await user.send('GET', `/api/2/${path}.json?since=0`)).status).toBe(400);
  });

  it('an invalid action in a batch is skipped, and the rest is stored', async () => {
    const at = '2024-01-01T10:00:00';
    const invalid = [
      null,
      7,
      'text',
      {},
      { podcast: feed },
      play(1, at, { action: 'flattr' }),
      play(1, at, { podcast: 'x:' }),
    ];
    await user.upload(...invalid, play(300, at, { device: 'not a / good id' }));
    expect((await user.actions()).actions).toMatchObject([{ position: 300 }]);
  });

  it('no credentials: 401, and Basic alone', async () => {
    for (const path of [`/api/2/episodes/${user.account.name}.json`, '/index.php/apps/gpoddersync/subscriptions']) {
      const { status, headers } = await exchange({ method: 'GET', url: world.server + path });
      expect([status, headers['www-authenticate']]).toEqual([401, 'Basic realm="Podcast Sync"']);
    }
  });

  it('a huge history at since 0: one row an episode, all of them, streamed', async () => {
    const episodes = Array.from({ length: 2_500 }, (_, number) => `${feed}/${number}.mp3`);
    for (const minute of [1, 2]) {
      const at = plainTime(Date.now() - 3_600_000 + minute * 60_000);
      await user.upload(...episodes.map((episode) => play(100 * minute, at, { episode })));
    }
    const { headers, text } = await user.send('GET', `/api/2/episodes/${user.account.name}.json?since=0`);
    const { actions } = JSON.parse(text) as { actions: { episode: string; position: number }[] };
    expect(headers['transfer-encoding']).toBe('chunked');
    expect(new Set(actions.map(({ episode }) => episode))).toEqual(new Set(episodes));
    expect(actions).toHaveLength(episodes.length);
    expect(actions.every(({ position }) => position === 200)).toBe(true);
  });

  it('a feed that moved is one subscription: its old URL works, and is reported with the new one', async () => {
    await user.change('phone', [feed]);
    const { timestamp } = await user.delta('phone');
    const device = await world.device(user.account);
    const { body } = await device.send<{ subscriptions: { guid: string }[] }>('GET', '/subscriptions');
    const path = `/subscriptions/${body.subscriptions[0]?.guid}`;
    expect((await device.send('PATCH', path, { body: { new_feed_url: other } })).status).toBe(200);
    expect(await user.delta('phone', timestamp)).toMatchObject({ add: [], remove: [] });
    expect((await user.change('phone', [feed])).update_urls).toEqual([[feed, other]]);
    expect((await user.upload(play(300, '2024-01-01T10:00:00'))).update_urls).toEqual([[feed, other]]);
    expect((await user.actions()).actions).toMatchObject([{ podcast: other, position: 300 }]);
    expect((await user.delta('laptop')).add).toEqual([other]);
  });
});
