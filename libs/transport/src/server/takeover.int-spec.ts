import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { eventually } from '#testing';
import { callOnce } from '../../testing/repeated-calls.js';
import { secretProbe, probe } from '../../testing/probe.contracts.js';
import { connectTo, memoryLog } from '../../testing/probe-replica.js';
import { useTransport } from '../../testing/use-transport.js';
import { decodeEntry, encodeRequest, consumerGroup, serviceKeys } from '../wire/format.js';
import { RedisLink } from '../wire/redis-link.js';
import { withScripts } from '../wire/redis-scripts.js';
import { Takeover } from './takeover.js';

const { replica, client, admin, redisUrl } = useTransport();
const { requests, heartbeats, deadLetters: dead } = serviceKeys('episode');
/** Requests of dead replicas count as abandoned after a fifth of the time in production. */
const timings = { drainGraceMs: 0, blockMs: 50, drainMs: 100, heartbeatMs: 100, abandonedMs: 250 };

/** Imitates a dead replica: it counts as alive, reads all requests and runs none. */
async function ghost() {
  await admin().xgroup('CREATE', requests, consumerGroup, '0', 'MKSTREAM');
  await admin().zadd(heartbeats, Date.now() + 60_000, 'ghost');
  return {
    /** Reads until `count` requests are pending, and delivers each `deliveries` times. */
    async take(count: number, deliveries = 1): Promise<void> {
      await eventually(async () => {
        await admin().xreadgroup('GROUP', consumerGroup, 'ghost', 'STREAMS', requests, '>');
        expect((await admin().xpending(requests, consumerGroup))[0]).toBe(count);
      });
      const pending = await admin().xpending(requests, consumerGroup, '-', '+', 100);
      for (let more = 1; more < deliveries; more += 1)
        for (const [id] of pending as [string][])
          await admin().call('XCLAIM', requests, consumerGroup, 'ghost', '0', id);
    },
  };
}

/** Adds a request that a replica has read before it died. */
async function leave(
  text: string,
  deliveries: number,
  { timeLimitMs = 5_000, ...request }: { timeLimitMs?: number; outcome?: 'hang' } = {},
) {
  await admin()
    .xgroup('CREATE', requests, consumerGroup, '0', 'MKSTREAM')
    .catch(() => {});
  const fields = encodeRequest({
    pattern: probe.pattern,
    data: JSON.stringify({ text, ...request }),
    timeLimitMs,
    metadata: {},
    reply: { channel: 'nobody', id: '1' },
  });
  // In one step, so that no reading replica is faster.
  const add = `local id = redis.call('XADD', KEYS[1], '*', unpack(ARGV, 3))
redis.call('XGROUP', 'SETID', KEYS[1], ARGV[1], id)
redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, id, 'FORCE')
return id`;
  const id = String(await admin().eval(add, 1, requests, consumerGroup, 'ghost', ...fields));
  for (let more = 1; more < deliveries; more += 1)
    await admin().call('XCLAIM', requests, consumerGroup, 'ghost', '0', id);
  return { id, entry: decodeEntry(id, fields)! };
}

describe('a request of a dead replica', () => {
  it('is taken over long before its deadline, and runs alone', async () => {
    const { take } = await ghost();
    const gateway = await client();
    const left = ['left1', 'left2'].map((text) =>
      callOnce(gateway, text, { takesMs: 50, timeLimitMs: 60_000 }),
    );
    await take(2);
    const { runs, spans, server } = await replica({ timings });
    const others: Promise<unknown>[] = [];
    for (let round = 0; runs.length < 3 || !runs.includes('left2'); round += 1) {
      others.push(callOnce(gateway, `other${round}`, { takesMs: 60, timeLimitMs: 60_000 }));
      await delay(10);
    }
    await Promise.all(others);
    for (const outcome of await Promise.all(left)) {
      expect(outcome.end).toBe('answered');
      expect(outcome.tookMs).toBeLessThan(20_000);
    }
    expect(server.counters).toMatchObject({ takeovers: 2 });
    const alone = spans.filter(({ text }) => text.startsWith('left'));
    expect(alone).toHaveLength(2);
    for (const span of alone)
      expect(
        spans.filter((other) => other !== span && other.from < span.to && span.from < other.to),
      ).toEqual([]);
  });

  it('ends the blocked read of an idle replica', async () => {
    const { runs, server } = await replica({ timings: { ...timings, blockMs: 60_000 } });
    await eventually(async () =>
      expect(await admin().client('LIST')).toMatch(/ flags=b .* cmd=xreadgroup /),
    );
    await leave('left', 1);
    await eventually(() => expect(runs).toEqual(['left']));
    // Otherwise the read ends with its connection, after the `socketTimeout`.
    expect(server.counters).toMatchObject({ takeovers: 1, lostConnections: 0 });
  });

  it('is dropped without a run after its deadline', async () => {
    const { take } = await ghost();
    const outcome = callOnce(await client(), 'left', { timeLimitMs: 200 });
    await take(1);
    const { runs, server } = await replica({ timings });
    expect((await outcome).end).toBe('unavailable');
    await eventually(() =>
      expect(server.counters).toMatchObject({ expiredRequests: 1, takeovers: 0 }),
    );
    expect([runs, await admin().xlen(requests), await admin().xlen(dead)]).toEqual([[], 0, 0]);
  });

  it('becomes a dead letter without its payload after 3 deliveries', async () => {
    const { take } = await ghost();
    const gateway = await client();
    const plain = callOnce(gateway, 'left', { timeLimitMs: 60_000 });
    const secret = gateway.call(
      secretProbe,
      { text: 'a-secret' },
      { requestId: 'r', timeLimitMs: 60_000 },
    );
    await take(2, 3);
    const { runs, server, logged } = await replica({ timings });
    await expect(secret).rejects.toMatchObject({ code: 'unavailable' });
    expect(await plain).toMatchObject({ end: 'unavailable' });
    expect((await plain).tookMs).toBeLessThan(20_000);
    // The script answers the caller before the replica counts.
    await eventually(() => expect(server.counters).toMatchObject({ deadLetters: 2 }));
    const kept = JSON.stringify(await admin().xrange(dead, '-', '+'));
    for (const text of [secretProbe.pattern, probe.pattern]) expect(kept).toContain(text);
    expect(kept).not.toContain('"data"');
    expect([runs, await admin().xlen(requests), await admin().xlen(dead)]).toEqual([[], 0, 2]);
    expect(kept + JSON.stringify(logged)).not.toContain('a-secret');
  });
});

