import {
  type Api,
  createApi,
  memoryStore,
  SyncClient,
  type SyncFailure,
  type Value,
} from '#client';
import { describe, expect, test } from 'vitest';
import { eventually } from './eventually.js';
import { newGuid, numbers } from './samples.js';
import { baseUrl, token } from './stack.js';

// One example per guarantee of SyncClient; sync-model.e2e-spec.ts combines them at random.

type Fetch = typeof fetch;
interface Device {
  client: SyncClient;
  api: Api;
  failures: SyncFailure[];
  kept: Map<string, Value>;
}

/** Returns a function that creates devices of one user. */
async function person() {
  const credential = await token();
  return ({
    through = fetch,
    clock = Date.now,
  }: { through?: Fetch; clock?: () => number } = {}): Device => {
    const api = createApi({ baseUrl, token: () => credential, fetch: through, clock, retries: 0 });
    const kept = new Map<string, Value>();
    const client = new SyncClient({ api, store: memoryStore(kept), clock });
    const failures: SyncFailure[] = [];
    client.onFailure((failure) => failures.push(failure));
    return { client, api, failures, kept };
  };
}

const feed = 'https://a.example/feed';
const guids = async ({ client }: Device) => (await client.subscriptions()).map((row) => row.guid);
const positions = async ({ client }: Device) =>
  (await client.episodes()).map((row) => row.playback_position?.value).sort();

/** Returns an error answer of the interface. */
const refused = (status: number) => Response.json({ code: `${status}`, message: '' }, { status });

/** Returns a `fetch` that records requests and handles them as given. */
function wire(
  happens: (url: string, init: RequestInit, go: () => Promise<Response>) => Promise<Response>,
) {
  const sent: { method: string; path: string; key: string; body: string }[] = [];
  const through: Fetch = (input, init = {}) => {
    const url = String(input);
    const key = new Headers(init.headers).get('idempotency-key') ?? '';
    sent.push({
      method: init.method ?? '',
      path: new URL(url).pathname,
      key,
      body: String(init.body ?? ''),
    });
    return happens(url, init, () => fetch(url, init));
  };
  return { sent, through };
}

describe('a batch', () => {
  test('is repeated with the same bytes and key, and the next has another key', async () => {
    const device = await person();
    let isLost = true;
    const { sent, through } = wire(async (_url, init, go) => {
      const answer = await go();
      if (init.method === 'POST' && isLost) throw new TypeError('lost');
      return answer;
    });
    const phone = device({ through });
    const podcast = await phone.client.subscribe(feed);
    await expect(phone.client.sync()).rejects.toMatchObject({ code: 'network' });
    // Later changes are not part of the batch.
    await phone.client.setPosition(podcast, { episode_guid: 'one' }, 1);
    isLost = false;
    await phone.client.sync();
    const posts = sent.filter(({ method }) => method === 'POST');
    expect(posts.map(({ path }) => path)).toEqual([
      '/subscriptions',
      '/subscriptions',
      '/episodes',
    ]);
    expect(posts[0]).toEqual(posts[1]);
    expect(posts[2]?.key).not.toBe(posts[0]?.key);
  });

  test('has the latest value of each field: one entry for a thousand positions', async () => {
    const { sent, through } = wire((_url, _init, go) => go());
    const phone = (await person())({ through });
    const podcast = await phone.client.subscribe(feed);
    for (const n of numbers(1_000))
      await phone.client.setPosition(podcast, { episode_guid: 'one' }, n);
    await phone.client.sync();
    const uploads = sent.filter(({ path, method }) => path === '/episodes' && method === 'POST');
    expect(
      uploads.map(({ body }) => (JSON.parse(body) as { episodes: unknown[] }).episodes.length),
    ).toEqual([1]);
    expect(await positions(phone)).toEqual([numbers(1_000).at(-1)]);
  });

  test('that is rejected as a whole is halved until only wrong entries are omitted', async () => {
    const { through } = wire((_url, init, go) =>
      String(init.body).includes('poison') ? Promise.resolve(refused(405)) : go(),
    );
    const phone = (await person())({ through });
    const podcast = await phone.client.subscribe(feed);
    for (const n of numbers(5))
      await phone.client.setPosition(podcast, { episode_guid: `e${n}` }, n);
    await phone.client.setPosition(podcast, { episode_guid: 'poison' }, 9);
    await phone.client.sync();
    expect(phone.failures).toMatchObject([{ kind: 'episode', code: 'invalid', podcast }]);
    expect(await positions(phone)).toEqual(numbers(5));
  });

  test('of any number of changes arrives completely', async () => {
    const device = await person();
    const [phone, laptop] = [device(), device()];
    const podcast = await phone.client.subscribe(feed);
    for (const n of numbers(300))
      await phone.client.setPosition(podcast, { episode_guid: `e${n}` }, 7);
    await phone.client.sync();
    await laptop.client.sync();
    expect(await positions(laptop)).toEqual(numbers(300).map(() => 7));
  });
});

