import { randomUUID } from 'node:crypto';
import { eventually } from '#testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AntennaPod } from './testing/antennapod.js';
import { Cardo } from './testing/cardo.js';
import { type Account, ClientsWorld } from './testing/clients.world.js';
import { GnomePodcasts } from './testing/gnome.podcasts.js';
import { Kasts } from './testing/kasts.js';
import type { Library } from './testing/listening.js';
import { beginLogin, type TokenForm } from './testing/login.flow.js';
import { MusicAssistant } from './testing/music.assistant.js';
import { episodeOf } from './testing/web.episodes.js';

/** An app that keeps a library. */
type App = Library & { sync(): Promise<void> };

let world: ClientsWorld;
let account: Account;
let feed: string;
let other: string;
beforeAll(async () => {
  world = await ClientsWorld.open();
});
afterAll(() => world?.close());
beforeEach(async () => {
  account = await world.account();
  [feed, other] = [`https://feeds.example/${randomUUID()}`, `https://feeds.example/${randomUUID()}`];
});

/** An app of the person, with an app password of its own. */
const settings = async () => ({
  server: world.server,
  user: account.name,
  password: await world.appPassword(account),
});
const apps: Readonly<Record<string, (now?: () => number) => Promise<App>>> = {
  'AntennaPod, v2': async (now) => new AntennaPod({ ...(await settings()), deviceId: 'phone' }, 'gpodder.net', now),
  'AntennaPod, Nextcloud': async (now) => new AntennaPod({ ...(await settings()), deviceId: '' }, 'nextcloud', now),
  'Kasts, v2': async (now) => new Kasts({ ...(await settings()), device: 'desktop', variant: 'gpodder.net' }, now),
  'Kasts, Nextcloud': async (now) => new Kasts({ ...(await settings()), device: '', variant: 'nextcloud' }, now),
  'Cardo, v2': async (now) => new Cardo({ ...(await settings()), variant: 'gpodder' }, now),
  'Cardo, Nextcloud': async (now) => new Cardo({ ...(await settings()), variant: 'nextcloud' }, now),
  'GNOME Podcasts': async (now) => new GnomePodcasts(await settings(), now),
};
const names = Object.keys(apps);
const start = (name: string, now?: () => number) => (apps[name] as (typeof apps)[string])(now);

/** Clocks that are a minute apart, as devices are used one after another; the later actions are newer. */
const minutes = (count: number) => () => Date.now() - 3_600_000 + count * 60_000;

describe.each(names)('%s', (name) => {
  it('first sync: its list and what it has played are there, and it loses nothing', async () => {
    const app = await start(name);
    app.subscribe(feed, other);
    app.play(episodeOf(feed, 1), 300);
    app.play(episodeOf(feed, 2), 1_800);
    await app.sync();
    expect([...app.feeds].toSorted()).toEqual([feed, other].toSorted());
    const device = await world.device(account);
    const { body } = await device.send<{ subscriptions: unknown[] }>('GET', '/subscriptions');
    expect(body.subscriptions).toHaveLength(2);
    const episodes = await device.send<{ episodes: Record<string, { value: unknown }>[] }>('GET', '/episodes');
    const shown = episodes.body.episodes.map((row) => [
      row['enclosure_url'],
      row['playback_position']?.value,
      row['played_status']?.value,
    ]);
    expect(shown).toEqual(
      expect.arrayContaining([
        [episodeOf(feed, 1).url, 300, undefined],
        [episodeOf(feed, 2).url, 0, true],
      ]),
    );
  });

  it.each(names)('and %s: a new feed and a position go over', async (second) => {
    const [from, to] = [await start(name, minutes(1)), await start(second, minutes(2))];
    await to.sync();
    from.subscribe(feed);
    from.play(episodeOf(feed, 1), 300);
    await from.sync();
    await to.sync();
    // An app that had to fetch a feed first knows its episodes from now on: GNOME's and Cardo's quick sync miss them.
    expect([...to.feeds]).toEqual([feed]);
    expect(to.at(episodeOf(feed, 1))).toEqual({ position: 300, isPlayed: false });
    to.play(episodeOf(feed, 1), 600);
    await to.sync();
    await from.sync();
    expect(from.at(episodeOf(feed, 1))).toEqual({ position: 600, isPlayed: false });
    to.unsubscribe(feed);
    await to.sync();
    await from.sync();
    expect([...from.feeds]).toEqual([]);
  });

  it('what is played to its end at one device is played at the other', async () => {
    const [from, to] = [await start(name, minutes(1)), await start('AntennaPod, v2', minutes(2))];
    for (const app of [from, to]) {
      app.subscribe(feed);
      await app.sync();
    }
    from.play(episodeOf(feed, 1), 1_800);
    await from.sync();
    await to.sync();
    expect(to.at(episodeOf(feed, 1))).toEqual({ position: 0, isPlayed: true });
  });

  it('150 actions', async () => {
    const app = await start(name);
    const feeds = Array.from({ length: 50 }, () => `https://feeds.example/${randomUUID()}`);
    app.subscribe(...feeds);
    for (const url of feeds) for (const number of [1, 2, 3]) app.play(episodeOf(url, number), 100 + number);
    await app.sync();
    const device = await world.device(account);
    expect((await device.send<{ total: number }>('GET', '/episodes')).body.total).toBe(150);
    const reader = await start('AntennaPod, v2');
    await reader.sync();
    for (const url of feeds) expect(reader.at(episodeOf(url, 3))).toEqual({ position: 103, isPlayed: false });
  });

  it('an empty sync writes nothing and moves no timestamp', async () => {
    const app = await start(name);
    app.subscribe(feed);
    const clock = () => world.rows('SELECT * FROM sync.user_clock WHERE user_id = $1', [account.id]);
    // Once the time of day has passed the user's clock, which a burst of writes moves ahead of it.
    await eventually(async () => {
      const before = await clock();
      await app.sync();
      expect(await clock()).toEqual(before);
    });
  });

  it('with a clock that is two hours fast, or slow, misses nothing that others do', async () => {
    for (const off of [7_200_000, -7_200_000]) {
      const [app, elsewhere] = [await start(name, () => Date.now() + off), await start('AntennaPod, v2', minutes(50))];
      const own = `https://feeds.example/${randomUUID()}`;
      app.subscribe(own);
      await app.sync();
      await elsewhere.sync();
      await elsewhere.sync();
      elsewhere.play(episodeOf(own, 1), 300);
      await elsewhere.sync();
      await app.sync();
      expect(app.at(episodeOf(own, 1))).toEqual({ position: 300, isPlayed: false });
    }
  });
});

