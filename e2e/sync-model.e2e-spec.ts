import fc from 'fast-check';
import {
  createApi,
  memoryStore,
  SyncClient,
  type Store,
  type SyncFailure,
  type Value,
} from '#client';
import { expect, test } from 'vitest';
import { eventually } from './eventually.js';
import { baseUrl, token } from './stack.js';

// The SDK's SyncClient against the system, with a server that sometimes fails. Devices go offline,
// crash anywhere, have wrong clocks and two processes on one store, and return in any order.

/** Crashes a process of a device: all its later steps fail. */
class Power {
  private steps = Infinity;
  private isOff = false;

  /** Crashes after this number of further steps. */
  failAfter(steps: number): void {
    this.steps = steps;
  }

  /** Runs a step. It can take effect although its caller gets an error. */
  async step<T>(run: () => Promise<T>): Promise<T> {
    this.check();
    const result = await run();
    this.check();
    return result;
  }

  private check(): void {
    if (this.isOff || this.steps-- <= 0) {
      this.isOff = true;
      throw new Error('The device has crashed');
    }
  }
}

let last = 0;
/** The exact time. It is unique per act, as either of two acts with equal times can win. */
const clock = () => (last = Math.max(last + 1, Date.now()));

class Device {
  readonly kept = new Map<string, Value>();
  readonly failures: SyncFailure[] = [];
  private readonly memory = memoryStore(this.kept);
  private power = new Power();
  private isOnline = true;
  /** True if the server answers every write with 500. */
  isFaulty = false;
  /** Error of the device's clock in milliseconds. */
  skew = 0;
  client: SyncClient;
  /** Another process on the same store. */
  readonly other: SyncClient;

  constructor(
    private readonly credential: string,
    private readonly right = clock,
  ) {
    this.other = this.started();
    this.client = this.started();
  }

  /** Starts a new process on the store of the last one. */
  private started(): SyncClient {
    const power = (this.power = new Power());
    const { memory } = this;
    const store: Store = {
      get: (key) => power.step(() => memory.get(key)),
      list: (prefix) => power.step(() => memory.list(prefix)),
      write: (writes) => power.step(() => memory.write(writes)),
      withLock: memory.withLock,
    };
    const online: typeof fetch = async (input, init) => {
      if (!this.isOnline) throw new TypeError('offline');
      if (this.isFaulty && init?.method !== 'GET')
        return Response.json({ code: '500', message: '' }, { status: 500 });
      return power.step(() => fetch(input, init));
    };
    const time = () => this.right() + this.skew;
    const api = createApi({
      baseUrl,
      token: () => this.credential,
      fetch: online,
      retries: 0,
      clock: time,
    });
    const client = new SyncClient({ api, store, clock: time });
    client.onFailure((failure) => this.failures.push(failure));
    return client;
  }

  /** Runs an act and crashes after a number of steps. @returns true if the act ended before. */
  async crashing(steps: number, run: (client: SyncClient) => Promise<unknown>): Promise<boolean> {
    this.power.failAfter(steps);
    const done = await run(this.client).then(
      () => true,
      () => false,
    );
    this.client = this.started();
    return done;
  }

  async offline(run: (client: SyncClient) => Promise<unknown>): Promise<void> {
    this.isOnline = false;
    await run(this.client).catch(() => {});
    this.isOnline = true;
  }

  /** Runs an act in the other process and syncs, while every write fails. */
  async faulty(run: (client: SyncClient) => Promise<unknown>): Promise<void> {
    this.isFaulty = true;
    await run(this.other).catch(() => {});
    for (let tries = 0; tries < 4; tries++) await this.other.sync().catch(() => {});
    this.isFaulty = false;
  }

  /** Returns all shown data in a comparable order. */
  async shown(client = this.client): Promise<unknown> {
    const subscriptions = await client.subscriptions();
    const episodes = await client.episodes();
    return {
      subscriptions: subscriptions.toSorted((one, other) => (one.guid < other.guid ? -1 : 1)),
      episodes: episodes.toSorted((one, other) => (one.sync_id < other.sync_id ? -1 : 1)),
    };
  }
}

/** Identifiers of an episode that an act sends. */
type Identifiers = 'guid' | 'file' | 'both';
type Act =
  | { kind: 'subscribe' | 'unsubscribe' | 'delete' | 'declare' | 'move'; feed: number }
  | { kind: 'title'; feed: number; title: string }
  | { kind: 'play'; feed: number; episode: number; seconds: number; by: Identifiers }
  | { kind: 'favourite'; feed: number; episode: number; favourite: boolean }
  | { kind: 'sync' };
interface Step {
  device: number;
  act: Act;
  /** Number of steps of the store and the network before a crash. */
  crash: number | undefined;
  offline: boolean;
  faulty: boolean;
}

