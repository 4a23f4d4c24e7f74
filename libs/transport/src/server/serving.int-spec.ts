import { describe, expect, it } from 'vitest';
import { eventually } from '#testing';
import { callOnce } from '../../testing/repeated-calls.js';
import { useTransport } from '../../testing/use-transport.js';
import { encodeRequest, consumerGroup, serviceKeys } from '../wire/format.js';

const { admin, replica, client } = useTransport();
const { requests, heartbeats } = serviceKeys('episode');
const texts = (name: string, count = 20) => Array.from({ length: count }, (_, n) => `${name}${n}`);

/** Waits until a replica does not read and clients ignore it. */
async function isWithdrawn(replicaId?: string): Promise<void> {
  await eventually(async () => {
    const [seconds, micros] = await admin().time();
    const now = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
    const believed = await admin().zrangebyscore(heartbeats, now, '+inf');
    expect(believed.filter((id) => replicaId === undefined || id === replicaId)).toEqual([]);
  });
}

describe('a replica that takes no requests', () => {
  it('leaves requests to other replicas, and takes its share again afterwards', async () => {
    const away = await replica({ name: 'away' });
    await eventually(async () => expect(await admin().zcard(heartbeats)).toBe(1));
    const [id] = await admin().zrange(heartbeats, '0', '-1');
    const other = await replica({ name: 'other' });
    const gateway = await client({ services: ['episode'] });
    away.server.setServing(false);
    await isWithdrawn(id);
    // The last blocking read can still return requests; after that none arrive.
    await eventually(async () => {
      const before = away.runs.length;
      const asked = await Promise.all(texts('probe').map((text) => callOnce(gateway, text)));
      expect(asked.every(({ end }) => end === 'answered')).toBe(true);
      expect(away.runs).toHaveLength(before);
    });
    const before = away.runs.length;
    const answers = await Promise.all(texts('meanwhile').map((text) => callOnce(gateway, text)));
    expect(answers.every(({ end }) => end === 'answered')).toBe(true);
    expect(away.runs).toHaveLength(before);
    expect(other.runs.length).toBeGreaterThanOrEqual(20);

    away.server.setServing(true);
    await eventually(async () => {
      await Promise.all(texts('again').map((text) => callOnce(gateway, text)));
      expect(away.runs.some((text) => text.startsWith('again'))).toBe(true);
    });
  });

  it('and is the only one: calls are unavailable until it takes requests again', async () => {
    const only = await replica({ timings: { drainGraceMs: 600, blockMs: 50, drainMs: 100 } });
    const gateway = await client({ services: ['episode'] });
    await callOnce(gateway, 'before');
    only.server.setServing(false);
    // Until the gateway has read the heartbeat, requests are still answered.
    await eventually(async () => {
      const { end, tookMs } = await callOnce(gateway, 'meanwhile');
      // The deadline is 5 s.
      expect(tookMs).toBeLessThan(2_500);
      expect(end).toBe('unavailable');
    });
    await isWithdrawn();
    only.server.setServing(true);
    await eventually(async () =>
      expect(await callOnce(gateway, 'after')).toMatchObject({ end: 'answered' }),
    );
  });

  it('ends its blocked read', async () => {
    const isBlocked = async () => / flags=b /.test(String(await admin().client('LIST')));
    const { server } = await replica({ timings: { drainGraceMs: 0, blockMs: 60_000, drainMs: 0 } });
    await eventually(async () => expect(await isBlocked()).toBe(true));
    server.setServing(false);
    await eventually(async () => expect(await isBlocked()).toBe(false));
    server.setServing(true);
    await eventually(async () => expect(await isBlocked()).toBe(true));
    expect(server.counters).toMatchObject({ lostConnections: 0 });
  });

  it('answers the requests that it started before', async () => {
    const only = await replica();
    const gateway = await client({ services: ['episode'] });
    const started = callOnce(gateway, 'started', { takesMs: 300 });
    await eventually(() => expect(only.runs).toEqual(['started']));
    only.server.setServing(false);
    expect(await started).toMatchObject({ end: 'answered' });
    await isWithdrawn();
  });

  it('takes over requests of a dead replica only while it takes requests', async () => {
    const only = await replica();
    only.server.setServing(false);
    // No blocking read is left.
    await eventually(async () => {
      const lists = await Promise.all(Array.from({ length: 5 }, () => admin().client('LIST')));
      expect(lists.join('')).not.toMatch(/ flags=b /);
    });
    const request = {
      pattern: 'episode.probe',
      data: '{"text":"left"}',
      timeLimitMs: 60_000,
      metadata: {},
    };
    const reply = { channel: 'nobody', id: '1' };
    await admin().xadd(requests, '*', ...encodeRequest({ ...request, reply }));
    await admin().xreadgroup('GROUP', consumerGroup, 'gone', 'COUNT', 1, 'STREAMS', requests, '>');
    // Twice the time after which a request counts as abandoned.
    await eventually(async () => {
      const rows = (await admin().xpending(requests, consumerGroup, '-', '+', 1)) as [
        string,
        string,
        number,
        number,
      ][];
      expect(rows[0]?.[2]).toBeGreaterThan(2_500);
    });
    expect(only.runs).toEqual([]);
    only.server.setServing(true);
    await eventually(() => expect(only.runs).toEqual(['left']));
  });
});
