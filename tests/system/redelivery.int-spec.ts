import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectRedis, redisConfig } from '#redis';
import { type App, AppStack, type AppProcess, type Device, type DeviceAnswer, eventually, TcpProxy } from '#testing';

type Service = Exclude<App, 'gateway'>;
type Subscribed = { success: { guid: string }[] };

/** A write to a subscription, what another device writes after it, and which of the two must stand in the end. */
interface Case {
  readonly write: string;
  readonly app: Service;
  send(device: Device, guid: string, key?: string): Promise<DeviceAnswer<object>>;
  /** Whether it is sent without a key: then its answer is not kept, and it is judged again. */
  readonly keyless?: true;
  /** Finds a row once every effect of the write has been committed. */
  readonly done?: string;
  other(device: Device, guid: string): Promise<DeviceAnswer<object>>;
  /** What the other device wrote, as it reads it. */
  read(device: Device, guid: string): Promise<unknown>;
  readonly stands: unknown;
}

const feed = 'https://example.org/feed';
const post = (device: Device, key?: string) =>
  device.send<Subscribed>('POST', '/subscriptions', { body: { subscriptions: [{ feed_url: feed }] }, key });
const patch = (device: Device, guid: string, is_subscribed: boolean, key?: string) =>
  device.send('PATCH', `/subscriptions/${guid}`, { body: { is_subscribed }, key });
const upload = (device: Device, podcast_guid: string, value: number, key?: string) => {
  const names = { podcast_guid, episode_guid: 'one', title: 'One', publish_date: '2026-01-01T00:00:00Z' };
  const urls = { enclosure_url: `${feed}/1.mp3`, episode_url: `${feed}/1` };
  // Equal client times: whichever is applied later stands.
  const playback_position = { value, timestamp: '2026-01-02T00:00:00Z' };
  return device.send('POST', '/episodes', { body: { episodes: [{ ...names, ...urls, playback_position }] }, key });
};
const isSubscribed = async (device: Device, guid: string) =>
  (await device.send('GET', `/subscriptions/${guid}`)).body['is_subscribed'];

const position = async (device: Device) => {
  const { body } = await device.send<{ episodes: { playback_position: { value: number } }[] }>('GET', '/episodes');
  return body.episodes.map((episode) => episode.playback_position.value)[0];
};

const subscribing: Case = {
  write: 'POST /subscriptions',
  app: 'subscription',
  send: (device, _guid, key) => post(device, key),
  other: (device, guid) => patch(device, guid, false),
  read: isSubscribed,
  stands: false,
};
const uploading: Case = {
  write: 'POST /episodes',
  app: 'episode',
  send: (device, guid, key) => upload(device, guid, 40, key),
  other: (device, guid) => upload(device, guid, 90),
  read: position,
  stands: 90,
};

const cases: readonly Case[] = [
  subscribing,
  { ...subscribing, write: 'POST /subscriptions without a key', keyless: true },
  uploading,
  { ...uploading, write: 'POST /episodes without a key', keyless: true },
  {
    write: 'PATCH /subscriptions/{guid}',
    app: 'subscription',
    send: (device, guid, key) => patch(device, guid, false, key),
    other: (device) => post(device),
    read: isSubscribed,
    stands: true,
  },
  {
    write: 'DELETE /subscriptions/{guid}, after SUCCESS',
    app: 'deletion-worker',
    send: (device, guid, key) => device.send('DELETE', `/subscriptions/${guid}`, { key }),
    done: "SELECT FROM deletion.deletions WHERE user_id = $1 AND status = 'SUCCESS'",
    other: (device) => post(device),
    read: isSubscribed,
    stands: true,
  },
];

let stack: AppStack;
let gateway: AppProcess;
let database: pg.Pool;
let redis: ReturnType<typeof connectRedis>;
const wires: TcpProxy[] = [];
const replicas = new Map<Service, AppProcess>();

beforeAll(async () => {
  stack = await AppStack.open();
  const apps = ['subscription', 'episode', 'deletion-worker'] as const;
  const [first, ...services] = await stack.start(['gateway', ...apps]);
  gateway = first!;
  for (const [n, app] of apps.entries()) replicas.set(app, services[n]!);
  database = new pg.Pool({ connectionString: stack.postgres.url });
  redis = connectRedis(redisConfig.parse({ REDIS_URL: stack.redis.url }), { enableOfflineQueue: true });
});

