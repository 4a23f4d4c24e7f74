import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { firstValueFrom, lastValueFrom } from 'rxjs';
import { Failure } from '#contracts';
import { eventually, startRedisServer, type TestServer } from '#testing';
import { probe, unhandled } from '../testing/probe.contracts.js';
import { connectTo, memoryLog, startReplica, type ProbeReplica } from '../testing/probe.replica.js';
import { call, StreamClient, type StreamClientOptions } from './index.js';

let redis: TestServer;
const replicas: ProbeReplica[] = [];
const clients: StreamClient[] = [];

beforeAll(async () => void (redis = await startRedisServer()));
afterAll(() => redis.dispose());
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await Promise.all(replicas.splice(0).map((replica) => replica.app.close()));
  const admin = connectTo(redis.url);
  await eventually(() => admin.flushall());
  admin.disconnect();
});

async function replica(options: Parameters<typeof startReplica>[1] = {}): Promise<ProbeReplica> {
  const started = await startReplica(redis.url, options);
  replicas.push(started);
  return started;
}

async function client(options: Partial<StreamClientOptions> = {}): Promise<StreamClient> {
  const made = new StreamClient({ connect: () => connectTo(redis.url), log: memoryLog().log, ...options });
  clients.push(made);
  await made.connect();
  return made;
}

const codeOf = (outcome: Promise<unknown>) =>
  outcome.then(
    () => 'answered',
    (error: unknown) => (error instanceof Failure ? error.code : error),
  );

describe('a call', () => {
  it('is answered, with the facts that ride beside it', async () => {
    await replica();
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const reply = await call(await client(), probe, { text: 'hello' }, { requestId: 'r1', traceparent });
    expect(reply).toMatchObject({ text: 'hello', replica: 'a', requestId: 'r1', traceparent });
    expect(reply.remainingMs).toBeGreaterThan(4_000);
    expect(reply.remainingMs).toBeLessThanOrEqual(5_001);
  });

  it('tells the failure that the handler threw, with its data', async () => {
    await replica();
    const failed = call(await client(), probe, { text: 'x', outcome: 'fail' }, { requestId: 'r' });
    await expect(failed).rejects.toMatchObject({
      code: 'conflict',
      first: { pattern: probe.pattern, answer: { text: 'x' } },
    });
  });

  it('tells any other throw as internal, logged once with its cause', async () => {
    const { logged } = await replica();
    expect(await codeOf(call(await client(), probe, { text: 'x', outcome: 'throw' }, { requestId: 'r7' }))).toBe(
      'internal',
    );
    const errors = logged.filter((line) => line.level === 50);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({ pattern: probe.pattern, requestId: 'r7', err: { message: 'thrown for x' } });
  });

  it('is refused as invalid when its payload is not what the contract says, and the handler does not run', async () => {
    const { runs } = await replica();
    expect(await codeOf(call(await client(), probe, { text: 7 } as never, { requestId: 'r' }))).toBe('invalid');
    expect(runs).toEqual([]);
  });

  it('is internal when the reply is not what the contract says', async () => {
    const { logged } = await replica();
    expect(await codeOf(call(await client(), probe, { text: 'x', outcome: 'lie' }, { requestId: 'r' }))).toBe(
      'internal',
    );
    expect(logged.filter((line) => line.level === 50)).toHaveLength(1);
  });

  it('is unavailable where nothing handles it', async () => {
    await replica();
    expect(await codeOf(call(await client(), unhandled, {}, { requestId: 'r' }))).toBe('unavailable');
  });

  it('runs once, whichever of two replicas takes it', async () => {
    const [a, b] = await Promise.all([replica({ name: 'a' }), replica({ name: 'b' })]);
    const gateway = await client();
    const texts = Array.from({ length: 200 }, (_, index) => `t${index}`);
    const replies = await Promise.all(
      texts.map((text) => call(gateway, probe, { text, takesMs: 5 }, { requestId: text })),
    );
    expect(replies.map((reply) => reply.text)).toEqual(texts);
    expect([...a.runs, ...b.runs].sort()).toEqual([...texts].sort());
    expect(a.runs.length).toBeGreaterThan(20);
    expect(b.runs.length).toBeGreaterThan(20);
  });
});

describe('ordinary handlers of Nest', () => {
  it('answer send() with their last value', async () => {
    await replica();
    expect(await lastValueFrom((await client()).send('episode.plain', ['one', 'two']))).toBe('two');
  });

  it('tell their exceptions as Nest does', async () => {
    await replica();
    const failed = firstValueFrom((await client()).send('episode.plain', []));
    await expect(failed).rejects.toEqual({ status: 'error', message: 'no words' });
  });

  it('hear emit()', async () => {
    const { events } = await replica();
    await lastValueFrom((await client()).emit('episode.seen', { it: 1 }), { defaultValue: undefined });
    await eventually(() => expect(events).toEqual([{ it: 1 }]));
  });
});

describe('deadlines', () => {
  it("end a call by the caller's own timer, and the late reply is dropped", async () => {
    const { runs } = await replica();
    const gateway = await client();
    const started = performance.now();
    const slow = call(gateway, probe, { text: 'slow', takesMs: 600 }, { requestId: 'r', budgetMs: 200 });
    expect(await codeOf(slow)).toBe('unavailable');
    expect(performance.now() - started).toBeLessThan(350);
    await eventually(() => expect(gateway.counters.late).toBe(1));
    expect(runs).toEqual(['slow']);
    expect((await call(gateway, probe, { text: 'next' }, { requestId: 'r' })).text).toBe('next');
  });

  it('drop a request unrun that waited too long', async () => {
    const { runs, server } = await replica({ maxInFlight: 1 });
    const gateway = await client();
    const first = call(gateway, probe, { text: 'first', takesMs: 500 }, { requestId: 'r' });
    const second = call(gateway, probe, { text: 'second' }, { requestId: 'r', budgetMs: 200 });
    expect(await codeOf(second)).toBe('unavailable');
    await first;
    await eventually(() => expect(server.counters).toMatchObject({ expired: 1, inFlight: 0 }));
    expect(runs).toEqual(['first']);
  });
});

describe('a service that is away', () => {
  it('is unavailable at once when it never started', async () => {
    const started = performance.now();
    expect(await codeOf(call(await client(), probe, { text: 'x' }, { requestId: 'r' }))).toBe('unavailable');
    expect(performance.now() - started).toBeLessThan(500);
  });

  it('is unavailable at once after it was stopped in order', async () => {
    const { app } = await replica();
    const gateway = await client();
    await call(gateway, probe, { text: 'x' }, { requestId: 'r' });
    await app.close();
    const started = performance.now();
    expect(await codeOf(call(gateway, probe, { text: 'x' }, { requestId: 'r' }))).toBe('unavailable');
    expect(performance.now() - started).toBeLessThan(100);
  });
});
