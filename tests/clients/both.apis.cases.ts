import { randomUUID } from 'node:crypto';
import type { Device } from '#testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ClientsContext } from './testing/clients.context.js';
import { FacadeUser } from './testing/facade.user.js';
import type { RecordedApp } from './testing/recorded.app.js';

type Row = Record<string, { value: unknown; timestamp: string } | undefined>;

/** The time of day some minutes ago, as RFC 3339 has it. */
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

/** One user with an app of the gpodder API and one of the main API. */
export function bothApisCases(context: () => ClientsContext): void {
  let device: Device;
  let phone: RecordedApp;
  let user: FacadeUser;
  let feed: string;
  let other: string;
  beforeEach(async () => {
    const account = await context().account();
    user = new FacadeUser(context().server, account);
    device = await context().device(account);
    phone = await context().app('antennapod.v2', account);
    [feed, other] = [`https://feeds.example/${randomUUID()}`, `https://feeds.example/${randomUUID()}`];
    await phone.play('empty first sync');
    await phone.play('subscribe', { feed });
  });

  async function guidOf(url: string): Promise<string> {
    const { body } = await device.send<{ subscriptions: { feed_url: string; guid: string }[] }>(
      'GET',
      '/subscriptions',
    );
    return body.subscriptions.find(({ feed_url }) => feed_url === url)?.guid ?? '';
  }

  /** Uploads statuses of the feed's first episode by the main API. */
  async function post(statuses: Record<string, unknown>): Promise<void> {
    const named = { podcast_guid: await guidOf(feed), episode_guid: `${feed}#1`, enclosure_url: `${feed}/1.mp3` };
    const described = { title: 'An episode', publish_date: '2024-01-01T10:00:00Z', episode_url: `${feed}/1.html` };
    const answer = await device.send<{ failure: unknown[] }>('POST', '/episodes', {
      body: { episodes: [{ ...named, ...described, ...statuses }] },
    });
    expect([answer.status, answer.body.failure]).toEqual([200, []]);
  }
  const postPosition = (value: number, timestamp: string) =>
    post({ playback_position: { value, timestamp }, duration: 1_800 });

  /** An action of the gpodder API on the feed's first episode. */
  const action = (position: number, timestamp: string, more: object = {}) => ({
    podcast: feed,
    episode: `${feed}/1.mp3`,
    guid: `${feed}#1`,
    action: 'play',
    started: 0,
    position,
    total: 1_800,
    timestamp: timestamp.slice(0, 19),
    ...more,
  });

  async function rows(): Promise<Row[]> {
    return (await device.send<{ episodes: Row[] }>('GET', '/episodes')).body.episodes;
  }

  describe('an app of the gpodder API and one of the main API', () => {
    it('pass positions on to each other', async () => {
      await postPosition(300, ago(2));
      await phone.play('receive a position', { feed, number: 1, position: 300 });
      await phone.play('play', { feed, number: 1, position: 500 });
      expect(await rows()).toMatchObject([{ enclosure_url: `${feed}/1.mp3`, playback_position: { value: 500 } }]);
    });

    it('never replace a newer position by an older one that comes later', async () => {
      await postPosition(300, ago(10));
      await user.upload(action(100, ago(20)));
      expect(await rows()).toMatchObject([{ playback_position: { value: 300 } }]);
      await user.upload(action(400, ago(5)));
      expect(await rows()).toMatchObject([{ playback_position: { value: 400 } }]);
      await postPosition(200, ago(15));
      expect(await rows()).toMatchObject([{ playback_position: { value: 400 } }]);
      await phone.play('receive a position', { feed, number: 1, position: 400 });
    });

    it('pass on to each other what is played', async () => {
      await post({ played_status: { value: true, timestamp: ago(2) }, duration: 1_800 });
      await phone.play('receive a position', { feed, number: 1, position: 1_800 });
      await phone.play('play', { feed, number: 2, position: 1_800 });
      const played = (await rows()).find((row) => String(row['enclosure_url']) === `${feed}/2.mp3`);
      expect(played).toMatchObject({ played_status: { value: true }, new_status: { value: false } });
    });

    it('mean one episode, though one names it by its URL and the other by its guid', async () => {
      await postPosition(300, ago(10));
      await user.upload(action(400, ago(5), { guid: undefined }));
      await user.upload(action(500, ago(4), { episode: `${feed}/1.mp3?tracked` }));
      expect(await rows()).toMatchObject([{ episode_guid: `${feed}#1`, playback_position: { value: 500 } }]);
    });

    it('pass subscriptions on to each other', async () => {
      await device.send('POST', '/subscriptions', { body: { subscriptions: [{ feed_url: other }] } });
      await phone.play('receive a feed', { feed: other });
      await device.send('PATCH', `/subscriptions/${await guidOf(feed)}`, { body: { is_subscribed: false } });
      // The feed that was added in the same burst may be sent again.
      await phone.play('receive a removal', { feed, others: ['...'] });
      await phone.play('unsubscribe', { feed: other });
      const { body } = await device.send<{ subscriptions: { is_subscribed: boolean }[] }>('GET', '/subscriptions');
      expect(body.subscriptions.map(({ is_subscribed }) => is_subscribed)).toEqual([false, false]);
    });

    it('both lose a subscription that one deletes, and get it back when the other adds it', async () => {
      await device.send('DELETE', `/subscriptions/${await guidOf(feed)}`);
      await expect.poll(async () => (await user.delta('laptop')).add, { timeout: 60_000 }).toEqual([]);
      await phone.play('receive a removal', { feed });
      await phone.play('subscribe', { feed });
      expect((await user.delta('laptop')).add).toEqual([feed]);
    });

    it('agree after ten rounds of writes by both', async () => {
      for (let round = 1; round <= 10; round++) {
        await postPosition(round * 10, ago(60 - round));
        await phone.play('play', { feed, number: 2, position: round * 10 });
      }
      await phone.play('receive a position', { feed, number: 1, position: 100 });
      const positions = (await rows()).map((row) => [row['enclosure_url'], row['playback_position']?.value]);
      const expected = [1, 2].map((number) => [`${feed}/${number}.mp3`, 100]);
      expect(positions).toEqual(expect.arrayContaining(expected));
    });

    it('have one subscription of a feed that moved: its old URL works, and is answered with the new one', async () => {
      const { timestamp } = await user.delta('phone');
      const path = `/subscriptions/${await guidOf(feed)}`;
      expect((await device.send('PATCH', path, { body: { new_feed_url: other } })).status).toBe(200);
      expect(await user.delta('phone', timestamp)).toMatchObject({ add: [], remove: [] });
      expect((await user.change('phone', [feed])).update_urls).toEqual([[feed, other]]);
      expect((await user.upload(action(300, ago(5)))).update_urls).toEqual([[feed, other]]);
      expect((await user.actions()).actions).toMatchObject([{ podcast: other, position: 300 }]);
      expect((await user.delta('laptop')).add).toEqual([other]);
    });
  });

  it('an action with an old time that is uploaded late reaches those who have read since', async () => {
    const { timestamp } = await user.actions();
    const polled = await user.actions(`since=${timestamp}`);
    await user.upload(action(300, '2019-01-01T10:00:00'));
    const { actions } = await user.actions(`since=${polled.timestamp}`);
    expect(actions).toMatchObject([{ action: 'play', position: 300, timestamp: '2019-01-01T10:00:00' }]);
  });
}
