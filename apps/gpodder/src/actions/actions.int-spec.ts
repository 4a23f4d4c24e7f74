import { get, type IncomingMessage } from 'node:http';
import { eventually, type ServedApp, TcpProxy } from '#testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, GpodderFixture, type GpodderUser } from '../../testing/gpodder.fixture.js';

let fixture: GpodderFixture;
beforeAll(async () => {
  fixture = await GpodderFixture.open({ MAX_ENTRIES: '2600' }, 2);
});
afterAll(() => fixture.close());

const episodes = '/api/2/episodes/{u}.json';
const nextcloud = '/index.php/apps/gpoddersync';
const feed = 'https://a.example/feed';
const medium = (number: number) => `https://a.example/${number}.mp3`;
const at = '2024-03-01T12:00:05';

interface Download {
  actions: Record<string, unknown>[];
  timestamp: number;
}
const downloadOf = (answer: Answer) => answer.json<Download>();
const play = (number: number, more: object = {}) => ({
  podcast: feed,
  episode: medium(number),
  action: 'play',
  timestamp: at,
  started: 0,
  position: 60,
  total: 600,
  ...more,
});
/** Returns the action that a download has for an uploaded {@link play}. */
const downloaded = (number: number, more: object = {}) => play(number, { started: 60, ...more });
const upload = (user: GpodderUser, actions: unknown, path = episodes) =>
  user.request(path, { body: actions });
const download = async (user: GpodderUser, query = '', path = episodes) =>
  downloadOf(await user.request(path + query));

describe('an upload', () => {
  it('returns a timestamp, and is in the next download of both versions', async () => {
    const ann = await fixture.user();
    const answer = await upload(ann, [play(1, { guid: 'g-1', device: 'phone' })]);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      expect.stringMatching(/^application\/json/),
    ]);
    expect(answer.json()).toEqual({ timestamp: 1, update_urls: [] });
    for (const version of [1, 2]) {
      const { actions, timestamp } = await download(ann, '', `/api/${version}/episodes/{u}.json`);
      expect(actions).toEqual([downloaded(1, { guid: 'g-1' })]);
      expect(timestamp).toBeGreaterThan(1);
    }
  });

  it('of the session of the last download returns its timestamp', async () => {
    const ann = await (await fixture.user()).logIn();
    const { timestamp } = downloadOf(await ann.requestByCookie(episodes));
    expect((await ann.requestByCookie(episodes, { body: [play(1)] })).json()).toEqual({
      timestamp,
      update_urls: [],
    });
  });

  it('creates a podcast without subscribing to it, and a device', async () => {
    const ann = await fixture.user();
    await upload(ann, [play(1, { device: 'phone' }), play(2, { device: 'no device!' })]);
    expect((await ann.request('/api/2/subscriptions/{u}/phone.json')).json()).toMatchObject({
      add: [],
      remove: [],
    });
    const devices = (await ann.request('/api/2/devices/{u}.json')).json<{ id: string }[]>();
    expect(devices.map(({ id }) => id)).toEqual(['phone']);
  });

  it('skips invalid actions alone, and returns changed URLs', async () => {
    const ann = await fixture.user();
    const { status, json } = await upload(ann, [
      null,
      play(1, { episode: 'content://x' }),
      play(2, { podcast: 'a.example/feed' }),
    ]);
    const updates = [
      ['content://x', ''],
      ['a.example/feed', 'http://a.example/feed'],
    ];
    expect([status, json()]).toEqual([200, { timestamp: 1, update_urls: updates }]);
    expect((await download(ann)).actions.map(({ episode }) => episode)).toEqual([medium(2)]);
  });

  it('with a decoded feed URL matches the subscription, in every message', async () => {
    const ann = await fixture.user();
    const [stored, decoded] = ['https://a.example/caf%C3%A9', 'https://a.example/café'];
    await ann.request('/api/2/subscriptions/{u}/phone.json', {
      body: { add: [stored], remove: [] },
    });
    const actions = Array.from({ length: 300 }, (_, number) => play(number, { podcast: decoded }));
    expect((await upload(ann, actions)).json()).toEqual({
      timestamp: 1,
      update_urls: [[decoded, stored]],
    });
    const podcasts = (await download(ann)).actions.map(({ podcast }) => podcast);
    expect(podcasts).toEqual(Array<string>(300).fill(stored));
  });

  it('of several messages is applied in order, and a repetition has no effect', async () => {
    const ann = await fixture.user();
    const many = Array.from({ length: 600 }, (_, number) => [
      play(number, { podcast: `https://${number % 7}.example/feed` }),
      play(number, {
        podcast: `https://${number % 7}.example/feed`,
        position: 70,
        timestamp: '2024-03-01T12:00:06',
      }),
    ]).flat();
    await upload(ann, many);
    const first = await download(ann);
    expect(first.actions.map(({ position }) => position)).toEqual(Array<number>(600).fill(70));
    await upload(ann, many);
    expect(await download(ann, `?since=${first.timestamp}`)).toEqual({
      actions: [],
      timestamp: first.timestamp,
    });
  });

  it.each(['', '{}', '"x"', '[', 'null', '[1,]'])('without an array is 400: %j', async (body) => {
    expect((await (await fixture.user()).request(episodes, { method: 'POST', body })).status).toBe(
      400,
    );
  });

  it('of too many actions is 413, and any content type is accepted', async () => {
    const ann = await fixture.user();
    expect((await upload(ann, Array<number>(2_601).fill(0))).status).toBe(413);
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await ann.request(episodes, { body: [play(1)], headers })).status).toBe(200);
  });

  it('skips only an action that alone matches too many episodes', async () => {
    const ann = await fixture.user();
    const refused = () => fixture.metric('podcast_sync_skipped_entries_total{reason="refused"}');
    const before = await refused();
    await upload(ann, [
      play(0, { guid: 'named', episode: '' }),
      ...Array.from({ length: 10 }, (_, n) => play(n + 1)),
    ]);
    const statement =
      "UPDATE episode.episodes SET enclosure_url = $2 WHERE user_id = $1 AND episode_guid = ''";
    await fixture.owner.query(statement, [ann.userId, medium(1)]);
    const later = { position: 70, timestamp: '2024-03-01T12:00:06' };
    const answer = await upload(ann, [
      play(20),
      play(1, { guid: 'named', ...later }),
      play(21),
      play(1, later),
    ]);
    expect(answer.status).toBe(200);
    expect((await refused()) - before).toBe(1);
    const { actions } = await download(ann);
    expect(actions.filter(({ position }) => position === 70)).toEqual([
      downloaded(1, { ...later, started: 70 }),
    ]);
    expect(actions.map(({ episode }) => episode)).toEqual(
      expect.arrayContaining([medium(20), medium(21)]),
    );
  });
});

