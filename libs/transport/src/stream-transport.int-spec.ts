import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { MessagePattern } from '@nestjs/microservices';
import { describe, expect, it } from 'vitest';
import { Failure, JsonText } from '#contracts';
import { eventually } from '#testing';
import { secretProbe, probe, jsonProbe, unhandled } from '../testing/probe.contracts.js';
import { connectTo, memoryLog } from '../testing/probe-replica.js';
import { useTransport } from '../testing/use-transport.js';
import { StreamClient, StreamServer, type CallContext } from './index.js';
import { consumerGroup, serviceKeys } from './wire/format.js';

const { admin, replica, client } = useTransport();

const codeOf = (outcome: Promise<unknown>) =>
  outcome.then(
    () => 'answered',
    (error: unknown) => (error instanceof Failure ? error.code : error),
  );

describe('a call', () => {
  it('is answered, with its metadata', async () => {
    await replica();
    const correlationId = 'c1';
    const reply = await (
      await client()
    ).call(probe, { text: 'hello' }, { requestId: 'r1', correlationId });
    expect(reply).toMatchObject({ text: 'hello', replica: 'a', requestId: 'r1', correlationId });
    // At most the caller's 5 s, plus half a round trip as the error of the estimate of Redis' time.
    expect(reply.remainingMs).toBeGreaterThan(0);
    expect(reply.remainingMs).toBeLessThanOrEqual(6_000);
  });

  it('is answered with the JSON of the handler, as a whole or as a field', async () => {
    await replica();
    const gateway = await client();
    const json = `{"title":"ä 😀 \\n\\t","n":1.0, "list":[${'"long",'.repeat(20_000)}""]}`;
    const [whole, part] = await Promise.all([
      gateway.call(jsonProbe, { json, as: 'reply' }, { requestId: 'r1' }),
      gateway.call(jsonProbe, { json, as: 'field' }, { requestId: 'r2' }),
    ]);
    expect(whole instanceof JsonText && String(whole) === json).toBe(true);
    expect({ ...part, items: 'items' in part && String(part.items) === json }).toEqual({
      items: true,
      more: true,
    });
  });

  it('fails with the failure that the handler threw', async () => {
    await replica();
    const failed = (await client()).call(probe, { text: 'x', outcome: 'fail' }, { requestId: 'r' });
    await expect(failed).rejects.toMatchObject({ code: 'gone' });
  });

  it('fails as internal for any other error, which is logged once with its cause', async () => {
    const { logged } = await replica();
    expect(
      await codeOf(
        (await client()).call(
          probe,
          { text: 'x', outcome: 'throw' },
          { requestId: 'r7', correlationId: 'c7' },
        ),
      ),
    ).toBe('internal');
    const errors = logged.filter((line) => line.level === 50);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({
      pattern: probe.pattern,
      requestId: 'r7',
      correlationId: 'c7',
      err: { message: 'thrown for x' },
    });
  });

  it('that fails with a secret payload is logged with stack and code only', async () => {
    const { logged } = await replica();
    const failed = (await client()).call(secretProbe, { text: 'a-secret' }, { requestId: 'r8' });
    expect(await codeOf(failed)).toBe('internal');
    const [error] = logged.filter((line) => line.level === 50);
    expect(error).toMatchObject({
      pattern: secretProbe.pattern,
      requestId: 'r8',
      err: { type: 'Error', code: '23505' },
    });
    expect(error).toMatchObject({
      err: { stack: expect.stringContaining('probe.controller') as string },
    });
    expect(JSON.stringify(logged)).not.toContain('a-secret');
  });

  it('is rejected as invalid if its payload violates the contract, without a run', async () => {
    const { runs } = await replica();
    expect(
      await codeOf((await client()).call(probe, { text: 7 } as never, { requestId: 'r' })),
    ).toBe('invalid');
    expect(runs).toEqual([]);
  });

  it('fails as internal if the reply violates the contract or has no JSON form', async () => {
    await replica();
    const gateway = await client();
    const invalid = gateway.call(
      probe,
      { text: 'x', outcome: 'invalid_reply' },
      { requestId: 'r' },
    );
    await expect(invalid).rejects.toMatchObject({
      code: 'internal',
      cause: { message: /^the reply of episode.probe/ },
    });
    const unserializable = gateway.call(
      probe,
      { text: 'x', outcome: 'unserializable_reply' },
      { requestId: 'r' },
    );
    expect(await codeOf(unserializable)).toBe('internal');
  });

  it('is unavailable without a handler', async () => {
    await replica();
    expect(await codeOf((await client()).call(unhandled, {}, { requestId: 'r' }))).toBe(
      'unavailable',
    );
  });

  it('runs once on one of two replicas', async () => {
    const [a, b] = await Promise.all([replica({ name: 'a' }), replica({ name: 'b' })]);
    const gateway = await client();
    const texts = Array.from({ length: 200 }, (_, index) => `t${index}`);
    const replies = await Promise.all(
      texts.map((text) => gateway.call(probe, { text, takesMs: 5 }, { requestId: text })),
    );
    expect(replies.map((reply) => reply.text)).toEqual(texts);
    expect([...a.runs, ...b.runs].sort()).toEqual([...texts].sort());
    expect(a.runs.length).toBeGreaterThan(20);
    expect(b.runs.length).toBeGreaterThan(20);
  });

  it('leaves other calls of a burst to a second replica', async () => {
    const [a, b] = await Promise.all([replica({ name: 'a' }), replica({ name: 'b' })]);
    const gateway = await client();
    await eventually(async () => {
      const before = [a.runs.length, b.runs.length];
      const texts = Array.from({ length: 8 }, (_, n) => `${n}`);
      await Promise.all(
        texts.map((text) => gateway.call(probe, { text, takesMs: 100 }, { requestId: text })),
      );
      expect([a, b].map(({ runs }, n) => runs.length - before[n]!)).toEqual([4, 4]);
    });
  });
});

