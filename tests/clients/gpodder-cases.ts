import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '#testing';
import type { Account, ClientsContext } from './testing/clients-context.js';
import { FeedServer } from './testing/feed-server.js';
import { GPodder } from './testing/gpodder.js';
import { basic, exchange } from './testing/http-exchange.js';

/** Tests Debian's gPodder with two devices of one user. */
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
        GPodder.start('laptop', context().server, account),
        GPodder.start('desktop', context().server, second),
      ]);
    });
    afterEach(() => Promise.all([laptop.close(), desktop.close()]));

    const [one, two] = ['one', 'two'];
    const url = (name: string) => feeds.feed(name);
    const first = (number: number) => feeds.episode(one, number);

    it('registers its device, and offers subscriptions to the other device once', async () => {
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

    it('undoes a change that the user rejects, on all devices', async () => {
      await laptop.call('subscribe', [url(one)]);
      await laptop.sync();
      await desktop.sync();
      await desktop.call('reject');
      await desktop.sync();
      await laptop.sync();
      expect(await laptop.call('received')).toEqual([[url(one), 'remove']]);
    });

    it('continues at a position of the other device', async () => {
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
      // Its protocol has whole seconds: two actions within one second are equally new.
      await eventually(() => expect(Math.floor(Date.now() / 1_000)).toBeGreaterThan(played));
      await desktop.call('play', url(one), first(1), 100, 250, 600);
      await desktop.sync();
      await laptop.sync();
      await laptop.call('merge');
      expect((await laptop.state())[url(one)]?.[first(1)]).toMatchObject({ position: 250 });
    });

    it('uploads its actions after an outage, and receives those of the other device', async () => {
      await laptop.call('subscribe', [url(one)]);
      await laptop.sync();
      await desktop.syncAndConfirm();
      await laptop.call('set_server', 'http://127.0.0.1:1');
      await laptop.call('play', url(one), first(1), 0, 100, 600);
      await laptop.call('sync');
      expect(await laptop.call('pending')).toBe(1);
      expect(await laptop.call('is_enabled')).toBe(true);
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

    it('renames a feed that moved, and neither offers nor removes it', async () => {
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
      // The answer to its next upload of the old URL contains the new one.
      await laptop.call('unsubscribe', [url(one)]);
      await laptop.call('subscribe', [url(one)]);
      await laptop.sync();
      await laptop.call('rewrite');
      expect(Object.keys(await laptop.state())).toEqual([url(two)]);
    });

    it('replaces the list on the server, and reads it as OPML', async () => {
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