describe('a download', () => {
  it('returns the changes since a timestamp, and the same timestamp without any', async () => {
    const ann = await fixture.user();
    await upload(ann, [play(1), play(2, { action: 'download' })]);
    const { timestamp } = await download(ann);
    await upload(ann, [play(1, { position: 90, timestamp: '2024-03-01T12:00:06' })]);
    const { actions, timestamp: next } = await download(ann, `?since=${timestamp}`);
    expect(actions).toEqual([
      downloaded(1, { started: 90, position: 90, timestamp: '2024-03-01T12:00:06' }),
    ]);
    for (const since of [next, next + 1])
      expect(await download(ann, `?since=${since}`)).toEqual({ actions: [], timestamp: next });
  });

  it('of one podcast by any of its URLs returns its actions; of an unknown one none', async () => {
    const ann = await fixture.user();
    await upload(ann, [play(1), play(2, { podcast: 'https://b.example/feed' })]);
    for (const podcast of ['https://b.example/feed', 'feed://b.example/feed'])
      expect(
        (await download(ann, `?podcast=${encodeURIComponent(podcast)}`)).actions,
      ).toMatchObject([{ episode: medium(2) }]);
    for (const podcast of [
      'https://c.example/feed',
      'x',
      '',
      '%00',
      'https://c.example/%00',
      '%ff',
      'content:7',
    ])
      expect(await download(ann, `?podcast=${podcast}`)).toEqual({
        actions: [],
        timestamp: expect.any(Number),
      });
  });

  it('aggregated returns one action of each episode, also of other devices', async () => {
    const ann = await fixture.user();
    await upload(ann, [play(1), play(1, { action: 'download', device: 'laptop' })]);
    expect((await download(ann)).actions).toHaveLength(2);
    expect((await download(ann, '?aggregated=TRUE&device=tablet')).actions).toEqual([
      downloaded(1),
    ]);
    const devices = (await ann.request('/api/2/devices/{u}.json')).json<{ id: string }[]>();
    expect(devices.map(({ id }) => id).toSorted()).toEqual(['laptop', 'tablet']);
  });

  it.each(['x', '-1', '1.5', ''])('since %j is 400', async (since) => {
    expect((await (await fixture.user()).request(`${episodes}?since=${since}`)).status).toBe(400);
  });

  it('by HEAD has no body', async () => {
    const answer = await (await fixture.user()).request(episodes, { method: 'HEAD' });
    expect([answer.status, answer.text]).toEqual([200, '']);
  });

  it('of many episodes is complete at each replica, and compressed on request', async () => {
    const ann = await fixture.user();
    await upload(
      ann,
      Array.from({ length: 1_100 }, (_, number) => play(number)),
    );
    for (const [replica, coding, sent] of [
      [0, 'identity', null],
      [1, 'gzip, deflate, br', 'gzip'],
      [1, 'gzip;q=0', null],
    ] as const) {
      const answer = await ann.request(episodes, {
        headers: { 'accept-encoding': coding },
        replica,
      });
      expect(answer.headers.get('content-encoding')).toBe(sent);
      const numbers = downloadOf(answer).actions.map(({ episode }) =>
        Number.parseInt(String(episode).slice(18), 10),
      );
      expect(numbers.toSorted((one, other) => one - other)).toEqual(
        Array.from({ length: 1_100 }, (_, number) => number),
      );
    }
  });
});