describe('while no replica has a request', () => {
  const idle = { ...timings, heartbeatMs: 50, heartbeatTtlMs: 5_000 };
  /** Returns the time in ms until which the only replica counts as alive, and Redis' time. */
  const read = async () => {
    const [[, score], [seconds]] = await Promise.all([
      admin().zrange(heartbeats, '0', '0', 'WITHSCORES'),
      admin().time(),
    ]);
    return { until: Number(score), now: Number(seconds) * 1_000 };
  };

  it('heartbeats are rarer and valid for longer', async () => {
    await replica({ timings: { ...idle, abandonedMs: 1_000 } });
    const ends = new Set<number>();
    await eventually(async () => {
      const { until, now } = await read();
      if (until - now > 6_000) ends.add(until);
      expect(ends.size).toBe(4);
    });
    // The first one was written by the start.
    const [, second, third, fourth] = [...ends] as [number, number, number, number];
    expect(Math.min(third - second, fourth - third)).toBeGreaterThanOrEqual(1_000);
  });

  it('the first request starts its renewals', async () => {
    await replica({ timings: { ...idle, abandonedMs: 60_000 } });
    const validMs = async () => {
      const { until, now } = await read();
      return until - now;
    };
    await eventually(async () => expect(await validMs()).toBeGreaterThan(60_000));
    expect((await callOnce(await client(), 'x')).end).toBe('answered');
    await eventually(async () => expect(await validMs()).toBeLessThan(10_000));
  });

  it('a failed heartbeat is repeated after the short interval', async () => {
    const { logged } = await replica({ timings: { ...idle, abandonedMs: 3_000 } });
    const ends = new Set<number>();
    await eventually(async () => {
      const { until, now } = await read();
      if (until - now > 6_500) ends.add(until);
      // The first one was written by the start, which has the short interval after it.
      expect(ends.size).toBe(2);
    });
    await admin().call('ACL', 'SETUSER', 'default', '-evalsha');
    try {
      await eventually(() => expect(JSON.stringify(logged)).toContain('NOPERM'));
    } finally {
      await admin().call('ACL', 'SETUSER', 'default', '+evalsha');
    }
    const [allowedAt, { until }] = [performance.now(), await read()];
    await eventually(async () => expect((await read()).until).toBeGreaterThan(until));
    expect(performance.now() - allowedAt).toBeLessThan(1_500);
  });
});

describe('a request that runs for a long time', () => {
  it('is not taken over from a live replica', async () => {
    const replicas = await Promise.all([replica({ name: 'a' }), replica({ name: 'b' })]);
    const outcome = await callOnce(await client(), 'long', { takesMs: 2_500 });
    expect(outcome.end).toBe('answered');
    expect(replicas.flatMap(({ runs }) => runs)).toEqual(['long']);
  });

  it('leaves the stream at its deadline; its replica still takes over requests', async () => {
    const { runs, server } = await replica({ timings });
    const gateway = await client();
    expect((await callOnce(gateway, 'hung', { outcome: 'hang', timeLimitMs: 200 })).end).toBe(
      'unavailable',
    );
    await eventually(async () => expect(await admin().xlen(requests)).toBe(0));
    await leave('left', 1);
    await eventually(() => expect(runs).toEqual(['hung', 'left']));
    expect((await callOnce(gateway, 'next')).end).toBe('answered');
    await eventually(() => expect(server.counters).toMatchObject({ takeovers: 1, inFlight: 1 }));
  });

  it('does not block its replica if it was taken over', async () => {
    const { runs } = await replica({ timings });
    const gateway = await client();
    await leave('left', 1, { outcome: 'hang', timeLimitMs: 1_500 });
    await eventually(() => expect(runs).toEqual(['left']));
    expect((await callOnce(gateway, 'next')).end).toBe('answered');
  });
});

