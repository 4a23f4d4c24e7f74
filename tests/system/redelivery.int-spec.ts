import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPool, Database } from '#database';
import { connectRedis, redisConfig } from '#redis';
import {
  AppStack,
  type AppProcess,
  type Device,
  type DeviceAnswer,
  eventually,
  TcpProxy,
} from '#testing';
import { episodeConfig } from '../../apps/episode/src/episode.config.js';
import { EpisodeService } from '../../apps/episode/src/episode.service.js';
import { subscriptionConfig } from '../../apps/subscription/src/subscription.config.js';
import { SubscriptionService } from '../../apps/subscription/src/subscription.service.js';
import { call } from '../../libs/transport/testing/handler-call.js';

type Service = 'subscription' | 'episode';
type Subscribed = { success: { guid: string }[] };

/** A write to a subscription, a later write of another device, and the one that must win. */
interface Case {
  readonly write: string;
  readonly app: Service;
  send(device: Device, guid: string, key?: string): Promise<DeviceAnswer<object>>;
  /** True without a key: its answer is not stored, and it runs again. */
  readonly keyless?: true;
  /** Goes past the replicas, so that it comes before any takeover. */
  other(userId: string, guid: string): Promise<unknown>;
  /** The other device's write, as that device reads it. */
  read(device: Device, guid: string): Promise<unknown>;
  /** The value that {@link read} must return. */
  readonly expected: unknown;
}

const feed = 'https://example.org/feed';
const post = (device: Device, key?: string) =>
  device.send<Subscribed>('POST', '/subscriptions', {
    body: { subscriptions: [{ feed_url: feed }] },
    key,
  });
/** Equal client times: the one that is applied later wins. */
const timestamp = '2026-01-02T00:00:00Z';
const upload = (device: Device, podcast_guid: string) => {
  const episodes = [
    { podcast_guid, episode_guid: 'one', playback_position: { value: 40, timestamp } },
  ];
  return device.send('POST', '/episodes', { body: { episodes } });
};
const isSubscribed = async (device: Device, guid: string) =>
  (await device.send('GET', `/subscriptions/${guid}`)).body['is_subscribed'];

const position = async (device: Device) => {
  const { body } = await device.send<{ episodes: { playback_position: { value: number } }[] }>(
    'GET',
    '/episodes',
  );
  return body.episodes.map((episode) => episode.playback_position.value)[0];
};

/** The answer of the first write is stored; the second write runs again with its first stamp. */
const cases: readonly Case[] = [
  {
    write: 'POST /subscriptions',
    app: 'subscription',
    send: (device, _guid, key) => post(device, key),
    other: (userId, guid) => subscriptions.update({ userId, guid, isSubscribed: false }, call()),
    read: isSubscribed,
    expected: false,
  },
  {
    write: 'POST /episodes without a key',
    app: 'episode',
    keyless: true,
    send: (device, guid) => upload(device, guid),
    other: (userId, podcastGuid) => {
      const entry = {
        podcast_guid: podcastGuid,
        episode_guid: 'one',
        playback_position: { value: 90, timestamp },
      };
      return episodes.upload({ userId, body: { episodes: [entry] } }, call());
    },
    read: position,
    expected: 90,
  },
];

let stack: AppStack;
let gateway: AppProcess;
let database: pg.Pool;
let redis: ReturnType<typeof connectRedis>;
let subscriptions: SubscriptionService;
let episodes: EpisodeService;
const databases: Database[] = [];
const wires: TcpProxy[] = [];
const replicas = new Map<Service, AppProcess>();

beforeAll(async () => {
  stack = await AppStack.open();
  const apps: readonly Service[] = ['subscription', 'episode'];
  const [first, ...services] = await stack.start(['gateway', ...apps]);
  gateway = first!;
  for (const [n, app] of apps.entries()) replicas.set(app, services[n]!);
  const open = (app: Service) => {
    const url = stack.postgres.urls[app];
    databases.push(new Database(createPool({ url, poolSize: 1 })));
    return databases.at(-1)!;
  };
  const DATABASE_URL = 'postgres://database';
  subscriptions = new SubscriptionService(
    open('subscription'),
    subscriptionConfig.parse({ DATABASE_URL }),
  );
  episodes = new EpisodeService(open('episode'), episodeConfig.parse({ DATABASE_URL }));
  database = new pg.Pool({ connectionString: stack.postgres.url });
  redis = connectRedis(redisConfig.parse({ REDIS_URL: stack.redis.url }), {
    enableOfflineQueue: true,
  });
});

afterAll(async () => {
  for (const each of databases) await each.close();
  await database.end();
  redis.disconnect();
  await stack.close();
  for (const wire of wires) wire.close();
});