describe('deadlines', () => {
  it("end a call by the caller's own timer, and the late reply is dropped", async () => {
    const { runs } = await replica();
    const gateway = await client();
    const slow = gateway.call(
      probe,
      { text: 'slow', takesMs: 2_000 },
      { requestId: 'r', timeLimitMs: 200 },
    );
    expect(await codeOf(slow)).toBe('unavailable');
    expect(gateway.counters.lateReplies).toBe(0);
    await eventually(() => expect(gateway.counters.lateReplies).toBe(1));
    expect(runs).toEqual(['slow']);
    expect((await gateway.call(probe, { text: 'next' }, { requestId: 'r' })).text).toBe('next');
  });

  it('drop a request that waited too long, without a run', async () => {
    const { runs, server } = await replica({ maxInFlight: 1 });
    const gateway = await client();
    const first = gateway.call(probe, { text: 'first', takesMs: 500 }, { requestId: 'r' });
    const second = gateway.call(probe, { text: 'second' }, { requestId: 'r', timeLimitMs: 200 });
    expect(await codeOf(second)).toBe('unavailable');
    await first;
    await eventually(() =>
      expect(server.counters).toMatchObject({ expiredRequests: 1, inFlight: 0 }),
    );
    expect(runs).toEqual(['first']);
  });
});

describe('an unavailable service', () => {
  it('fails calls immediately if it never started', async () => {
    const gateway = await client();
    expect(await codeOf(gateway.call(probe, { text: 'x' }, { requestId: 'r' }))).toBe(
      'unavailable',
    );
    expect(gateway.counters.timedOutCalls).toBe(0);
  });

  // The second client has not read the state since its last call.
  it.each([500, 60_000])(
    'fails calls after a stop in order; reads every %i ms',
    async (readIntervalMs) => {
      const { app } = await replica({ timings: {} });
      const gateway = await client({ readIntervalMs });
      await gateway.call(probe, { text: 'x' }, { requestId: 'r' });
      await app.close();
      expect(await codeOf(gateway.call(probe, { text: 'x' }, { requestId: 'r' }))).toBe(
        'unavailable',
      );
      expect(gateway.counters.timedOutCalls).toBe(0);
    },
  );
});

describe('a client', () => {
  it('fails waiting calls and stops waiting for Redis when it closes', async () => {
    await replica();
    const gateway = await client();
    const waiting = codeOf(gateway.call(probe, { text: 'x', takesMs: 500 }, { requestId: 'r' }));
    await eventually(() => expect(gateway.counters.inFlight).toBe(1));
    await gateway.close();
    expect(await waiting).toBe('unavailable');
    expect(await codeOf(gateway.call(probe, { text: 'x' }, { requestId: 'r' }))).toBe(
      'unavailable',
    );

    const nowhere = { REDIS_URL: 'redis://127.0.0.1:1' };
    const lost = new StreamClient({ connect: () => connectTo(nowhere), log: memoryLog().log });
    const connecting = codeOf(lost.connect());
    await lost.close();
    expect(await connecting).toBe('unavailable');
  });
});

describe('a stream of requests', () => {
  it('drops requests older than twice the longest deadline at the next request', async () => {
    const { requests } = serviceKeys('episode');
    const [seconds] = await admin().time();
    const tooOld = (Number(seconds) - 130) * 1_000;
    // Enough for Redis to fill a few nodes of the stream: it only deletes complete nodes.
    for (let n = 0; n < 500; n += 1)
      await admin().xadd(requests, `${tooOld}-${n + 1}`, 'too', 'old');
    await admin().xgroup('CREATE', requests, consumerGroup, '$');
    await replica();
    await (await client()).call(probe, { text: 'x' }, { requestId: 'r' });
    expect(await admin().xlen(requests)).toBeLessThan(200);
  });
});

