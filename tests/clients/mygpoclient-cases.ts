import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Account, ClientsContext } from './testing/clients-context.js';
import { PythonClient } from './testing/python-client.js';

/** Objects of the client, serialized by driver.py. */
interface Changes {
  readonly add: string[];
  readonly remove: string[];
  readonly since: number;
  readonly update_urls: unknown[];
}
interface Actions {
  readonly actions: Record<string, unknown>[];
  readonly since: number;
}

const [feed, other] = ['https://feeds.example/one.xml', 'https://feeds.example/two.xml'];
const episode = 'https://files.example/1.mp3';

/** Tests that Debian's python3-mygpoclient accepts the answers. apps/gpodder tests the rules. */
export function mygpoclientCases(context: () => ClientsContext): void {
  describe('mygpoclient', () => {
    let account: Account;
    let client: PythonClient;
    const open = (password: string) =>
      PythonClient.start('mygpoclient.driver.py', {
        user: account.name,
        password,
        server: context().server,
      });
    beforeEach(async () => {
      account = await context().account();
      client = open(account.password);
    });
    afterEach(() => client.close());

    it('update_device_settings, get_devices', async () => {
      expect(await client.call('update_device_settings', 'phone', 'My phone', 'mobile')).toBe(true);
      expect(await client.call('update_device_settings', 'phone', 'Old phone')).toBe(true);
      const phone = { device_id: 'phone', caption: 'Old phone', type: 'mobile', subscriptions: 0 };
      expect(await client.call('get_devices')).toEqual([phone]);
    });

    it('update_subscriptions, pull_subscriptions: changes of another device', async () => {
      const first = await client.call<Changes>('pull_subscriptions', 'phone');
      expect(first).toMatchObject({ add: [], remove: [] });
      const sent = [feed, ` ${other}`, 'gopher://feeds.example/c.xml'];
      const { update_urls } = await client.call<Changes>('update_subscriptions', 'laptop', sent);
      expect(update_urls).toHaveLength(2);
      expect(update_urls).toEqual(
        expect.arrayContaining([sent.slice(2).concat(''), [sent[1], other]]),
      );
      const second = await client.call<Changes>('pull_subscriptions', 'phone', first.since);
      expect(second.add.toSorted()).toEqual([feed, other]);
      await client.call('update_subscriptions', 'laptop', [], [other]);
      const third = await client.call<Changes>('pull_subscriptions', 'phone', second.since);
      expect(third).toMatchObject({ add: [], remove: [other] });
    });

    it('put_subscriptions, get_subscriptions: the whole list', async () => {
      expect(await client.raises('get_subscriptions', 'phone')).toBe('NotFound');
      for (const list of [[feed, other], [other], []]) {
        expect(await client.call('put_subscriptions', 'phone', list)).toBe(true);
        expect((await client.call<string[]>('get_subscriptions', 'phone')).toSorted()).toEqual(
          list,
        );
      }
    });

    it('upload_episode_actions, download_episode_actions: podcast, device, since', async () => {
      const played = {
        podcast: feed,
        episode,
        action: 'play',
        timestamp: '2024-03-05T10:00:01',
        position: 120,
        total: 500,
      };
      const others = ['download', 'new', 'delete'].map((action, number) => {
        return {
          podcast: other,
          episode: `${other}/${number}`,
          action,
          timestamp: '2024-03-05T10:00:02',
        };
      });
      expect(
        await client.call('upload_episode_actions', [{ ...played, started: 0 }, ...others]),
      ).toBeGreaterThan(0);
      const all = await client.call<Actions>('download_episode_actions', null, null, 'radio');
      expect(all.actions).toHaveLength(4);
      expect(all.actions).toEqual(
        expect.arrayContaining(
          [{ ...played, started: 120 }, ...others].map((action) => expect.objectContaining(action)),
        ),
      );
      expect(await client.call('get_devices')).toMatchObject([{ device_id: 'radio' }]);
      expect(
        (await client.call<Actions>('download_episode_actions', null, feed)).actions,
      ).toMatchObject([played]);
      const nothing = await client.call<Actions>('download_episode_actions', all.since);
      expect(nothing).toEqual({ actions: [], since: all.since });
    });

    it('set_settings, get_settings: of each scope', async () => {
      await client.call('update_device_settings', 'phone');
      const scopes = [
        ['account'],
        ['device', 'phone'],
        ['podcast', feed],
        ['episode', feed, episode],
      ];
      for (const [type, one = null, two = null] of scopes) {
        const values = { public: true, x: { y: [1, null] }, z: type };
        expect(await client.call('set_settings', type, one, two, values)).toEqual(values);
        const { public: _, ...rest } = values;
        expect(await client.call('set_settings', type, one, two, {}, ['public'])).toEqual(rest);
        expect(await client.call('get_settings', type, one, two)).toEqual(rest);
      }
      expect(await client.raises('get_settings', 'device', 'unknown')).toBe('NotFound');
    });

    it('get_favorite_episodes: episodes with the setting is_favorite', async () => {
      await client.call('set_settings', 'episode', feed, episode, { is_favorite: true });
      expect(await client.call('get_favorite_episodes')).toMatchObject([
        { url: episode, podcast_url: feed },
      ]);
    });

    it.each([
      ['get_suggestions', []],
      ['public.get_toplist', []],
      ['public.search_podcasts', ['a word']],
      ['public.get_toptags', []],
      ['public.get_podcasts_of_a_tag', ['music']],
    ])('%s: an empty list', async (name, args) => {
      expect(await client.call(name, ...args)).toEqual([]);
    });

    it('public.get_podcast_data: Unauthorized, because it finds podcasts of the user', async () => {
      expect(await client.raises('public.get_podcast_data', feed)).toBe('Unauthorized');
    });

    it('public.get_episode_data: NotFound', async () => {
      expect(await client.raises('public.get_episode_data', feed, episode)).toBe('NotFound');
    });

    it('receives one authentication challenge', async () => {
      for (let round = 0; round < 12; round++) {
        await client.call('pull_subscriptions', 'phone', 1);
        await client.call('upload_episode_actions', []);
      }
      expect(await client.call('challenges')).toBe(1);
    });

    it('raises Unauthorized for a wrong password', async () => {
      const wrong = open(`${account.password}_`);
      expect(await wrong.raises('get_devices')).toBe('Unauthorized');
      await wrong.close();
    });
  });
}