const feeds = [
  'https://a.example/feed',
  'http://a.example/feed',
  'https://b.example/feed',
  'https://c.example/feed',
];
const declared = (feed: number) => `00000000-0000-4000-8000-00000000000${feed}`;
const feed = fc.nat(feeds.length - 1);
const episode = fc.nat(2);
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('subscribe', 'unsubscribe'), feed }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('delete', 'declare', 'move'), feed }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('title'),
      feed,
      title: fc.constantFrom('A', 'B', ''),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('play'),
      feed,
      episode,
      seconds: fc.nat(9_999),
      by: fc.constantFrom('guid', 'file', 'both'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('favourite'),
      feed,
      episode,
      favourite: fc.boolean(),
    }),
  },
  { weight: 5, arbitrary: fc.constant({ kind: 'sync' }) },
) as fc.Arbitrary<Act>;
const step: fc.Arbitrary<Step> = fc.record({
  device: fc.nat(2),
  act,
  crash: fc.option(fc.nat(40), { nil: undefined, freq: 3 }),
  offline: fc.boolean(),
  faulty: fc.boolean(),
});

function facts(feedNumber: number, n: number, by: Identifiers) {
  const url = { enclosure_url: `https://files.example/${feedNumber}/${n}.mp3` };
  const guid = { episode_guid: `episode-${feedNumber}-${n}` };
  return { ...(by !== 'file' && guid), ...(by !== 'guid' && url) };
}

/** Returns the guid of a feed on a device. */
async function guidOf(client: SyncClient, feedNumber: number): Promise<string> {
  const url = feeds[feedNumber] ?? '';
  const found = (await client.subscriptions()).find((row) => row.feed_url === url);
  return found?.guid ?? client.subscribe(url);
}

async function perform(client: SyncClient, what: Act): Promise<void> {
  if (what.kind === 'sync') return client.sync();
  const url = feeds[what.feed] ?? '';
  if (what.kind === 'subscribe') return void (await client.subscribe(url));
  if (what.kind === 'declare')
    return void (await client.subscribe(url, { guid: declared(what.feed) }));
  if (what.kind === 'move')
    return void (await client.subscribe(`${url}/moved`, { guid: declared(what.feed) }));
  const guid = await guidOf(client, what.feed);
  if (what.kind === 'unsubscribe') return client.unsubscribe(guid);
  if (what.kind === 'delete') return client.delete(guid);
  if (what.kind === 'title') return client.setTitle(guid, what.title);
  if (what.kind === 'play')
    return void (await client.setPosition(
      guid,
      facts(what.feed, what.episode, what.by),
      what.seconds,
    ));
  else if (what.kind === 'favourite')
    await client.setEpisode(guid, facts(what.feed, what.episode, 'both'), {
      favorite_status: what.favourite,
    });
}

/** Returns the data of the server, as shown by a new device. */
async function truth(credential: string): Promise<unknown> {
  const device = new Device(credential);
  await device.client.sync();
  return device.shown();
}

async function walk(devices: Device[], steps: readonly Step[]): Promise<void> {
  for (const { device: n, act: what, crash, offline, faulty } of steps) {
    const device = devices[n] as Device;
    if (crash !== undefined) await device.crashing(crash, (client) => perform(client, what));
    else if (faulty) await device.faulty((client) => perform(client, what));
    else if (offline) await device.offline((client) => perform(client, what));
    else await perform(device.client, what);
  }
}

/** Syncs all devices until nothing changes any more: deletions take the server some time. */
async function comeBack(credential: string, devices: readonly Device[]): Promise<void> {
  const api = createApi({ baseUrl, token: () => credential });
  for (const device of devices) await device.client.sync();
  await eventually(async () => {
    const before = (await api.listSubscriptions()).syncTimestamp;
    for (const device of devices) await device.client.sync();
    expect((await api.listSubscriptions()).syncTimestamp).toBe(before);
    const states = await Promise.all(
      devices.flatMap((device) => [device.shown(), device.shown(device.other)]),
    );
    const expected = await truth(credential);
    for (const state of states) expect(state).toEqual(expected);
  });
}

const numRuns = process.env['TEST_FULL'] ? 400 : 10;

test('devices that crash and go offline converge with the server', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const credential = await token();
      const devices = [new Device(credential), new Device(credential), new Device(credential)];
      await walk(devices, steps);
      await comeBack(credential, devices);
      for (const device of devices) {
        expect([...device.kept.keys()].filter((key) => /^(change|batch|done)/.test(key))).toEqual(
          [],
        );
        // Only a verdict on an entry drops a change.
        expect(
          device.failures.filter(({ code }) => code === 'unavailable' || code === 'unexpected'),
        ).toEqual([]);
      }
    }),
    { numRuns },
  );
}, 900_000);

/**
 * Waits until the time has passed the clock, which is ahead after many calls. Two seconds ahead, a
 * device would correct its clock by the server's, and another one not yet.
 */
async function caughtUp(): Promise<void> {
  while (Date.now() <= last) await new Promise(setImmediate);
}

