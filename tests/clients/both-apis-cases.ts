import { randomUUID } from 'node:crypto';
import { podcastGuid } from '#contracts';
import type { Device } from '#testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ClientsContext } from './testing/clients-context.js';
import { GpodderClient } from './testing/gpodder-client.js';
import type { RecordedApp } from './testing/recorded-app.js';

/** Returns a past time in RFC 3339. */
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

/** Tests one user with an app of the gpodder API and one of the main API. */
export function bothApisCases(context: () => ClientsContext): void {
  let device: Device;
  let phone: RecordedApp;
  let laptop: GpodderClient;
  let feed: string;
  let other: string;
  beforeEach(async () => {
    const account = await context().account();
    laptop = new GpodderClient(context().server, account);
    device = await context().device(account);
    phone = await context().app('antennapod.v2', account);
    [feed, other] = [
      `https://feeds.example/${randomUUID()}`,
      `https://feeds.example/${randomUUID()}`,
    ];
    await phone.play('empty first sync');
    await phone.play('subscribe', { feed });
  });

  /** Uploads statuses of the feed's first episode by the main API. */
  async function post(statuses: Record<string, unknown>): Promise<void> {
    const ids = {
      podcast_guid: podcastGuid(feed),
      episode_guid: `${feed}#1`,
      enclosure_url: `${feed}/1.mp3`,
    };
    const metadata = {
      title: 'An episode',
      publish_date: '2024-01-01T10:00:00Z',
      episode_url: `${feed}/1.html`,
    };
    const episodes = [{ ...ids, ...metadata, duration: 1_800, ...statuses }];
    const answer = await device.send<{ failure: unknown[] }>('POST', '/episodes', {
      body: { episodes },
    });
    expect([answer.status, answer.body.failure]).toEqual([200, []]);
  }
  const episodes = async () =>
    (await device.send<{ episodes: Record<string, unknown>[] }>('GET', '/episodes')).body.episodes;

  describe('an app of the gpodder API and one of the main API', () => {
    it('exchange positions', async () => {
      await post({ playback_position: { value: 300, timestamp: ago(2) } });
      await phone.play('receive a position', { feed, number: 1, position: 300 });
      await phone.play('play', { feed, number: 1, position: 500 });
      expect(await episodes()).toMatchObject([
        { enclosure_url: `${feed}/1.mp3`, playback_position: { value: 500 } },
      ]);
    });

    it('exchange played episodes', async () => {
      await post({ played_status: { value: true, timestamp: ago(2) } });
      await phone.play('receive a position', { feed, number: 1, position: 1_800 });
      await phone.play('play', { feed, number: 2, position: 1_800 });
      const played = (await episodes()).find(
        (episode) => episode['enclosure_url'] === `${feed}/2.mp3`,
      );
      expect(played).toMatchObject({
        played_status: { value: true },
        new_status: { value: false },
      });
    });

    it('exchange subscriptions', async () => {
      await device.send('POST', '/subscriptions', {
        body: { subscriptions: [{ feed_url: other }] },
      });
      await phone.play('receive a feed', { feed: other });
      await device.send('PATCH', `/subscriptions/${podcastGuid(feed)}`, {
        body: { is_subscribed: false },
      });
      // A feed that was added in the same burst can be sent again.
      await phone.play('receive a removal', { feed, others: ['...'] });
      await phone.play('unsubscribe', { feed: other });
      const { body } = await device.send<{ subscriptions: { is_subscribed: boolean }[] }>(
        'GET',
        '/subscriptions',
      );
      expect(body.subscriptions.map(({ is_subscribed }) => is_subscribed)).toEqual([false, false]);
    });

    it('both receive a deletion, and a later subscription', async () => {
      await device.send('DELETE', `/subscriptions/${podcastGuid(feed)}`);
      await expect
        .poll(async () => (await laptop.delta('laptop')).add, { timeout: 60_000 })
        .toEqual([]);
      await phone.play('receive a removal', { feed });
      await phone.play('subscribe', { feed });
      expect((await laptop.delta('laptop')).add).toEqual([feed]);
    });
  });
}