describe('overload', () => {
  it('leaves requests above the limit of a replica to other replicas', async () => {
    const a = await replica({ name: 'a', maxInFlight: 2 });
    const gateway = await client();
    const calls = Array.from({ length: 8 }, (_, n) =>
      gateway.call(probe, { text: `${n}`, takesMs: 100 }, { requestId: 'r' }),
    );
    await eventually(() => expect(a.server.counters?.inFlight).toBe(2));
    const b = await replica({ name: 'b', maxInFlight: 2 });
    await Promise.all(calls);
    expect(a.runs.length + b.runs.length).toBe(8);
    expect(b.runs.length).toBeGreaterThan(0);
  });

  it('is refused immediately above the maximum of calls in flight', async () => {
    await replica();
    const gateway = await client({ maxInFlight: 2 });
    const ends = Array.from({ length: 3 }, () =>
      codeOf(gateway.call(probe, { text: 'x', takesMs: 50 }, { requestId: 'r' })),
    );
    expect(await Promise.all(ends)).toEqual(['answered', 'answered', 'unavailable']);
    expect(await codeOf(gateway.call(probe, { text: 'x' }, { requestId: 'r' }))).toBe('answered');
    expect(gateway.counters).toMatchObject({
      sentCalls: 3,
      rejectedCalls: 1,
      timedOutCalls: 0,
      inFlight: 0,
    });
  });

  it('is refused while the backlog leaves too little of the deadline', async () => {
    const { runs } = await replica({ maxInFlight: 1 });
    const gateway = await client({ readIntervalMs: 50 });
    const slow = gateway.call(probe, { text: 'slow', takesMs: 900 }, { requestId: 'r' });
    await eventually(() => expect(runs).toHaveLength(1));
    const waiting = gateway.call(probe, { text: 'waiting' }, { requestId: 'r' });
    await eventually(() => expect(gateway.counters.backlogMs.episode).toBeGreaterThan(300));
    // The limit of the wait in the stream is half of the 500 ms.
    expect(
      await codeOf(gateway.call(probe, { text: 'x' }, { requestId: 'r', timeLimitMs: 500 })),
    ).toBe('unavailable');
    expect(gateway.counters).toMatchObject({ sentCalls: 2, rejectedCalls: 1, timedOutCalls: 0 });
    const patient = gateway.call(probe, { text: 'patient' }, { requestId: 'r' });
    await Promise.all([slow, waiting, patient]);
    await eventually(async () =>
      expect(
        await codeOf(gateway.call(probe, { text: 'y' }, { requestId: 'r', timeLimitMs: 500 })),
      ).toBe('answered'),
    );
  });
});

describe('the transport as part of Nest', () => {
  it('runs the hooks around a handler, and sends metadata of the dispatch hook', async () => {
    const { server } = await replica();
    const seen: unknown[] = [];
    server.setOnProcessingStartHook((_transport, context, done) => {
      seen.push(['start', (context as CallContext).getMetadata()]);
      void done();
    });
    server.setOnProcessingEndHook(() => seen.push('end'));
    const gateway = await client();
    gateway.setOnDispatchHook((packet) => (packet.metadata = { tenant: 't' }));
    await gateway.call(probe, { text: 'x' }, { requestId: 'r' });
    expect(seen).toEqual([['start', { tenant: 't', requestId: 'r' }], 'end']);
  });

  it('does not start with a handler that has no contract', async () => {
    @Controller()
    class PlainController {
      @MessagePattern('episode.plain')
      plain(): void {}
    }
    @Module({ controllers: [PlainController] })
    class PlainModule {}
    const nowhere = () => connectTo({ REDIS_URL: 'redis://127.0.0.1:1' });
    const strategy = new StreamServer({
      service: 'episode',
      connect: nowhere,
      log: memoryLog().log,
    });
    const app = await NestFactory.createMicroservice(PlainModule, { strategy, logger: false });
    await expect(app.listen()).rejects.toThrow('episode.plain has no contract');
  });

  it('is up again, and answers, after a replica lost its connections', async () => {
    const { server } = await replica();
    const gateway = await client();
    await admin().call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await eventually(() => expect(server.counters?.lostConnections).toBe(2));
    await eventually(() => expect(server.isUp).toBe(true));
    await eventually(async () =>
      expect(await codeOf(gateway.call(probe, { text: 'x' }, { requestId: 'r' }))).toBe('answered'),
    );
  });
});