/** Locks a user's clock, so that a write blocks before its effect; returns how to release it. */
async function holdClock(user: string): Promise<() => Promise<void>> {
  const client = await database.connect();
  await client.query('BEGIN');
  await client.query('SELECT sync.lock_clock($1)', [user]);
  return async () => {
    await client.query('COMMIT');
    client.release();
  };
}

/** Waits for a row. */
function row<Row extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<Row> {
  return eventually(async () => {
    const { rows } = await database.query<Row>(text, values);
    expect(rows).toHaveLength(1);
    return rows[0]!;
  });
}

const waitsForClock = `SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = $1 AND wait_event_type = 'Lock'`;
/** The user's second write; the first one subscribed. */
const committed = `SELECT a.answer FROM sync.request r
  LEFT JOIN sync.answer a USING (user_id, request_id)
  WHERE r.user_id = $1 ORDER BY r.stamp OFFSET 1`;

/** All values of a JSON document. */
function leaves(document: unknown): unknown[] {
  return typeof document === 'object' && document !== null
    ? Object.values(document).flatMap(leaves)
    : [document];
}

/** A replica whose connection to Redis the test can cut. */
async function replicaOnWire(app: Service): Promise<{ replica: AppProcess; wire: TcpProxy }> {
  const wire = await TcpProxy.to(stack.redis.url);
  wires.push(wire);
  const [replica] = await stack.start([app], {
    REDIS_URL: wire.url,
    QUEUE_REDIS_URL: stack.redis.url,
  });
  return { replica: replica!, wire };
}

/** Cuts a replica's connections, and waits until Redis has no blocked reads of it. */
async function silence(wire: TcpProxy): Promise<void> {
  wire.hold();
  await eventually(async () => {
    const clients = String(await redis.client('LIST')).split('\n');
    const waiting = clients.filter((client) =>
      wire.ports.some((port) => client.includes(`addr=127.0.0.1:${port} `)),
    );
    expect(waiting.filter((client) => /flags=\S*b/.test(client))).toEqual([]);
  });
}

/**
 * One of two replicas commits the write, but its answer never reaches Redis: it is disconnected,
 * and killed or suspended. Another device writes. Then the other replica takes over the request.
 */
async function play(
  { app, send, keyless, other, read, expected }: Case,
  fault: 'kill' | 'pause',
): Promise<void> {
  const phone = await stack.device(gateway);
  const guid = (await post(phone)).body.success[0]!.guid;
  const [first, second] = await Promise.all([replicaOnWire(app), replicaOnWire(app)]);
  await replicas.get(app)!.stop();
  replicas.set(app, second.replica);
  try {
    await silence(second.wire);
    const key = keyless ? undefined : crypto.randomUUID();
    const release = await holdClock(phone.user);
    const written = send(phone, guid, key);
    await row(waitsForClock, [app]);
    await silence(first.wire);
    await release();
    const { answer } = await row<{ answer: { json: unknown } | { reply: unknown } | null }>(
      committed,
      [phone.user],
    );
    expect(answer === null).toBe(keyless ?? false);
    if (fault === 'kill') await first.replica.kill();
    else first.replica.pause();
    await other(phone.user, guid);
    second.wire.release();
    const redelivered = await written;
    expect(redelivered.status).toBe(200);
    expect(second.replica.output).toContain('request of a dead replica taken over');
    expect(leaves(redelivered.body)).toEqual(expect.arrayContaining(leaves(answer ?? {})));
    expect(await read(phone, guid)).toBe(expected);
    await comeBackLate(first.replica, first.wire);
    expect(await read(phone, guid)).toBe(expected);
    // The same holds when the client itself sends the write again.
    const again = key ? await send(phone, guid, key) : redelivered;
    expect(again).toMatchObject({ status: redelivered.status, body: redelivered.body });
    expect(await read(phone, guid)).toBe(expected);
  } finally {
    await first.replica.kill();
  }
}

/** Lets the delayed messages of a suspended replica arrive. */
async function comeBackLate(replica: AppProcess, wire: TcpProxy): Promise<void> {
  wire.release();
  if (replica.hasExited) return;
  replica.resume();
  await replica.stop();
}

const faults = process.env.TEST_FULL ? (['kill', 'pause'] as const) : (['kill'] as const);

describe.each(faults)(
  'a replica that commits and is lost (%s) before it answers, while another device writes',
  { timeout: 120_000 },
  (fault) => {
    it.each(cases)(
      '$write: the redelivered write returns the first or the current answer, and reverts nothing',
      (write) => play(write, fault),
    );
  },
);
