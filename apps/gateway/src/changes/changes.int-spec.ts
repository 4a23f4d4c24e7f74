import { connect } from 'node:net';
import { RevocationWriter } from '#identity';
import { createLog } from '#runtime';
import { type Device, eventually, TcpProxy } from '#testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { StreamFixture } from '../../testing/stream.fixture.js';

const epoch = '1970-01-01T00:00:00.000Z';
/** Returns the n-th stamp of an ascending sequence. */
const stamp = (n: number) => new Date(Date.UTC(2026, 0, 1) + n).toISOString();

let context: StreamFixture;
beforeAll(async () => {
  context = await StreamFixture.open();
});
afterEach(() => context.stop());
afterAll(() => context.close());

const headers = ({ token }: Device) => ({ authorization: `Bearer ${token}` });
const ask = (device: Device, init: RequestInit = {}) =>
  fetch(`${context.url}/changes`, { headers: headers(device), ...init });
/** Returns the number of gateways that subscribe to a user. */
const listeners = async ({ user }: Device) =>
  (await context.redis.pubsub('NUMSUB', `clock:${user}`))[1];

describe('a stream', () => {
  it('starts with the clock, and with headers against caches', async () => {
    await context.serve();
    const { stamps, response } = await context.follow(await context.device());
    expect(stamps).toEqual([epoch]);
    expect(response.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.any(String) as string,
    });
  });

  it('has the same headers for HEAD, without taking a slot', async () => {
    await context.serve({ MAX_STREAMS: '0' });
    const answer = await ask(await context.device(), { method: 'HEAD' });
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      200,
      'text/event-stream',
      '',
    ]);
  });

  it('sends increasing stamps, and merges simultaneous ones into the last', async () => {
    await context.serve({}, { mergeMs: 300 });
    const device = await context.device();
    const stream = await context.follow(device);
    for (const n of [5, 3, 9, 9, 8, 1, 7]) await context.notify(device.user, stamp(n));
    await stream.received(stamp(9));
    await context.notify(device.user, stamp(2));
    await context.notify(device.user, stamp(10));
    await stream.received(stamp(10));
    expect(stream.stamps).toEqual([...new Set(stream.stamps)].sort());
    // The first stamp was just sent, so the others are merged.
    expect(stream.stamps.length).toBeLessThanOrEqual(4);
  });

  it('sends heartbeats', async () => {
    await context.serve({}, { heartbeatMs: 50 });
    const stream = await context.follow(await context.device());
    await eventually(() => expect(stream.heartbeats).toBeGreaterThan(3));
    expect([stream.stamps, stream.unexpected, stream.end]).toEqual([[epoch], [], 'open']);
  });

  it("subscribes to the user's clock once for all streams, while any is open", async () => {
    await context.serve();
    const device = await context.device();
    const streams = [await context.follow(device), await context.follow(device)];
    expect([await listeners(device), await listeners(await context.device())]).toEqual([1, 0]);
    expect(await context.metric('podcast_sync_streams')).toBe(2);
    for (const stream of streams) stream.leave();
    await eventually(async () => expect(await listeners(device)).toBe(0));
    expect(await context.metric('podcast_sync_streams')).toBe(0);
  });
});