describe('offline changes arrive in their order', () => {
  test('subscribed, listened and unsubscribed', async () => {
    const device = await person();
    const [phone, laptop] = [device(), device()];
    const podcast = await phone.client.subscribe(feed);
    await phone.client.setPosition(podcast, { episode_guid: 'one' }, 5);
    await phone.client.unsubscribe(podcast);
    const shown = [{ guid: podcast, is_subscribed: false }];
    expect([await positions(phone), await phone.client.subscriptions()]).toMatchObject([
      [5],
      shown,
    ]);
    await phone.client.sync();
    await laptop.client.sync();
    expect([await positions(laptop), await laptop.client.subscriptions()]).toMatchObject([
      [5],
      shown,
    ]);
    expect(phone.failures).toEqual([]);
  });

  test('listened and deleted', async () => {
    const { sent, through } = wire((_url, _init, go) => go());
    const phone = (await person())({ through });
    const podcast = await phone.client.subscribe(feed);
    await phone.client.setPosition(podcast, { episode_guid: 'one' }, 5);
    await phone.client.delete(podcast);
    await phone.client.unsubscribe(podcast);
    expect([await guids(phone), await positions(phone)]).toEqual([[], []]);
    await phone.client.sync();
    const writes = sent.flatMap(({ method, path }) =>
      method === 'GET' ? [] : [`${method} ${path.split('/')[1]}`],
    );
    expect([writes, phone.failures]).toEqual([
      ['POST subscriptions', 'POST episodes', 'DELETE subscriptions'],
      [],
    ]);
  });

  test('unsubscribed after another device subscribed, which syncs later', async () => {
    const device = await person();
    const [phone, laptop] = [device(), device()];
    await laptop.client.subscribe(feed);
    const podcast = await phone.client.subscribe(feed);
    await phone.client.unsubscribe(podcast);
    for (const { client } of [phone, laptop, phone]) await client.sync();
    for (const { client } of [phone, laptop])
      expect(await client.subscriptions()).toMatchObject([{ guid: podcast, is_subscribed: false }]);
  });
});

test('a device shows its latest change, even if later batches were not read', async () => {
  let phone: Device | undefined;
  let [podcast, isSent] = ['', 0];
  const { through } = wire(async (url, init, go) => {
    if (init.method !== 'POST') return isSent > 0 ? Promise.reject(new TypeError('away')) : go();
    const answer = await go();
    isSent += url.endsWith('/episodes') ? 1 : 0;
    if (isSent < 10) await phone?.client.setPosition(podcast, { episode_guid: 'one' }, isSent + 1);
    return answer;
  });
  phone = (await person())({ through });
  podcast = await phone.client.subscribe(feed);
  await expect(phone.client.sync()).rejects.toMatchObject({ code: 'network' });
  expect([isSent, await positions(phone)]).toEqual([10, [10]]);
});