afterAll(async () => {
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
const committed = `SELECT a.answer FROM sync.request r LEFT JOIN sync.answer a USING (user_id, request_id)
  WHERE r.user_id = $1 ORDER BY r.stamp OFFSET 1`;

/** All values of a JSON document. */
function leaves(document: unknown): unknown[] {
  return typeof document === 'object' && document !== null ? Object.values(document).flatMap(leaves) : [document];
}

/** A replica whose connection to Redis the test can cut. */
async function replicaOnWire(app: Service): Promise<{ replica: AppProcess; wire: TcpProxy }> {
  const wire = await TcpProxy.to(stack.redis.url);
  wires.push(wire);
  const [replica] = await stack.start([app], { REDIS_URL: wire.url, QUEUE_REDIS_URL: stack.redis.url });
  return { replica: replica!, wire };
}

/** Cuts a replica's connections, and waits until Redis has none of them left that blocks for a request. */
async function silence(wire: TcpProxy): Promise<void> {
  wire.hold();
  await eventually(async () => {
    const clients = String(await redis.client('LIST')).split('\n');
    const waiting = clients.filter((client) => wire.ports.some((port) => client.includes(`addr=127.0.0.1:${port} `)));
    expect(waiting.filter((client) => /flags=\S*b/.test(client))).toEqual([]);
  });
}

/**
 * Of two replicas, one gets the write and commits it, but its answer never reaches Redis: the replica is cut off, and
 * killed or suspended. The answer comes from the other replica, which takes the request over.
 *
 * @returns whether the other device wrote before the takeover, as the case demands; the takeover may have been faster.
 */
async function play(
  { app, send, keyless, done, other, read, stands }: Case,
  fault: 'kill' | 'pause',
): Promise<boolean> {
  const phone = await stack.device(gateway);
  const laptop = await stack.device(gateway, phone.user);
  const guid = (await post(phone)).body.success[0]!.guid;
  const first = await replicaOnWire(app);
  const second = await replicaOnWire(app);
  await replicas.get(app)!.stop();
  replicas.set(app, second.replica);
  try {
    await silence(second.wire);
    const key = keyless ? undefined : crypto.randomUUID();
    const release = await holdClock(phone.user);
    const ends: string[] = [];
    const written = send(phone, guid, key).finally(() => ends.push('redelivered'));
    await row(waitsForClock, [app]);
    await silence(first.wire);
    second.wire.release();
    await release();
    const { answer } = await row<{ answer: { json: unknown } | { reply: unknown } | null }>(committed, [phone.user]);
    expect(answer === null).toBe(keyless ?? false);
    if (done) await row(done, [phone.user]);
    if (fault === 'kill') await first.replica.kill();
    else first.replica.pause();
    expect(await other(laptop, guid).finally(() => ends.push('other'))).toMatchObject({ status: 200 });
    const redelivered = await written;
    expect(redelivered.status).toBe(app === 'deletion-worker' ? 202 : 200);
    expect(second.replica.output).toContain('took over the request of a replica that is gone');
    if (answer) expect(leaves(redelivered.body)).toEqual(expect.arrayContaining(leaves(answer)));
    expect(await read(laptop, guid)).toBe(stands);
    await comeBackLate(first.replica, first.wire);
    expect(await read(laptop, guid)).toBe(stands);
    // The same holds when the client itself sends the write again.
    if (key) expect(await send(phone, guid, key)).toMatchObject({ status: redelivered.status, body: redelivered.body });
    expect(await read(laptop, guid)).toBe(stands);
    return ends[0] === 'other';
  } finally {
    await first.replica.kill();
  }
}

/** Repeats a case until the other device was faster than the takeover. */
async function playInOrder(write: Case, fault: 'kill' | 'pause'): Promise<void> {
  for (let attempt = 1; attempt <= 3; attempt += 1) if (await play(write, fault)) return;
  throw new Error('the takeover came before the write of the other device, three times');
}

/** The messages of a replica that was suspended arrive after all. */
async function comeBackLate(replica: AppProcess, wire: TcpProxy): Promise<void> {
  wire.release();
  if (replica.hasExited) return;
  replica.resume();
  await replica.stop();
}

const faults = process.env.TEST_FULL ? (['kill', 'pause'] as const) : (['kill'] as const);

it('a key older than an hour is new, whatever it stood for', async () => {
  const device = await stack.device(gateway);
  const key = crypto.randomUUID();
  const guid = (await post(device, key)).body.success[0]!.guid;
  const again = () => patch(device, guid, false, key);
  const age = (time: string) =>
    database.query('UPDATE sync.request SET created_at = now() - $2::interval WHERE user_id = $1', [device.user, time]);
  await age('59 minutes');
  expect(await again()).toMatchObject({ status: 405 });
  expect(await isSubscribed(device, guid)).toBe(true);
  await age('61 minutes');
  const answer = await again();
  expect(answer).toMatchObject({ status: 200, body: { is_subscribed: false } });
  expect(await again()).toMatchObject({ status: 200, body: answer.body });
});

describe.each(faults)(
  'a replica that commits and is lost (%s) before it answers, while another device writes',
  { timeout: 120_000 },
  (fault) => {
    it.each(cases)(
      '$write: the redelivered write answers as the first run did, or as things stand, and undoes nothing',
      (write) => playInOrder(write, fault),
    );
  },
);
