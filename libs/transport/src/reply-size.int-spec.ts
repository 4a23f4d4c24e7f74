import { describe, expect, it } from 'vitest';
import type { JsonText } from '#contracts';
import { eventually } from '#testing';
import { probe, jsonProbe } from '../testing/probe.contracts.js';
import { useTransport } from '../testing/use-transport.js';
import type { StreamClient } from './index.js';
import { consumerGroup, serviceKeys } from './wire/format.js';

const { admin, replica, client } = useTransport();
const { requests, deadLetters: dead } = serviceKeys('episode');
const mebibyte = 2 ** 20;

const json = (bytes: number) => JSON.stringify('x'.repeat(bytes - 2));
const asked = (gateway: StreamClient, bytes: number) =>
  gateway.call(
    jsonProbe,
    { json: json(bytes), as: 'reply' },
    { requestId: `${bytes} bytes`, timeLimitMs: 20_000 },
  );
const small = (gateway: StreamClient, text: string) =>
  gateway.call(probe, { text }, { requestId: text, timeLimitMs: 20_000 });

describe('a reply', () => {
  it('above the limit fails only its own call, and is logged once', async () => {
    const { logged } = await replica({ maxReplyBytes: 10_000 });
    const gateway = await client();
    const [tooLarge, fits, neighbour] = await Promise.allSettled([
      asked(gateway, 10_001),
      asked(gateway, 9_000),
      small(gateway, 'neighbour'),
    ]);
    expect(tooLarge).toMatchObject({ status: 'rejected', reason: { code: 'internal' } });
    expect(fits).toMatchObject({ status: 'fulfilled' });
    expect(neighbour).toMatchObject({ status: 'fulfilled', value: { text: 'neighbour' } });
    const lines = logged.filter(({ pattern }) => pattern === jsonProbe.pattern);
    expect(lines).toMatchObject([
      {
        level: 50,
        err: { message: expect.stringMatching(/has \d+ bytes, maxReplyBytes is 10000/) },
      },
    ]);
    expect(gateway.counters.lostConnections).toBe(0);
  });
});

describe('a Redis that cuts gateways over few large replies', () => {
  const limit = (value: string) => admin().config('SET', 'client-output-buffer-limit', value);
  const warnings = (logged: Record<string, unknown>[]) =>
    logged
      .filter(({ msg }) => String(msg).includes('client-output-buffer-limit'))
      .map((line) => line['limit']);

  it('causes a warning at the start; a Redis with larger buffers does not', async () => {
    const { logged: fine } = await replica();
    try {
      await limit('pubsub 33554432 8388608 60');
      const { logged } = await replica({ name: 'b' });
      await eventually(() => expect(warnings(logged)).toEqual([33_554_432]));
      await limit('pubsub 0 0 0');
      const { logged: unlimited } = await replica({ name: 'c' });
      await small(await client(), 'all have started');
      expect(warnings([...fine, ...unlimited])).toEqual([]);
    } finally {
      await limit('pubsub 67108864 33554432 10');
    }
  });
});

it('a dead letter keeps the metadata and the payload size, and no data of the user', async () => {
  await replica();
  const data = 'x'.repeat(mebibyte);
  // Not a request, as it has no budget; it becomes a dead letter immediately.
  await admin().xadd(
    requests,
    '*',
    'pattern',
    'episode.probe',
    'data',
    data,
    'channel',
    'nobody',
    'id',
    '7',
  );
  await eventually(async () => expect(await admin().xlen(dead)).toBe(1));
  const [[, fields] = []] = (await admin().xrange(dead, '-', '+')) as [
    id: string,
    fields: string[],
  ][];
  const deadLetter = Object.fromEntries(
    Array.from({ length: (fields?.length ?? 0) / 2 }, (_, n) => [
      fields![2 * n],
      fields![2 * n + 1],
    ]),
  ) as Record<string, string>;
  expect(deadLetter).toMatchObject({
    pattern: 'episode.probe',
    channel: 'nobody',
    id: '7',
    bytes: String(mebibyte),
  });
  expect(deadLetter).not.toHaveProperty('data');
  expect(await admin().xpending(requests, consumerGroup)).toEqual([0, null, null, null]);
});

it('requests that exceed the bytes of a step together are answered in several steps', async () => {
  await replica();
  const gateway = await client();
  const text = 'x'.repeat(mebibyte);
  const replies = await Promise.all(
    Array.from({ length: 12 }, (_, n) => small(gateway, `${n} ${text}`)),
  );
  expect(replies.map((reply) => reply.text.length)).toEqual(
    Array.from({ length: 12 }, (_, n) => `${n} ${text}`.length),
  );
});

// Blocks this thread beyond a heartbeat's validity: only in the sequential full suite.
it.each(process.env.TEST_FULL ? [6] : [])(
  '%i replies of maximum size to a busy gateway all arrive, and no other call fails',
  async (count) => {
    await replica();
    const gateway = await client();
    // Gateway and replica share this thread, so all replies wait in Redis while it is blocked.
    const large = Array.from({ length: count }, () => asked(gateway, 7 * mebibyte));
    const neighbours = Array.from({ length: 50 }, (_, n) => small(gateway, `neighbour ${n}`));
    for (const reply of await Promise.all(large))
      expect((reply as JsonText).toString()).toHaveLength(7 * mebibyte);
    expect(await Promise.all(neighbours)).toHaveLength(50);
    expect(gateway.counters.lostConnections).toBe(0);
  },
);