describe('changes that the server cannot accept now are kept', () => {
  const page = { headers: { 'content-type': 'text/html' } };
  test.each<[string, () => Response]>([
    ['500', () => refused(500)],
    ['502 of a proxy', () => new Response('<h1>', { ...page, status: 502 })],
    ['404 of a proxy', () => new Response('<h1>', { ...page, status: 404 })],
    ['405 of a proxy', () => Response.json({ message: 'no route' }, { status: 405 })],
    ['413 of a proxy', () => new Response('<h1>', { ...page, status: 413 })],
    ['403', () => refused(403)],
    ['429', () => refused(429)],
    ['a page', () => new Response('<h1>', page)],
    ['broken JSON', () => new Response('{', { headers: { 'content-type': 'application/json' } })],
  ])('while writes get %s', async (_name, answer) => {
    let isAway = false;
    const { through } = wire((_url, init, go) =>
      isAway && init.method !== 'GET' ? Promise.resolve(answer()) : go(),
    );
    const phone = (await person())({ through });
    const [kept, gone, left] = await Promise.all(
      ['', '/2', '/3'].map((path) => phone.client.subscribe(feed + path)),
    );
    await phone.client.sync();
    isAway = true;
    for (const n of numbers(3))
      await phone.client.setPosition(kept ?? '', { episode_guid: `e${n}` }, n);
    await phone.client.delete(gone ?? '');
    await phone.client.unsubscribe(left ?? '');
    for (const _ of numbers(20))
      await expect(phone.client.sync()).rejects.toMatchObject({ name: 'ApiError' });
    expect([phone.failures, await positions(phone)]).toEqual([[], numbers(3)]);
    isAway = false;
    await phone.client.sync();
    expect([phone.failures, await positions(phone)]).toEqual([[], numbers(3)]);
    await eventually(async () => expect((await phone.api.listEpisodes()).total).toBe(3));
    expect((await phone.api.getSubscription(left ?? '')).is_subscribed).toBe(false);
    await eventually(() =>
      expect(phone.api.getSubscription(gone ?? '')).rejects.toMatchObject({ code: 'deleted' }),
    );
  });

  test('and changes that always fail are sent after all others', async () => {
    const { through } = wire((_url, init, go) =>
      String(init.body).includes('poison') ? Promise.resolve(refused(500)) : go(),
    );
    const device = await person();
    const [phone, laptop] = [device({ through }), device()];
    const podcast = await phone.client.subscribe(feed);
    await phone.client.setPosition(podcast, { episode_guid: 'a poison' }, 9);
    for (const n of numbers(5))
      await phone.client.setPosition(podcast, { episode_guid: `e${n}` }, n);
    for (const _ of numbers(20)) await phone.client.sync().catch(() => {});
    await phone.client.setPosition(podcast, { episode_guid: 'last' }, 8);
    await expect(phone.client.sync()).rejects.toMatchObject({ code: 'unavailable' });
    await laptop.client.sync();
    expect([phone.failures, await positions(laptop)]).toEqual([[], [...numbers(5), 8].sort()]);
    await phone.client.sync().catch(() => {});
    const waiting = (await phone.client.episodes()).filter(({ pending }) => pending);
    expect(waiting.map((row) => row.episode_guid)).toEqual(['a poison']);
  });
});

test('rejected changes leave the queue and are reported with their code', async () => {
  const phone = (await person())();
  await phone.client.subscribe('nothing');
  await phone.client.setPosition(newGuid(), { episode_guid: 'one' }, 1);
  await phone.client.subscribe(feed);
  await phone.client.sync();
  expect(phone.failures.map(({ kind, code }) => [kind, code])).toEqual([
    ['subscription', 'invalid_url'],
    ['episode', 'unknown_subscription'],
  ]);
  expect((await phone.client.subscriptions()).map((row) => row.feed_url)).toEqual([feed]);
  expect(await phone.client.episodes()).toEqual([]);
});

describe('a guid that is no UUID', () => {
  test('is not sent: the podcast gets the derived guid', async () => {
    const phone = (await person())();
    const podcast = await phone.client.subscribe(feed, { guid: 'not-a-uuid' });
    await phone.client.sync();
    expect([phone.failures, await guids(phone)]).toEqual([[], [podcast]]);
    expect((await phone.api.getSubscription(podcast)).feed_url).toBe(feed);
  });

  test.each(['not-a-uuid', 'x'.repeat(10_000), 'x'.repeat(40_000)])(
    'does not block the sync of a store of version 0.2.0: %.10s',
    async (guid) => {
      const phone = (await person())();
      const changes = [[`change/subscription/${guid}`, { guid, actions: [] }]];
      phone.kept.set('done/a', { key: 'a', kind: 'subscribe', changes, body: '[]' });
      await phone.client.sync();
      expect([...phone.kept.keys()].filter((key) => key.startsWith('done/'))).toEqual([]);
    },
  );
});

test('the latest title wins on all devices, whatever the order of their syncs', async () => {
  const open = await person();
  let late = 0;
  const [phone, tablet] = [open({ clock: () => Date.now() - late }), open()];
  const titles = async ({ client }: Device) =>
    (await client.subscriptions()).map(({ title }) => title);
  const podcast = await phone.client.subscribe(feed, { title: 'First' });
  expect(await titles(phone)).toEqual(['First']);
  await phone.client.sync();
  await tablet.client.sync();
  expect(await titles(tablet)).toEqual(['First']);
  late = 60_000;
  await phone.client.setTitle(podcast, 'Earlier');
  late = 0;
  await tablet.client.setTitle(podcast, 'Later');
  await tablet.client.unsubscribe(podcast);
  expect(await titles(tablet)).toEqual(['Later']);
  for (const { client } of [tablet, phone, tablet]) await client.sync();
  for (const device of [phone, tablet]) {
    expect(await titles(device)).toEqual(['Later']);
    expect(await device.client.subscriptions()).toMatchObject([{ is_subscribed: false }]);
  }
  await phone.client.setTitle(podcast, '');
  expect(await titles(phone)).toEqual([undefined]);
  await phone.client.sync();
  expect(await titles(phone)).toEqual([undefined]);
  expect(await phone.api.getSubscription(podcast)).not.toHaveProperty('title');
});

