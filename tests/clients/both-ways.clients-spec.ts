import { randomUUID } from 'node:crypto';
import type { Device } from '#testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AntennaPod } from './testing/antennapod.js';
import { ClientsWorld } from './testing/clients.world.js';
import { FacadeUser } from './testing/facade.user.js';
import { episodeOf, type WebEpisode } from './testing/web.episodes.js';

let world: ClientsWorld;
/** The new app: the main API alone. */
let device: Device;
/** The old app, whose clock is the time of day. */
let phone: AntennaPod;
let user: FacadeUser;
let feed: string;
beforeAll(async () => {
  world = await ClientsWorld.open();
});
afterAll(() => world?.close());
beforeEach(async () => {
  const account = await world.account();
  const { name, password } = account;
  user = new FacadeUser(world.server, { ...account, password: await world.appPassword(account) });
  device = await world.device(account);
  phone = new AntennaPod({ server: world.server, user: name, password, deviceId: 'phone' }, 'gpodder.net');
  feed = `https://feeds.example/${randomUUID()}`;
  phone.subscribe(feed);
  await phone.sync();
});

/** The time of day some minutes ago, as RFC 3339 has it. */
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
type Row = Record<string, { value: unknown; timestamp: string } | undefined> & { sync_id: string };

async function guidOf(url: string): Promise<string> {
  const { body } = await device.send<{ subscriptions: { feed_url: string; guid: string }[] }>('GET', '/subscriptions');
  return body.subscriptions.find(({ feed_url }) => feed_url === url)?.guid ?? '';
}

/** An upload of the main API, of one episode with these statuses. */
async function post({ url, guid, feed: of }: WebEpisode, statuses: Record<string, unknown>): Promise<void> {
  const described = { title: 'An episode', publish_date: '2024-01-01T10:00:00Z', episode_url: `${url}.html` };
  const named = { podcast_guid: await guidOf(of), episode_guid: guid, enclosure_url: url };
  const answer = await device.send<{ failure: unknown[] }>('POST', '/episodes', {
    body: { episodes: [{ ...named, ...described, ...statuses }] },
  });
  expect([answer.status, answer.body.failure]).toEqual([200, []]);
}

async function rows(): Promise<Row[]> {
  return (await device.send<{ episodes: Row[] }>('GET', '/episodes')).body.episodes;
}

describe('an old app and a new one of the same person', () => {
  it('a position of the new app is there after the next sync of the old one', async () => {
    await post(episodeOf(feed, 1), { playback_position: { value: 300, timestamp: ago(2) } });
    await phone.sync();
    expect(phone.at(episodeOf(feed, 1))).toEqual({ position: 300, isPlayed: false });
  });

  it('a position of the old app is there for the next poll of the new one', async () => {
    phone.play(episodeOf(feed, 1), 300);
    await phone.sync();
    expect(await rows()).toMatchObject([{ enclosure_url: episodeOf(feed, 1).url, playback_position: { value: 300 } }]);
  });

  it('never older over newer, whoever comes later', async () => {
    await post(episodeOf(feed, 1), { playback_position: { value: 300, timestamp: ago(10) } });
    await user.upload(old(episodeOf(feed, 1), 100, ago(20)));
    expect(await rows()).toMatchObject([{ playback_position: { value: 300 } }]);
    await user.upload(old(episodeOf(feed, 1), 400, ago(5)));
    expect(await rows()).toMatchObject([{ playback_position: { value: 400 } }]);
    await post(episodeOf(feed, 1), { playback_position: { value: 200, timestamp: ago(15) } });
    expect(await rows()).toMatchObject([{ playback_position: { value: 400 } }]);
    await phone.sync();
    expect(phone.at(episodeOf(feed, 1))).toEqual({ position: 400, isPlayed: false });
  });

  it('what the new app marks as played is played at the old one, and the other way', async () => {
    await post(episodeOf(feed, 1), { played_status: { value: true, timestamp: ago(2) }, duration: 1_800 });
    await phone.sync();
    expect(phone.at(episodeOf(feed, 1))).toEqual({ position: 0, isPlayed: true });
    phone.play(episodeOf(feed, 2), 1_800);
    await phone.sync();
    const played = (await rows()).find((row) => String(row['enclosure_url']) === episodeOf(feed, 2).url);
    expect(played).toMatchObject({ played_status: { value: true }, new_status: { value: false } });
  });

  it('one episode, though one app names it by its URL and the other by its guid', async () => {
    const { url, guid } = episodeOf(feed, 1);
    await post(episodeOf(feed, 1), { playback_position: { value: 300, timestamp: ago(10) } });
    await user.upload({ ...old(episodeOf(feed, 1), 400, ago(5)), guid: undefined });
    await user.upload({ ...old(episodeOf(feed, 1), 500, ago(4)), guid, episode: `${url}?tracked` });
    expect(await rows()).toMatchObject([{ episode_guid: guid, playback_position: { value: 500 } }]);
  });

  it('subscriptions go both ways', async () => {
    const other = `https://feeds.example/${randomUUID()}`;
    await device.send('POST', '/subscriptions', { body: { subscriptions: [{ feed_url: other }] } });
    await phone.sync();
    expect([...phone.feeds].toSorted()).toEqual([feed, other].toSorted());
    await device.send('PATCH', `/subscriptions/${await guidOf(feed)}`, { body: { is_subscribed: false } });
    await phone.sync();
    expect([...phone.feeds]).toEqual([other]);
    phone.unsubscribe(other);
    await phone.sync();
    const { body } = await device.send<{ subscriptions: { is_subscribed: boolean }[] }>('GET', '/subscriptions');
    expect(body.subscriptions.map(({ is_subscribed }) => is_subscribed)).toEqual([false, false]);
  });

  it('a subscription that the new app deletes is removed at the old one, and an add brings it back', async () => {
    await device.send('DELETE', `/subscriptions/${await guidOf(feed)}`);
    await expect.poll(async () => (await user.delta('laptop')).add, { timeout: 60_000 }).toEqual([]);
    await phone.sync();
    expect([...phone.feeds]).toEqual([]);
    phone.subscribe(feed);
    await phone.sync();
    expect((await user.delta('laptop')).add).toEqual([feed]);
  });

  it('the old app polls with what the new one has written meanwhile, over and over, and both agree', async () => {
    for (let round = 1; round <= 10; round++) {
      await post(episodeOf(feed, 1), { playback_position: { value: round * 10, timestamp: ago(60 - round) } });
      phone.act(episodeOf(feed, 2), 'play', round * 10);
      await phone.sync();
    }
    await phone.sync();
    expect(phone.at(episodeOf(feed, 1))).toEqual({ position: 100, isPlayed: false });
    const positions = (await rows()).map((row) => [row['enclosure_url'], row['playback_position']?.value]);
    expect(positions).toEqual(
      expect.arrayContaining([
        [episodeOf(feed, 1).url, 100],
        [episodeOf(feed, 2).url, 100],
      ]),
    );
  });
});

/** An action of an old app. */
function old({ feed: podcast, url, guid, seconds }: WebEpisode, position: number, at: string) {
  return {
    podcast,
    episode: url,
    guid,
    action: 'play',
    started: 0,
    position,
    total: seconds,
    timestamp: at.slice(0, 19),
  };
}
