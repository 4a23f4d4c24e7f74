import { describe, expect, it } from 'vitest';
import { eventually } from '#testing';
import { callOnce } from '../testing/repeated-calls.js';
import {
  connectTo,
  memoryLog,
  startReplica,
  type RedisEnvironment,
} from '../testing/probe-replica.js';
import { RedisGroup } from '../testing/redis-group.js';
import { StreamClient } from './index.js';

/** The level of a line that an operator must act on. */
const error = 50;

async function on(
  made: Promise<RedisGroup>,
  testCase: (environment: RedisEnvironment) => Promise<void>,
): Promise<void> {
  const group = await made;
  try {
    await testCase(group.environment);
  } finally {
    await group.dispose();
  }
}

async function answersOn(environment: RedisEnvironment): Promise<void> {
  const { app, logged } = await startReplica(environment);
  const { log } = memoryLog();
  const client = new StreamClient({
    connect: () => connectTo(environment),
    log,
    services: ['episode'],
  });
  await client.connect();
  expect((await callOnce(client, 'hello')).end).toBe('answered');
  await Promise.all([client.close(), app.close()]);
  expect(logged.filter(({ level }) => Number(level) >= error)).toEqual([]);
}

/** Expects denied access: calls fail immediately, and each connection logs it once. */
async function isRefusedOn(environment: RedisEnvironment, reason: RegExp): Promise<void> {
  const { log, logged } = memoryLog();
  let attempts = 0;
  const connect = () => connectTo(environment).on('error', () => (attempts += 1));
  const client = new StreamClient({ connect, log, services: ['episode'] });
  const connecting = client.connect().catch(() => {});
  const errors = () => logged.filter(({ level }) => level === error);
  await eventually(() => expect(errors()).toHaveLength(2));
  expect((await callOnce(client, 'hello')).end).toBe('unavailable');
  expect(client.counters.timedOutCalls).toBe(0);
  // Long enough for more attempts to connect.
  attempts = 0;
  await eventually(() => expect(attempts).toBeGreaterThan(6), { timeout: 50_000 });
  expect(errors().map(({ link }) => link)).toEqual(
    expect.arrayContaining(['writer', 'subscriber']),
  );
  expect(errors()).toHaveLength(2);
  for (const line of errors())
    expect(line).toMatchObject({ reason: expect.stringMatching(reason) as string });
  expect(JSON.stringify(logged)).not.toContain(String(environment.REDIS_PASSWORD));
  await client.close();
  await connecting;
}

const single = () => RedisGroup.single({ secured: true });
const sentinels = () => RedisGroup.sentinels({ secured: true });
const cluster = () => RedisGroup.cluster({ secured: true });
const full = Boolean(process.env.TEST_FULL);

const groups = [
  ['one server', single],
  ['a server behind Sentinels with a password of theirs', sentinels],
  ['a Cluster', cluster],
] as const;

describe('with TLS and a password', { timeout: 60_000 }, () => {
  it.each(full ? groups : groups.slice(0, 1))('%s carries calls', (_, group) =>
    on(group(), answersOn),
  );
});

const wrong = 'not-the-password';
const refusals = [
  ['a password that one server refuses', single, { REDIS_PASSWORD: wrong }, /WRONGPASS/],
  ['a certificate that nobody trusts', single, { REDIS_TLS_CA: '' }, /certificate/],
  ['a password that Sentinels refuse', sentinels, { REDIS_SENTINEL_PASSWORD: wrong }, /WRONGPASS/],
  ['a password that a Cluster refuses', cluster, { REDIS_PASSWORD: wrong }, /WRONGPASS/],
] as const;

describe('reports to the operator once, and to callers immediately,', { timeout: 60_000 }, () => {
  it.each(full ? refusals : refusals.slice(0, 2))('of %s', (_, group, mistake, reason) =>
    on(group(), (environment) => isRefusedOn({ ...environment, ...mistake }, reason)),
  );
});

it('each process warns once of a server that evicts keys when memory is short', () =>
  on(RedisGroup.single({ settings: 'maxmemory-policy allkeys-lru\n' }), async (environment) => {
    const { app, logged } = await startReplica(environment);
    const warnings = () => logged.filter(({ policy }) => policy === 'allkeys-lru');
    await eventually(() => expect(warnings()).toHaveLength(1));
    await app.close();
    expect(warnings()).toHaveLength(1);
  }));