describe('a request that a replica reserved and lost to another one', () => {
  it('does not run on the first replica', async () => {
    const { id, entry } = await leave('left', 1);
    const { log } = memoryLog();
    const link = new RedisLink('writer', connectTo({ REDIS_URL: redisUrl() }), log);
    await link.ready();
    const takeover = new Takeover(link, log, {
      keys: serviceKeys('episode'),
      replica: 'slow',
      abandonedMs: 10,
      now: () => 0,
      isRunning: () => false,
    });
    await eventually(async () => expect(await takeover.reserve()).toBeDefined());
    await admin().call('XCLAIM', requests, consumerGroup, 'fast', '0', id);
    expect(await takeover.startReserved(entry)).toBe(false);
    await admin().xack(requests, consumerGroup, id);
    expect(await takeover.startReserved(entry)).toBe(false);
    await link.close();
  });
});

describe('an entry that is not a request', () => {
  it('is kept as a dead letter and stops nothing', async () => {
    await replica();
    const gateway = await client();
    await admin().xadd(requests, '*', 'some', 'thing');
    expect((await callOnce(gateway, 'next')).end).toBe('answered');
    await eventually(async () => expect(await admin().xlen(dead)).toBe(1));
  });

  it('is kept with at most 10,000 dead letters of 7 days', async () => {
    const pipeline = admin().pipeline();
    const weekAgo = Date.now() - 7 * 24 * 60 * 60 * 1_000;
    for (let n = 0; n < 10; n += 1)
      pipeline.xadd(dead, `${weekAgo - 60_000}-${n}`, 'old', 'letter');
    for (let n = 0; n < 10_000; n += 1) pipeline.xadd(dead, '*', 'a', 'letter');
    await pipeline.exec();
    await replica();
    await admin().xadd(requests, '*', 'some', 'thing');
    await eventually(async () =>
      expect((await admin().xrevrange(dead, '+', '-', 'COUNT', 1))[0]?.[1]).toContain('some'),
    );
    expect(await admin().xlen(dead)).toBe(10_000);
    const [oldest] = await admin().xrange(dead, '-', '+', 'COUNT', 1);
    expect(Number(oldest![0].split('-')[0])).toBeGreaterThan(weekAgo);
  });
});

describe('a stopped replica', () => {
  it('is deleted from the group, and leaves no heartbeat', async () => {
    const { app } = await replica();
    expect(await admin().zcard(heartbeats)).toBe(1);
    await app.close();
    expect(await admin().zcard(heartbeats)).toBe(0);
    expect(await admin().xinfo('CONSUMERS', requests, consumerGroup)).toEqual([]);
  });

  it('is not deleted while requests are pending with it', async () => {
    const { app, runs } = await replica();
    const outcome = callOnce(await client(), 'hung', { outcome: 'hang', timeLimitMs: 1_000 });
    await eventually(() => expect(runs).toHaveLength(1));
    await app.close();
    expect(await admin().xinfo('CONSUMERS', requests, consumerGroup)).toHaveLength(1);
    const { app: next } = await replica();
    await eventually(async () =>
      expect((await admin().xpending(requests, consumerGroup))[0]).toBe(1),
    );
    await next.close();
    await outcome;
  });
});

describe('consumers of dead replicas', () => {
  it('are deleted, unless requests are pending with them or they are alive', async () => {
    const { take } = await ghost();
    const outcome = callOnce(await client(), 'left', { timeLimitMs: 100 });
    await take(1);
    await outcome;
    for (const name of ['gone', 'well'])
      await admin().xgroup('CREATECONSUMER', requests, consumerGroup, name);
    await admin().zrem(heartbeats, 'ghost');
    await admin().zadd(heartbeats, Date.now() + 60_000, 'well');
    const scripted = withScripts(admin());
    await eventually(async () =>
      expect(await scripted.rpcRemoveDeadConsumers(requests, heartbeats, consumerGroup, 5)).toBe(1),
    );
    const names = ((await admin().xinfo('CONSUMERS', requests, consumerGroup)) as string[][]).map(
      (consumer) => consumer[1],
    );
    expect(names).toEqual(['ghost', 'well']);
  });
});

describe('the group', () => {
  it('is created again after it was destroyed', async () => {
    await replica();
    const gateway = await client();
    await admin().xgroup('DESTROY', requests, consumerGroup);
    await eventually(async () =>
      expect((await callOnce(gateway, 'x', { timeLimitMs: 500 })).end).toBe('answered'),
    );
  });

  it('delivers requests that were added before it was created', async () => {
    const request = {
      pattern: probe.pattern,
      data: '{"text":"before"}',
      timeLimitMs: 5_000,
      metadata: {},
    };
    const reply = { channel: 'nobody', id: '1' };
    await admin().xadd(requests, '*', ...encodeRequest({ ...request, reply }));
    const { runs } = await replica();
    await eventually(() => expect(runs).toEqual(['before']));
  });
});