describe('AntennaPod', () => {
  it.each(['v2', 'Nextcloud'])(
    '%s: what it adds anew stands, though it was dropped elsewhere meanwhile',
    async (variant) => {
      const [app, elsewhere] = [await start(`AntennaPod, ${variant}`), await start('Kasts, v2')];
      app.subscribe(feed);
      await app.sync();
      await elsewhere.sync();
      elsewhere.unsubscribe(feed);
      await elsewhere.sync();
      app.unsubscribe(feed);
      app.subscribe(feed);
      await app.sync();
      await elsewhere.sync();
      for (const { feeds } of [app, elsewhere]) expect([...feeds]).toEqual([feed]);
    },
  );

  it('has only its cookie after the login, and a new one when it is started anew', async () => {
    const app = new AntennaPod({ ...(await settings()), deviceId: 'phone' }, 'gpodder.net');
    app.subscribe(feed);
    await app.sync();
    app.restart();
    app.subscribe(other);
    await app.sync();
    expect(app.lastSubscriptionSync).toBeGreaterThan(0);
    const reader = await start('Kasts, v2');
    await reader.sync();
    expect([...reader.feeds].toSorted()).toEqual([feed, other].toSorted());
  });

  it('sends what is of a local folder for ever if it is refused, so it is not', async () => {
    const app = await start('AntennaPod, v2');
    app.subscribe(feed, 'antennapod_local:content://a/folder');
    app.play(episodeOf('antennapod_local:content://a/folder', 1), 300);
    app.play(episodeOf(feed, 1), 300);
    await app.sync();
    expect(app.actions).toEqual([]);
    const reader = await start('Kasts, v2');
    await reader.sync();
    expect([...reader.feeds]).toEqual([feed]);
  });
});