describe('a stream ends in order', () => {
  it('when its token expires', async () => {
    await context.serve();
    const device = await context.device(undefined, '2 seconds');
    await (await context.follow(device)).ends();
    expect((await ask(device)).status).toBe(401);
  });

  it('when its credential is revoked; other streams stay open', async () => {
    await context.serve();
    const device = await context.device();
    const [stream, other] = [
      await context.follow(device),
      await context.follow(await context.device()),
    ];
    await new RevocationWriter(context.redis, createLog('test', 'silent')).revoke([
      { kind: 'user', id: device.user },
    ]);
    await stream.ends();
    expect(other.end).toBe('open');
  });

  it('when the keys of its token are removed', async () => {
    await context.serve({}, { heartbeatMs: 50 });
    const stream = await context.follow(await context.device());
    await context.issuer.files.rotate({ now: true });
    await stream.ends();
  });

  it('after its maximum lifetime', async () => {
    await context.serve({}, { lifetimeMs: 500 });
    await (await context.follow(await context.device())).ends();
  });

  it('and counts in the request durations only until its start', async () => {
    await context.serve({}, { lifetimeMs: 1_000 });
    const [device, requested] = [await context.device(), performance.now()];
    const stream = await context.follow(device);
    const startMs = performance.now() - requested;
    await stream.ends();
    const labels = 'method="GET",route="/changes",status="200"';
    const seconds = () =>
      context.metric(`podcast_sync_http_request_duration_seconds_sum{${labels}}`);
    await eventually(async () => expect(await seconds()).toBeGreaterThan(0));
    expect((await seconds()) * 1_000).toBeLessThan(startMs);
  });

  it('when the gateway stops, which rejects new streams', async () => {
    await context.serve({ DRAIN_SECONDS: '1' });
    const device = await context.device();
    const streams = [await context.follow(device), await context.follow(device)];
    const url = `${context.url}/changes`;
    const stopped = context.stop();
    const answer = await fetch(url, { headers: headers(device) });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([
      503,
      expect.stringMatching(/^[1-5]$/),
    ]);
    for (const stream of streams) await stream.ends();
    await stopped;
  });

  it('when Redis is available again after a loss; the next stream receives changes', async () => {
    const proxy = await TcpProxy.to(context.stack.redis.url);
    await context.serve({ REDIS_URL: proxy.url }, { lossSpreadMs: 100 });
    const device = await context.device();
    const stream = await context.follow(device);
    proxy.refuse();
    await eventually(async () => expect((await ask(device)).status).toBe(503));
    expect(stream.end).toBe('open');
    proxy.accept();
    await stream.ends();
    const next = await eventually(() => context.follow(device));
    await context.notify(device.user, stamp(1));
    await next.received(stamp(1));
    proxy.close();
  });
});

describe('the slots of streams', () => {
  it('are six per user: one more ends the oldest of that user', async () => {
    await context.serve();
    const device = await context.device();
    const other = await context.follow(await context.device());
    const streams = [];
    for (let n = 0; n < 7; n += 1) streams.push(await context.follow(device));
    await streams[0]?.ends();
    await context.notify(device.user, stamp(1));
    for (const stream of streams.slice(1)) await stream.received(stamp(1));
    expect(other.end).toBe('open');
  });

  it('are limited by MAX_STREAMS; a client that leaves frees its slot', async () => {
    await context.serve({ MAX_STREAMS: '2' });
    const first = await context.follow(await context.device());
    await context.follow(await context.device());
    const third = await context.device();
    const answer = await ask(third);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([
      503,
      expect.stringMatching(/^[1-5]$/),
    ]);
    first.leave();
    await eventually(() => context.follow(third));
  });

  it('are independent of the limit of connections', async () => {
    await context.serve({ MAX_CONNECTIONS: '2' });
    for (let n = 0; n < 4; n += 1) await context.follow(await context.device());
    const response = await fetch(`${context.url}/openapi.json`);
    expect(response.status).toBe(200);
    // A stopping server waits for answers that a client has not read.
    await response.text();
  });

  it('are freed when a client does not read a stream; its other stream stays open', async () => {
    await context.serve({}, { heartbeatMs: 100 });
    const device = await context.device();
    const reading = await context.follow(device);
    const socket = connect(Number(context.facts['port']), '127.0.0.1');
    socket.on('error', () => {}).pause();
    socket.write(
      `GET /changes HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${device.token}\r\n\r\n`,
    );
    const open = () => context.metric('podcast_sync_streams');
    await eventually(async () => expect(await open()).toBe(2));
    // Far longer than real stamps, to fill the socket buffers of both ends.
    for (let n = 0; (await open()) === 2 && n < 1_000; n += 1) {
      await context.notify(device.user, `${stamp(n)}${'.'.repeat(32_768)}`);
      await eventually(() => expect(reading.unexpected).toHaveLength(n + 1), { interval: 1 });
    }
    expect([await open(), reading.end]).toEqual([1, 'open']);
    socket.destroy();
  });
});