test('the latest acknowledged change of each field is the current value', async () => {
  const calm = step.filter(
    ({ act: { kind } }) => kind !== 'delete' && kind !== 'declare' && kind !== 'move',
  );
  await fc.assert(
    fc.asyncProperty(fc.array(calm, { minLength: 5, maxLength: 30 }), async (steps) => {
      const credential = await token();
      const devices = [new Device(credential), new Device(credential), new Device(credential)];
      const [first] = devices as [Device];
      for (const url of feeds.slice(2)) await first.client.subscribe(url);
      for (const device of devices) await device.client.sync();
      // An act during a crash takes effect or not.
      const wanted = new Map<string, unknown[]>();
      const titles = new Map<number, string[]>();
      for (const { device: n, act: what, crash, offline, faulty } of steps) {
        const device = devices[n] as Device;
        if ('feed' in what && what.feed === 0) continue;
        await caughtUp();
        let done = true;
        if (crash !== undefined)
          done = await device.crashing(crash, (client) => perform(client, what));
        else if (faulty) await device.faulty((client) => perform(client, what));
        else if (offline) await device.offline((client) => perform(client, what));
        else await perform(device.client, what);
        if (what.kind === 'title') {
          const earlier = done ? [] : (titles.get(what.feed) ?? ['']);
          titles.set(what.feed, [...earlier, what.title]);
        }
        if (what.kind !== 'play' && what.kind !== 'favourite') continue;
        const name = `${what.kind} ${what.feed}/${what.episode}`;
        const value = what.kind === 'play' ? what.seconds : what.favourite;
        wanted.set(name, done ? [value] : [...(wanted.get(name) ?? [undefined]), value]);
      }
      await comeBack(credential, devices);
      const subscriptions = await first.client.subscriptions();
      for (const [feedNumber, values] of titles) {
        const row = subscriptions.find(({ feed_url }) => feed_url === feeds[feedNumber]);
        expect(values).toContain(row?.title ?? '');
      }
      const episodes = await first.client.episodes();
      for (const [name, values] of wanted) {
        const [, kind, feedNumber, n] = /^(\w+) (\d)\/(\d)$/.exec(name) ?? [];
        const { episode_guid, enclosure_url } = facts(Number(feedNumber), Number(n), 'both');
        const found = episodes.filter(
          (row) => row.episode_guid === episode_guid || row.enclosure_url === enclosure_url,
        );
        const states = found.map(
          (row) => (kind === 'play' ? row.playback_position : row.favorite_status)?.value,
        );
        expect(values).toEqual(
          expect.arrayContaining(states.length > 0 ? [latest(states, values)] : [undefined]),
        );
      }
      // Another device can have unsubscribed later, which keeps the states.
      for (const { failures } of devices)
        expect(failures.filter(({ kind }) => kind === 'episode')).toEqual([]);
    }),
    { numRuns },
  );
}, 900_000);

const hour = 3_600_000;
/** An act on one device after a sync with another one. */
const handOver = fc.record({
  device: fc.nat(2),
  kind: fc.constantFrom('play', 'toggle', 'both'),
  /** Time at which the clock of the device is set to the error `skew`. */
  set: fc.option(fc.constantFrom('before', 'between'), { nil: undefined }),
  skew: fc.constantFrom(0, 0, hour, -hour, 72 * hour, -72 * hour, 200 * 24 * hour),
  restarts: fc.boolean(),
});

test('a change in response to another device is newer, for any clocks', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(handOver, { minLength: 2, maxLength: 12 }), async (steps) => {
      const credential = await token();
      const devices = Array.from({ length: 3 }, () => new Device(credential, Date.now));
      const feedUrl = feeds[2] ?? '';
      const podcast = await (devices[0] as Device).client.subscribe(feedUrl);
      await devices[0]?.client.sync();
      let [seconds, isSubscribed] = [0, true];
      for (const [n, { device: place, kind, set, skew, restarts }] of steps.entries()) {
        const device = devices[place] as Device;
        await device.client.sync();
        if (set === 'before') device.skew = skew;
        if (kind !== 'toggle')
          await device.client.setPosition(podcast, facts(2, 0, 'guid'), (seconds = n + 1));
        if (kind !== 'play') {
          isSubscribed = !isSubscribed;
          await (isSubscribed
            ? device.client.subscribe(feedUrl)
            : device.client.unsubscribe(podcast));
        }
        if (set === 'between') device.skew = skew;
        if (restarts) await device.crashing(0, (client) => client.sync());
        await device.client.sync();
        for (const { client } of [device, new Device(credential)]) {
          await client.sync();
          expect(await client.subscriptions()).toMatchObject([
            { is_subscribed: isSubscribed, pending: false },
          ]);
          const states = (await client.episodes()).map((row) => row.playback_position?.value);
          expect(states).toEqual(seconds > 0 ? [seconds] : []);
        }
      }
    }),
    { numRuns },
  );
}, 900_000);

function latest(states: unknown[], values: unknown[]): unknown {
  return states.find((state) => values.includes(state)) ?? states[0];
}