describe('Kasts', () => {
  it('signs in by its devices, links them all, and out again', async () => {
    const phone = await start('AntennaPod, v2');
    phone.subscribe(feed);
    await phone.sync();
    const kasts = new Kasts({ ...(await settings()), device: 'desktop', variant: 'gpodder.net' });
    await kasts.signIn();
    const rows = () => world.rows('SELECT * FROM subscription.subscriptions WHERE user_id = $1', [account.id]);
    const before = await rows();
    await kasts.linkDevices();
    // It gives every device the union of all lists, which is no change.
    expect(await rows()).toEqual(before);
    await kasts.sync();
    expect([...kasts.feeds]).toEqual([feed]);
    await kasts.signOut();
  });

  it('never moves beyond the truth by the second that it adds', async () => {
    const [kasts, phone] = [(await start('Kasts, v2', minutes(2))) as Kasts, await start('AntennaPod, v2', minutes(3))];
    kasts.subscribe(feed);
    await kasts.sync();
    await phone.sync();
    await eventually(async () => {
      const timestamps = { ...kasts.timestamps };
      await kasts.sync();
      expect(kasts.timestamps).toEqual(timestamps);
    });
    phone.play(episodeOf(feed, 1), 300);
    phone.subscribe(other);
    await phone.sync();
    await kasts.sync();
    expect([...kasts.feeds].toSorted()).toEqual([feed, other].toSorted());
    expect(kasts.at(episodeOf(feed, 1))).toEqual({ position: 300, isPlayed: false });
  });

  it('uploads quickly on pause, and misses nothing of others for it', async () => {
    const [kasts, phone] = [(await start('Kasts, v2', minutes(5))) as Kasts, await start('AntennaPod, v2', minutes(3))];
    kasts.subscribe(feed);
    await kasts.sync();
    await phone.sync();
    phone.play(episodeOf(feed, 1), 300);
    await phone.sync();
    kasts.play(episodeOf(feed, 2), 200);
    await kasts.quickSync();
    await kasts.sync();
    expect(kasts.at(episodeOf(feed, 1))).toEqual({ position: 300, isPlayed: false });
    await phone.sync();
    expect(phone.at(episodeOf(feed, 2))).toEqual({ position: 200, isPlayed: false });
    expect(kasts.rounds).toBeLessThanOrEqual(2);
  });

  it('takes a length of 1 for an unknown one: 1 of 1 is played, 300 of 1 is a position', async () => {
    const kasts = await start('Kasts, v2', minutes(2));
    kasts.subscribe(feed);
    const unknown = { ...episodeOf(feed, 1), seconds: 1 };
    kasts.actions.push({ episode: unknown, action: 'play', at: Date.now(), started: 1, position: 1, total: 1 });
    const playing = { ...episodeOf(feed, 2), seconds: 1 };
    kasts.actions.push({ episode: playing, action: 'play', at: Date.now(), started: 0, position: 300, total: 1 });
    await kasts.sync();
    const phone = await start('AntennaPod, v2');
    await phone.sync();
    expect(phone.at(unknown)).toEqual({ position: 0, isPlayed: true });
    expect(phone.at(playing)).toEqual({ position: 300, isPlayed: false });
  });
});

describe('Music Assistant', () => {
  it.each(['v2', 'Nextcloud'])('%s: reads everything each time, and tells what it plays', async (variant) => {
    const { server, user, password } = await settings();
    const assistant = new MusicAssistant(server, variant === 'v2' ? { user, password } : { token: password });
    await assistant.begin();
    const phone = await start('AntennaPod, v2', minutes(1));
    phone.subscribe(feed);
    phone.play(episodeOf(feed, 1), 300);
    phone.play(episodeOf(feed, 2), 1_800);
    await phone.sync();
    expect(await assistant.subscriptions()).toEqual([feed]);
    for (let round = 0; round < 2; round++) {
      const progress = await assistant.progress();
      expect(progress.get(episodeOf(feed, 1).url)).toEqual({ position: 300, isPlayed: false });
      expect(progress.get(episodeOf(feed, 2).url)).toEqual({ position: 1_800, isPlayed: true });
    }
    await assistant.listen(episodeOf(feed, 1), 900);
    await assistant.listen(episodeOf(feed, 2), 0);
    await assistant.change([other], [feed]);
    expect(await assistant.subscriptions()).toEqual([other]);
    await phone.sync();
    expect([...phone.feeds]).toEqual([other]);
    const progress = await assistant.progress();
    expect(progress.get(episodeOf(feed, 1).url)).toEqual({ position: 900, isPlayed: false });
  });
});

describe("Nextcloud's login flow", () => {
  it.each<[string, TokenForm]>([
    ['AntennaPod/3.12.0', 'form'],
    ['Music Assistant', 'form'],
    ['Podcasts', 'form'],
    ['Cardo', 'json'],
  ])('%s is told where to sync, as whom, and with which password', async (agent, form) => {
    const { account: person, browser } = await world.person();
    const { login, poll } = await beginLogin(world.server, agent, form);
    expect(await poll()).toBeUndefined();
    await browser.submit(new URL(login).pathname, { decision: 'allow' });
    const told = await poll();
    expect(told).toEqual({ server: world.server, user: person.name, password: expect.any(String) as string });
    const app = new GnomePodcasts(told as { server: string; user: string; password: string });
    app.subscribe(feed);
    await app.sync();
    const device = await world.device({ ...person, password: '' });
    const { body } = await device.send<{ total: number }>('GET', '/subscriptions');
    expect(body.total).toBe(1);
    expect(await app.hasAppPassword()).toBe(true);
    await app.signOut();
    await expect(app.sync()).rejects.toThrow('401');
  });
});
