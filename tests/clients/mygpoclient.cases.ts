import { eventually } from '#testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Account, ClientsContext } from './testing/clients.context.js';
import { PythonClient } from './testing/python.client.js';

/** What its clients are made of, as JSON shows them. */
interface Changes {
  readonly add: string[];
  readonly remove: string[];
  readonly since: number;
}
interface Actions {
  readonly actions: Record<string, unknown>[];
  readonly since: number;
}

const [feed, other] = ['https://feeds.example/one.xml', 'https://feeds.example/two.xml'];
const episode = 'https://files.example/1.mp3';

/** Debian's python3-mygpoclient, each of its calls. */
export function mygpoclientCases(context: () => ClientsContext): void {
  const open = ({ name, password }: Account) =>
    PythonClient.start('mygpoclient.driver.py', { user: name, password, server: context().server });

  describe('mygpoclient', () => {
    let account: Account;
    let client: PythonClient;
    beforeEach(async () => {
      account = await context().account();
      client = open(account);
    });
    afterEach(() => client.close());

    it('update_device_settings, get_devices', async () => {
      expect(await client.call('update_device_settings', 'phone', 'My phone', 'mobile')).toBe(true);
      expect(await client.call('update_device_settings', 'phone', 'Old phone')).toBe(true);
      expect(await client.call('update_device_settings', 'radio')).toBe(true);
      expect(await client.call('get_devices')).toEqual(
        expect.arrayContaining([
          { device_id: 'phone', caption: 'Old phone', type: 'mobile', subscriptions: 0 },
          {
            device_id: 'radio',
            caption: expect.any(String) as string,
            type: expect.any(String) as string,
            subscriptions: 0,
          },
        ]),
      );
    });

    it('update_subscriptions, pull_subscriptions: a device hears what another one did, once', async () => {
      const first = await client.call<Changes>('pull_subscriptions', 'phone');
      expect(first).toMatchObject({ add: [], remove: [] });
      expect(first.since).toBeGreaterThan(0);
      const { update_urls } = await client.call<{ update_urls: unknown }>('update_subscriptions', 'laptop', [
        feed,
        other,
      ]);
      expect(update_urls).toEqual([]);
      const second = await client.call<Changes>('pull_subscriptions', 'phone', first.since);
      expect(second.add.toSorted()).toEqual([feed, other]);
      await client.call('update_subscriptions', 'laptop', [], [other]);
      const third = await client.call<Changes>('pull_subscriptions', 'phone', second.since);
      expect(third).toMatchObject({ add: [], remove: [other] });
      // After a burst of writes the same may come again, until the time of day has passed the user's clock.
      let { since } = third;
      await eventually(async () => {
        const asked = since;
        const next = await client.call<Changes>('pull_subscriptions', 'phone', asked);
        since = next.since;
        expect(next).toEqual({ add: [], remove: [], since: asked });
      });
    });

    it('update_subscriptions: the answer names repaired URLs and unusable ones', async () => {
      const sent = [' https://feeds.example/a.xml', 'feed://feeds.example/b.xml', 'gopher://feeds.example/c.xml'];
      const { update_urls } = await client.call<{ update_urls: unknown[] }>('update_subscriptions', 'phone', sent);
      expect(update_urls).toHaveLength(3);
      expect(update_urls).toEqual(
        expect.arrayContaining([
          [sent[0], 'https://feeds.example/a.xml'],
          [sent[1], 'http://feeds.example/b.xml'],
          [sent[2], ''],
        ]),
      );
      expect(await client.call('get_subscriptions', 'phone')).toHaveLength(2);
    });

    it('update_subscriptions: one feed in both lists is refused, and nothing of it is applied', async () => {
      expect(await client.raises('update_subscriptions', 'phone', [feed, other], [feed])).toBe('BadRequest');
      expect(await client.call('pull_subscriptions', 'phone')).toMatchObject({ add: [], remove: [] });
    });

    it('put_subscriptions, get_subscriptions: the whole list', async () => {
      expect(await client.raises('get_subscriptions', 'phone')).toBe('NotFound');
      expect(await client.call('put_subscriptions', 'phone', [feed, other])).toBe(true);
      expect((await client.call<string[]>('get_subscriptions', 'phone')).toSorted()).toEqual([feed, other]);
      expect(await client.call('put_subscriptions', 'phone', [other])).toBe(true);
      expect(await client.call('get_subscriptions', 'phone')).toEqual([other]);
      expect(await client.call('put_subscriptions', 'phone', [])).toBe(true);
      expect(await client.call('get_subscriptions', 'phone')).toEqual([]);
    });

    it.each(['opml', 'json', 'txt'])('subscriptions_uri: the list as %s', async (format) => {
      await client.call('put_subscriptions', 'phone', [feed, other]);
      for (const device of [null, 'phone']) {
        const uri = await client.call<string>('locator.subscriptions_uri', device, format);
        const text = await client.call<string>('fetch', uri);
        for (const url of [feed, other]) expect(text).toContain(url);
      }
    });

    it('upload_episode_actions, download_episode_actions: each type', async () => {
      const at = '2024-03-05T10:00:0';
      const since = await client.call('upload_episode_actions', [
        { podcast: feed, episode, action: 'download', device: 'phone', timestamp: `${at}0` },
        {
          podcast: feed,
          episode,
          action: 'play',
          device: 'phone',
          timestamp: `${at}1`,
          started: 0,
          position: 120,
          total: 500,
        },
        { podcast: feed, episode: 'https://files.example/2.mp3', action: 'new', timestamp: `${at}2` },
        { podcast: other, episode: 'https://files.example/3.mp3', action: 'delete', timestamp: `${at}3` },
        { podcast: other, episode: 'https://files.example/4.mp3', action: 'flattr', timestamp: `${at}4` },
      ]);
      expect(since).toBeGreaterThan(0);
      const { actions } = await client.call<Actions>('download_episode_actions', 0);
      const shown = actions.map(({ podcast, episode: url, action, timestamp, started, position, total }) =>
        JSON.stringify([podcast, url, action, timestamp, started, position, total]),
      );
      expect(shown.toSorted()).toEqual(
        [
          [feed, episode, 'download', `${at}0`, null, null, null],
          [feed, episode, 'play', `${at}1`, 120, 120, 500],
          [feed, 'https://files.example/2.mp3', 'new', `${at}2`, null, null, null],
          [other, 'https://files.example/3.mp3', 'delete', `${at}3`, null, null, null],
        ]
          .map((row) => JSON.stringify(row))
          .toSorted(),
      );
    });

    it('download_episode_actions: of a podcast, of a device, and since', async () => {
      const play = (podcast: string, position: number) => ({
        podcast,
        episode: `${podcast}/1.mp3`,
        action: 'play',
        started: 0,
        position,
        total: 500,
        timestamp: `2024-03-05T10:00:${position}`,
      });
      await client.call('upload_episode_actions', [play(feed, 10), play(other, 20)]);
      const ofFeed = await client.call<Actions>('download_episode_actions', null, feed);
      expect(ofFeed.actions).toMatchObject([{ podcast: feed, position: 10 }]);
      const unknown = await client.call<Actions>('download_episode_actions', null, 'https://feeds.example/unknown.xml');
      expect(unknown.actions).toEqual([]);
      const ofDevice = await client.call<Actions>('download_episode_actions', null, null, 'radio');
      expect(ofDevice.actions).toHaveLength(2);
      expect(await client.call('get_devices')).toMatchObject([{ device_id: 'radio' }]);
      await client.call('upload_episode_actions', [play(feed, 30)]);
      const later = await client.call<Actions>('download_episode_actions', ofDevice.since);
      expect(later.actions).toMatchObject([{ podcast: feed, position: 30 }]);
      const nothing = await client.call<Actions>('download_episode_actions', later.since);
      expect(nothing).toEqual({ actions: [], since: later.since });
    });

    it('set_settings, get_settings: of each scope', async () => {
      await client.call('update_device_settings', 'phone');
      const scopes = [['account'], ['device', 'phone'], ['podcast', feed], ['episode', feed, episode]];
      for (const [type, one = null, two = null] of scopes) {
        expect(
          await client.call('set_settings', type, one, two, { public: true, x: { y: [1, null] }, z: type }),
        ).toEqual({
          public: true,
          x: { y: [1, null] },
          z: type,
        });
        expect(await client.call('set_settings', type, one, two, { z: 'other' }, ['public'])).toEqual({
          x: { y: [1, null] },
          z: 'other',
        });
      }
      for (const [type, one = null, two = null] of scopes)
        expect(await client.call('get_settings', type, one, two)).toEqual({ x: { y: [1, null] }, z: 'other' });
      expect(await client.raises('get_settings', 'device', 'unknown')).toBe('NotFound');
    });

    it('get_favorite_episodes: those whose setting says so', async () => {
      expect(await client.call('get_favorite_episodes')).toEqual([]);
      await client.call('set_settings', 'episode', feed, episode, { is_favorite: true });
      expect(await client.call('get_favorite_episodes')).toMatchObject([{ url: episode, podcast_url: feed }]);
      await client.call('set_settings', 'episode', feed, episode, { is_favorite: false });
      expect(await client.call('get_favorite_episodes')).toEqual([]);
    });

    it.each([
      ['get_suggestions', []],
      ['public.get_toplist', []],
      ['public.search_podcasts', ['a word']],
      ['public.get_toptags', []],
      ['public.get_podcasts_of_a_tag', ['music']],
    ])('%s: this server recommends nothing, and says so', async (name, args) => {
      expect(await client.call(name, ...args)).toEqual([]);
    });

    it.each([
      ['public.get_podcast_data', [feed]],
      ['public.get_episode_data', [feed, episode]],
    ])('%s: this server fetches no feeds', async (name, args) => {
      expect(await client.raises(name, ...args)).toBe('NotFound');
    });

    it('is asked once who it is, and never again', async () => {
      for (let round = 0; round < 12; round++) {
        await client.call('pull_subscriptions', 'phone', 1);
        await client.call('upload_episode_actions', []);
      }
      expect(await client.call('challenges')).toBe(1);
    });

    it('learns that its password is wrong', async () => {
      const wrong = open({
        ...account,
        password: await context()
          .appPassword(account)
          .then((secret) => `${secret}_`),
      });
      expect(await wrong.raises('get_devices')).toBe('Unauthorized');
      await wrong.close();
    });

    it('learns it also where the password is that of another user', async () => {
      const otherUser = await context().account();
      const asOther = PythonClient.start('mygpoclient.driver.py', {
        user: otherUser.name,
        password: account.password,
        server: context().server,
      });
      expect(await asOther.raises('get_devices')).toBe('Unauthorized');
      await asOther.close();
    });

    it('shows the main API what it did, and hears what that one did', async () => {
      const device = await context().device(account);
      await client.call('update_subscriptions', 'phone', [feed]);
      await client.call('upload_episode_actions', [
        {
          podcast: feed,
          episode,
          action: 'play',
          timestamp: '2024-03-05T10:00:00',
          started: 0,
          position: 120,
          total: 500,
        },
      ]);
      await eventually(async () => {
        const { body } = await device.send<{ episodes: { playback_position: { value: number } }[] }>(
          'GET',
          '/episodes',
        );
        expect(body.episodes).toMatchObject([{ enclosure_url: episode }]);
      });
      const added = { subscriptions: [{ feed_url: other }] };
      expect((await device.send('POST', '/subscriptions', { body: added })).status).toBe(200);
      expect((await client.call<Changes>('pull_subscriptions', 'phone', 0)).add).toContain(other);
    });
  });
}