test('a title stays with a podcast that is unsubscribed and subscribed again offline', async () => {
  const { client } = (await person())();
  const titles = async () => (await client.subscriptions()).map(({ title }) => title);
  const podcast = await client.subscribe(feed, { title: ' Mine\n' });
  await client.unsubscribe(podcast);
  await client.subscribe(feed, { title: ' ' });
  expect(await titles()).toEqual(['Mine']);
  await client.sync();
  expect(await client.subscriptions()).toMatchObject([{ title: 'Mine', is_subscribed: true }]);
});

test('an added feed has the guid of the server, and identifiers are trimmed', async () => {
  const phone = (await person())();
  const podcast = await phone.client.subscribe(`\n  ${feed}/ \u00a0`);
  await phone.client.setPosition(podcast, { episode_guid: 'one' }, 1);
  await phone.client.setPosition(podcast, { episode_guid: ' one\n' }, 2);
  expect(await positions(phone)).toEqual([2]);
  await phone.client.sync();
  const id = (await phone.client.episodes())[0]?.sync_id ?? '';
  await phone.client.setPosition(podcast, { sync_id: id.toUpperCase() }, 3);
  expect([phone.failures, await guids(phone), await positions(phone)]).toEqual([
    [],
    [podcast],
    [3],
  ]);
});

describe('a change of a subscription elsewhere', () => {
  test('of the guid keeps changes that used the old one', async () => {
    const phone = (await person())();
    const old = await phone.client.subscribe(feed);
    await phone.client.sync();
    const guid = newGuid();
    await phone.api.updateSubscription(old, { new_guid: guid });
    await phone.client.setPosition(old, { episode_guid: 'one' }, 5);
    await phone.client.sync();
    expect([await guids(phone), await positions(phone)]).toEqual([[guid], [5]]);
    await phone.client.setPosition(old, { episode_guid: 'one' }, 6);
    expect(
      (await phone.client.episodes(old)).map((row) => [
        row.podcast_guid,
        row.playback_position?.value,
      ]),
    ).toEqual([[guid, 6]]);
  });

  test('that merges two leaves one with the episodes of both', async () => {
    const phone = (await person())();
    const [one, other] = [
      await phone.client.subscribe(feed),
      await phone.client.subscribe(`${feed}/2`),
    ];
    await phone.client.setPosition(one, { episode_guid: 'shared' }, 1);
    await phone.client.setPosition(other, { episode_guid: 'shared' }, 2);
    await phone.client.setPosition(other, { episode_guid: 'own' }, 3);
    await phone.client.sync();
    await phone.api.updateSubscription(one, { new_guid: other });
    await phone.client.unsubscribe(other);
    await phone.client.sync();
    expect(await phone.client.subscriptions()).toMatchObject([
      { is_subscribed: false, pending: false },
    ]);
    expect(await positions(phone)).toEqual([2, 3]);
  });

  test('that deletes it also drops episodes and pending changes', async () => {
    const phone = (await person())();
    const podcast = await phone.client.subscribe(feed);
    await phone.client.setPosition(podcast, { episode_guid: 'one' }, 5);
    await phone.client.sync();
    await phone.client.delete(podcast);
    expect(await guids(phone)).toEqual([]);
    await eventually(async () => {
      await phone.client.sync();
      expect([await guids(phone), await phone.client.episodes()]).toEqual([[], []]);
    });
    await phone.client.unsubscribe(podcast);
    await phone.client.delete(podcast);
    await phone.client.sync();
    expect([...phone.kept.keys()].filter((key) => /^(change|batch|done)/.test(key))).toEqual([]);
    expect(phone.failures).toEqual([]);
  });

  test('that makes two feeds equal makes them one here, by either guid', async () => {
    const device = await person();
    const [phone, laptop] = [device(), device()];
    const guid = await phone.client.subscribe(feed, { guid: newGuid() });
    await phone.client.sync();
    const derived = await laptop.client.subscribe(feed.replace('https', 'http'));
    await laptop.client.setPosition(derived, { episode_guid: 'one' }, 5);
    await laptop.client.sync();
    expect([await guids(laptop), (await laptop.client.episodes(derived)).length]).toEqual([
      [guid],
      1,
    ]);
    await laptop.client.unsubscribe(derived);
    await laptop.client.sync();
    await phone.client.sync();
    expect(await phone.client.subscriptions()).toMatchObject([{ guid, is_subscribed: false }]);
  });
});