describe('the paths of Nextcloud', () => {
  it.each(['/episode_action/create', '/episodes/create'])(
    '%s accepts actions, also below a folder',
    async (path) => {
      const ann = await fixture.user();
      expect((await upload(ann, [play(1, { action: 'PLAY' })], nextcloud + path)).json()).toEqual({
        timestamp: 1,
        update_urls: [],
      });
      await upload(
        ann,
        [play(2, { action: 'DOWNLOAD' }), play(3, { action: 'NEW' })],
        `/cloud/of/us${nextcloud}${path}`,
      );
      expect((await download(ann, '', `${nextcloud}/episode_action`)).actions).toEqual([
        downloaded(1, { action: 'PLAY' }),
      ]);
      expect((await download(ann)).actions.map(({ action }) => action)).toEqual([
        'play',
        'download',
        'new',
      ]);
    },
  );
});

/** Starts a download, and pauses it after its first bytes. */
async function pausedDownload(
  user: GpodderUser,
  gpodder: Pick<ServedApp, 'facts'> | undefined = fixture.replicas[0],
): Promise<IncomingMessage> {
  const port = Number(gpodder?.facts['port']);
  const path = episodes.replace('{u}', user.name);
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ port, path, headers: { authorization: user.basic } }, resolve).on('error', reject);
  });
  await new Promise((resolve) => answer.once('data', resolve));
  return answer.pause();
}

/** Returns the rest of an answer, and whether it is `complete` or `broken`. */
async function rest(answer: IncomingMessage): Promise<{ end: string; text: string }> {
  let text = '';
  const ended = new Promise<string>((resolve) => {
    answer.on('data', (chunk: Buffer) => (text += chunk.toString()));
    answer.on('end', () => resolve('complete')).on('error', () => resolve('broken'));
  });
  answer.resume();
  return { end: await ended, text };
}

describe('a streamed download', () => {
  let ann: GpodderUser;
  beforeAll(async () => {
    ann = await fixture.user();
    // More than the buffers of a connection.
    const long = 'x'.repeat(3_900);
    for (let part = 0; part < 5; part++)
      await upload(
        ann,
        Array.from({ length: 600 }, (_, number) =>
          play(number, {
            episode: `https://${part}.example/${number}/${long}`,
            guid: `${part} ${number} ${long.slice(2_000)}`,
          }),
        ),
      );
  });

  /** Returns the status of a replica's answer, and then closes the connection. */
  const statusOf = async (gpodder: ServedApp, user: GpodderUser) => {
    const answer = await pausedDownload(user, gpodder);
    answer.destroy();
    return answer.statusCode;
  };

  it('counts as a concurrent read of its user until it ends', async () => {
    const gpodder = await fixture.startReplica({ MAX_READS_PER_USER: '1' });
    const first = await pausedDownload(ann, gpodder);
    expect(await statusOf(gpodder, ann)).toBe(503);
    first.destroy();
    await eventually(async () => expect(await statusOf(gpodder, ann)).toBe(200));
  });

  it('is 503 without memory for its first page, and breaks without it for later ones', async () => {
    const gpodder = await fixture.startReplica({ MAX_HELD_BYTES: '4194304' });
    const outcome = async (user: GpodderUser) => {
      const url = `${gpodder.url}${episodes.replace('{u}', user.name)}`;
      const answer = await fetch(url, { headers: { authorization: user.basic } });
      const text = answer.text().then(
        () => 'complete',
        () => 'broken',
      );
      return [answer.status, await text];
    };
    const long = 'x'.repeat(3_900);
    const large = Array.from({ length: 150 }, (_, number) => {
      const episode = {
        episode: `https://a.example/${number}/${long}`,
        guid: `${number} ${long.slice(2_000)}`,
      };
      return [play(number, episode), play(number, { ...episode, action: 'download' })];
    }).flat();
    const small = Array.from({ length: 100 }, (_, number) => play(number));
    const [first, later] = [await fixture.user(), await fixture.user()];
    await upload(first, large);
    await upload(later, small);
    await upload(later, large);
    expect(await outcome(first)).toEqual([503, 'complete']);
    // The memory of the first one is free a moment after its answer.
    await eventually(async () => expect(await outcome(later)).toEqual([200, 'broken']));
  });

  it('breaks if a service stops answering, and is no complete JSON', async () => {
    const proxy = await TcpProxy.to(fixture.stack.redis.url);
    const answer = await pausedDownload(ann, await fixture.startReplica({ REDIS_URL: proxy.url }));
    proxy.refuse();
    const { end, text } = await rest(answer);
    expect(end).toBe('broken');
    expect(() => JSON.parse(`{"actions":[${text}`)).toThrow(SyntaxError);
    proxy.accept();
    proxy.close();
  });
});
