import { randomUUID } from 'node:crypto';
import { eventually } from '#testing';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Account, ClientsContext } from './testing/clients-context.js';
import { RecordedApp } from './testing/recorded-app.js';

/** Recordings of apps that sync a whole library. */
const apps = [
  'antennapod.v2',
  'antennapod.nextcloud',
  'kasts.v2',
  'kasts.nextcloud',
  'cardo.v2',
  'cardo.nextcloud',
  'gnome.podcasts',
];

/** Returns a clock that is `count` minutes after a time one hour ago. */
const minutes = (count: number) => () => Date.now() - 3_600_000 + count * 60_000;
const freshFeed = () => `https://feeds.example/${randomUUID()}`;

/** Tests recorded requests of apps, alone and with a second app. */
export function recordedAppsCases(context: () => ClientsContext): void {
  let account: Account;
  let feed: string;
  let other: string;
  beforeEach(async () => {
    account = await context().account();
    [feed, other] = [freshFeed(), freshFeed()];
  });
  const start = (name: string, clock?: () => number) => context().app(name, account, clock);

  describe.each(apps)('%s', (name) => {
    it('uploads its list and its plays in the first sync', async () => {
      const app = await start(name);
      await app.play('first sync', { feed, other });
      const device = await context().device(account);
      const { body } = await device.send<{ subscriptions: unknown[] }>('GET', '/subscriptions');
      expect(body.subscriptions).toHaveLength(2);
      const episodes = await device.send<{ episodes: Record<string, { value: unknown }>[] }>(
        'GET',
        '/episodes',
      );
      const summaries = episodes.body.episodes.map((row) =>
        [row['enclosure_url'], row['playback_position']?.value, row['played_status']?.value].join(),
      );
      expect(summaries).toEqual(
        expect.arrayContaining([`${feed}/1.mp3,300,`, `${feed}/2.mp3,0,true`]),
      );
    });

    it.each(apps)('exchanges a feed, positions and a removal with %s', async (second) => {
      const [from, to] = [await start(name, minutes(1)), await start(second, minutes(2))];
      await from.play('empty first sync');
      await to.play('empty first sync');
      await from.play('subscribe and play', { feed, position: 300 });
      await to.play('receive a feed and a position', { feed, position: 300 });
      await to.play('play', { feed, number: 1, position: 600 });
      await from.play('receive a position', { feed, number: 1, position: 600 });
      await to.play('unsubscribe', { feed });
      await from.play('receive a removal', { feed });
    });

    it('exchanges played episodes with AntennaPod', async () => {
      const [from, to] = [await start(name, minutes(1)), await start('antennapod.v2', minutes(2))];
      await from.play('empty first sync');
      await from.play('subscribe', { feed });
      await to.play('join', { feed });
      await from.play('play', { feed, number: 1, position: 1_800 });
      await to.play('receive a position', { feed, number: 1, position: 1_800 });
      await to.play('play', { feed, number: 2, position: 1_800 });
      await from.play('receive a position', { feed, number: 2, position: 1_800 });
    });

    it('changes nothing with an empty sync', async () => {
      const app = await start(name);
      await app.play('empty first sync');
      await app.play('subscribe', { feed });
      const clock = () =>
        context().rows('SELECT * FROM sync.user_clock WHERE user_id = $1', [account.id]);
      // After a burst of writes, the user's clock is ahead, and answers repeat rows for a while.
      const state = async () => [await clock(), app.state['feeds'], app.state['actions']];
      await eventually(async () => {
        await app.play('sync', { again: ['...'] });
        const before = await state();
        await app.play('sync', { again: [] });
        expect(await state()).toEqual(before);
      });
    });

    it.each([7_200_000, -7_200_000])(
      'misses no change with a clock that is %d ms ahead',
      async (ahead) => {
        const app = await start(name, () => Date.now() + ahead);
        const elsewhere = await start('antennapod.v2', minutes(50));
        await app.play('empty first sync');
        await app.play('subscribe', { feed });
        await elsewhere.play('join', { feed });
        await elsewhere.play('play', { feed, number: 1, position: 300 });
        await app.play('receive a position', { feed, number: 1, position: 300 });
      },
    );
  });

  describe('AntennaPod', () => {
    it.each(['antennapod.v2', 'antennapod.nextcloud'])(
      '(%s) keeps a feed that it adds again after a removal on another device',
      async (name) => {
        const [app, elsewhere] = [await start(name), await start('kasts.v2')];
        await app.play('empty first sync');
        await app.play('subscribe', { feed });
        await elsewhere.play('join', { feed });
        await elsewhere.play('unsubscribe', { feed });
        await app.play('subscribe again after a removal', { feed });
        await elsewhere.play('receive a feed', { feed });
      },
    );

    it('signs in with a new cookie after a restart', async () => {
      const app = await start('antennapod.v2');
      await app.play('empty first sync');
      await app.play('subscribe', { feed });
      app.restart();
      await app.play('restart and subscribe', { feed: other });
      await (await start('kasts.v2')).play('join both feeds', { feed, other });
    });

    it('can upload its local folder, which other apps do not receive', async () => {
      await (await start('antennapod.v2')).play('first sync with a local folder', { feed });
      await (await start('kasts.v2')).play('join', { feed });
    });
  });

  describe('Kasts', () => {
    it('signs in by its list of devices, links them all, and signs out', async () => {
      const [phone, kasts] = [await start('antennapod.v2'), await start('kasts.v2')];
      await phone.play('empty first sync');
      await phone.play('subscribe', { feed });
      await kasts.play('sign in');
      const rows = () =>
        context().rows('SELECT * FROM subscription.subscriptions WHERE user_id = $1', [account.id]);
      const before = await rows();
      await kasts.play('link all devices', { feed });
      // It subscribes every device to the union of all lists, which changes nothing.
      expect(await rows()).toEqual(before);
      await kasts.play('join', { feed });
      await kasts.play('sign out');
    });

    it('misses no change although it requests changes after the next second', async () => {
      const [kasts, phone] = [
        await start('kasts.v2', minutes(2)),
        await start('antennapod.v2', minutes(3)),
      ];
      await kasts.play('empty first sync');
      await kasts.play('subscribe', { feed });
      await phone.play('join', { feed });
      await eventually(async () => {
        await kasts.play('sync', { again: ['...'] });
        await kasts.play('sync', { again: [] });
      });
      await phone.play('subscribe and play elsewhere', { feed, other, position: 300 });
      await kasts.play('receive another feed and a position', {
        feed,
        other,
        number: 1,
        position: 300,
      });
    });

    it('misses no change after its upload on pause', async () => {
      const [kasts, phone] = [
        await start('kasts.v2', minutes(5)),
        await start('antennapod.v2', minutes(3)),
      ];
      await kasts.play('empty first sync');
      await kasts.play('subscribe', { feed });
      await phone.play('join', { feed });
      await phone.play('play', { feed, number: 1, position: 300 });
      await kasts.play('play and pause', { feed, number: 2, position: 200 });
      await kasts.play('receive a position', { feed, number: 1, position: 300 });
      await phone.play('receive a position', { feed, number: 2, position: 200 });
    });

    it('sends 1 for an unknown length: 1 of 1 is played, 300 of 1 is a position', async () => {
      const kasts = await start('kasts.v2', minutes(2));
      await kasts.play('subscribe and play with an unknown length', { feed });
      await (await start('antennapod.v2')).play('join with an unknown length', { feed });
    });
  });

  describe('Music Assistant', () => {
    it.each(['music.assistant.v2', 'music.assistant.nextcloud'])(
      '(%s) reads the whole list with each sync',
      async (name) => {
        const [assistant, phone] = [await start(name), await start('antennapod.v2', minutes(1))];
        await assistant.play('start');
        await phone.play('first sync of one feed', { feed });
        await assistant.play('read everything', { feed });
        await assistant.play('read everything', { feed });
        await assistant.play('play, mark as new and replace the feed', { feed, other });
        await phone.play('receive a replaced feed', { feed, other });
        await assistant.play('read the position', { feed });
      },
    );
  });

  describe("Nextcloud's login flow", () => {
    let user: Awaited<ReturnType<ClientsContext['person']>>;
    beforeAll(async () => {
      user = await context().person();
    });

    it.each([
      ['AntennaPod/3.12.0', 'form'],
      ['Music Assistant', 'form'],
      ['Podcasts', 'form'],
      ['Cardo', 'json'],
    ])('gives %s an app password, which the app can revoke', async (agent, form) => {
      const { server } = context();
      const { name } = user.account;
      const flow = RecordedApp.open(`login.flow.${form}`, { server });
      await flow.play('begin', { agent });
      await user.browser.submit(new URL(String(flow.state['login'])).pathname, {
        decision: 'allow',
      });
      await flow.play('end', { agent, server, name });
      const password = String(flow.state['appPassword']);
      const app = RecordedApp.open('gnome.podcasts', { server, user: name, password });
      await app.play('subscribe', { feed });
      const device = await context().device(user.account);
      const { body } = await device.send<{ subscriptions: unknown[] }>('GET', '/subscriptions');
      expect(body.subscriptions).toContainEqual(expect.objectContaining({ feed_url: feed }));
      await app.play('keep the app password');
      await app.play('sign out');
      await app.play('sync after signing out');
    });
  });
}