test('a device with a wrong clock neither wins permanently nor loses', async () => {
  const device = await person();
  const day = 86_400_000;
  const [ahead, behind] = [
    device({ clock: () => Date.now() + day }),
    device({ clock: () => Date.now() - day }),
  ];
  const podcast = await ahead.client.subscribe(feed);
  await ahead.client.setPosition(podcast, { episode_guid: 'one' }, 1);
  await ahead.client.sync();
  await behind.client.sync();
  await behind.client.setPosition(podcast, { episode_guid: 'one' }, 2);
  await behind.client.sync();
  await ahead.client.sync();
  expect([await positions(ahead), await positions(behind)]).toEqual([[2], [2]]);
});

describe('a clock that is corrected before a device syncs', () => {
  const day = 86_400_000;
  test('and was behind makes no change older than the value that it replaces', async () => {
    const device = await person();
    let wrong = -3 * day;
    const [phone, laptop] = [device({ clock: () => Date.now() + wrong }), device()];
    const podcast = await laptop.client.subscribe(feed);
    await laptop.client.setPosition(podcast, { episode_guid: 'one' }, 100);
    await laptop.client.sync();
    await phone.client.sync();
    await phone.client.setPosition(podcast, { episode_guid: 'one' }, 200);
    await phone.client.unsubscribe(podcast);
    wrong = 0;
    await phone.client.sync();
    await laptop.client.sync();
    expect([await positions(phone), await positions(laptop)]).toEqual([[200], [200]]);
    expect(await laptop.client.subscriptions()).toMatchObject([{ is_subscribed: false }]);
  });

  test('and was ahead makes no change newer than later ones', async () => {
    const device = await person();
    let wrong = 3 * day;
    const [phone, laptop] = [device({ clock: () => Date.now() + wrong }), device()];
    const podcast = await phone.client.subscribe(feed);
    for (const { client } of [phone, laptop]) await client.sync();
    await phone.client.setPosition(podcast, { episode_guid: 'one' }, 1);
    await laptop.client.sync();
    await laptop.client.setPosition(podcast, { episode_guid: 'one' }, 2);
    wrong = 0;
    for (const { client } of [laptop, phone, laptop]) await client.sync();
    expect([await positions(phone), await positions(laptop)]).toEqual([[2], [2]]);
  });
});

describe('a started client', () => {
  test('sends local changes, and receives remote ones immediately', async () => {
    const device = await person();
    const [phone, laptop] = [device(), device()];
    phone.client.start();
    laptop.client.start();
    try {
      const podcast = await phone.client.subscribe(feed);
      await eventually(async () => expect(await guids(laptop)).toEqual([podcast]));
      await laptop.client.setPosition(podcast, { episode_guid: 'one' }, 5);
      await eventually(async () => expect(await positions(phone)).toEqual([5]));
    } finally {
      await Promise.all([phone.client.stop(), laptop.client.stop()]);
    }
  });

  test('continues after faults of the stream and the network', async () => {
    const device = await person();
    let isAway = true;
    const { sent, through } = wire((_url, _init, go) =>
      isAway ? Promise.reject(new TypeError('away')) : go(),
    );
    const phone = device({ through });
    const errors: unknown[] = [];
    phone.client.onError((error) => errors.push(error));
    phone.client.start();
    try {
      await eventually(async () => expect(sent.length).toBeGreaterThan(2));
      expect(errors[0]).toMatchObject({ code: 'network' });
      isAway = false;
      const laptop = device();
      const podcast = await laptop.client.subscribe(feed);
      await laptop.client.sync();
      await eventually(async () => expect(await guids(phone)).toEqual([podcast]));
    } finally {
      await phone.client.stop();
    }
  });

  test('works without a stream, and stops immediately', async () => {
    const { sent, through } = wire((url, _init, go) =>
      url.endsWith('/changes') ? Promise.resolve(refused(404)) : go(),
    );
    const phone = (await person())({ through });
    phone.client.start();
    const podcast = await phone.client.subscribe(feed);
    await eventually(async () => expect((await phone.api.listSubscriptions()).total).toBe(1));
    await phone.client.stop();
    expect(await guids(phone)).toEqual([podcast]);
    expect(sent.filter(({ path }) => path === '/changes')).toHaveLength(1);
  });
});
