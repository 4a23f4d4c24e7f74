import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '#testing';
import type { Account, ClientsContext } from './testing/clients.context.js';
import { FeedServer } from './testing/feed.server.js';
import { GPodder } from './testing/gpodder.js';
import { basic, exchange } from './testing/http.exchange.js';

/** Debian's gpodder: its own core, at two devices of one user. */
export function gpodderCases(context: () => ClientsContext): void {
  describe('gPodder', () => {
    const feeds = new FeedServer();
    beforeAll(() => feeds.open());
    afterAll(() => feeds.close());

    let [account, laptop, desktop] = [{} as Account, {} as GPodder, {} as GPodder];
    beforeEach(async () => {
      account = await context().account();
      const second = { ...account, password: await context().appPassword(account) };
      [laptop, desktop] = await Promise.all([
        GPodder.on('laptop', context().server, account),
        GPodder.on('desktop', context().server, second),
      ]);
    });
    afterEach(() => Promise.all([laptop.close(), desktop.close()]));

    const [one, two] = ['one', 'two'];
    const url = (name: string) => feeds.feed(name);
    const first = (number: number) => feeds.episode(one, number);

    it('registers its device, and offers subscriptions of a device to another once', async () => {
      expect(await laptop.call('devices')).toEqual([
        ['desktop', 'desktop of gPodder', expect.any(String)],
        ['laptop', 'laptop of gPodder', expect.any(String)],
      ]);
      await laptop.call('subscribe', [url(one), url(two)]);
      await laptop.sync();
      expect(await desktop.syncAndConfirm()).toHaveLength(2);
      expect(Object.keys(await desktop.state()).toSorted()).toEqual([url(one), url(two)]);
      await laptop.sync();
      expect(await laptop.call('received')).toEqual([]);
      await laptop.call('unsubscribe', [url(one)]);
      await laptop.sync();
      expect(await desktop.syncAndConfirm()).toEqual([[url(one), 'remove']]);
      expect(Object.keys(await desktop.state())).toEqual([url(two)]);
    });

    it('a change that its user rejects is undone everywhere', async () => {
      await laptop.call('subscribe', [url(one)]);
      await laptop.sync();
      await desktop.sync();
      await desktop.call('reject');
      await desktop.sync();
      await laptop.sync();
      expect(await laptop.call('received')).toEqual([[url(one), 'remove']]);
    });

    it('a position continues on the other device', async () => {
      await laptop.call('subscribe', [url(one)]);
      await laptop.call('play', url(one), first(1), 0, 100, 600);
      const played = Math.floor(Date.now() / 1_000);
      await laptop.sync();
      await desktop.syncAndConfirm();
      await desktop.call('merge');
      const state = await desktop.state();
      expect(state[url(one)]?.[first(1)]).toEqual({
        position: 100,
        total: 600,
        isNew: false,
        isDeleted: false,
      });
      expect(state[url(one)]?.[first(2)]).toMatchObject({ position: 0, isNew: true });
      // Within one second both would be of the same age for its protocol.
      await eventually(() => expect(Math.floor(Date.now() / 1_000)).toBeGreaterThan(played));
      await desktop.call('play', url(one), first(1), 100, 250, 600);
      await desktop.sync();
      await laptop.sync();
      await laptop.call('merge');
      expect((await laptop.state())[url(one)]?.[first(1)]).toMatchObject({ position: 250 });
    });

    it('after an offline time, actions are uploaded and the newer position wins', async () => {
      await laptop.call('subscribe', [url(one)]);
      await laptop.sync();
      await desktop.syncAndConfirm();
      await laptop.call('set_server', 'http://127.0.0.1:1');
      await laptop.call('play', url(one), first(1), 0, 100, 600);
      await laptop.call('sync');
      expect(await laptop.call('pending')).toBe(1);
      expect(await laptop.call('is_enabled')).toBe(true);
      // Two devices' actions within one second are of the same age for its protocol.
      await desktop.call('play', url(one), first(2), 0, 200, 600);
      await desktop.sync();
      await laptop.call('set_server', context().server);
      await laptop.sync();
      await laptop.call('merge');
      await desktop.sync();
      await desktop.call('merge');
      for (const device of [laptop, desktop])
        expect((await device.state())[url(one)]).toMatchObject({
          [first(1)]: { position: 100 },
          [first(2)]: { position: 200 },
        });
    });

    it('a feed that moved is renamed, and neither offered nor removed', async () => {
      await laptop.call('subscribe', [url(one)]);
      await laptop.sync();
      await desktop.syncAndConfirm();
      const device = await context().device(account);
      const { body } = await device.send<{ subscriptions: { guid: string }[] }>(
        'GET',
        '/subscriptions',
      );
      const guid = body.subscriptions[0]?.guid;
      const moved = await device.send('PATCH', `/subscriptions/${guid}`, {
        body: { new_feed_url: url(two) },
      });
      expect(moved.status).toBe(200);
      await laptop.sync();
      expect(await laptop.call('received')).toEqual([]);
      // The answer to its next upload with the old URL names the new one.
      await laptop.call('unsubscribe', [url(one)]);
      await laptop.call('subscribe', [url(one)]);
      await laptop.sync();
      await laptop.call('rewrite');
      expect(Object.keys(await laptop.state())).toEqual([url(two)]);
    });

    it('"replace list on server", and the list as OPML where it asks for it', async () => {
      await laptop.call('subscribe', [url(one), url(two)]);
      await laptop.sync();
      await desktop.call('subscribe', [url(two)]);
      await desktop.call('overwrite');
      const { username, password, origin, pathname } = new URL(await desktop.call<string>('opml'));
      const headers = { authorization: basic(username, password) };
      const { text } = await exchange({ method: 'GET', url: origin + pathname, headers });
      expect(text).toContain(url(two));
      expect(text).not.toContain(url(one));
    });
  });
}
