import assert from 'node:assert/strict';
import { Redis } from 'ioredis';
import { expect } from 'vitest';
import { createPool } from '#database';
import { createDataSource } from '#database/typeorm';
import { type AppProcess, type AppStack, eventually } from '#testing';
import { serviceKeys } from '../../../libs/transport/testing/internals.js';
import { probes } from './fault-stack.js';
import { Traffic } from './traffic.js';

/** Users who read and write at these gateways until they are stopped. */
export async function trafficAt(
  stack: AppStack,
  gateways: readonly AppProcess[],
  users = 6,
): Promise<Traffic> {
  const at = (n: number) => gateways[n % gateways.length] as AppProcess;
  return new Traffic(
    await Promise.all(Array.from({ length: users }, (_, n) => stack.device(at(n)))),
  );
}

/** Waits until this many more requests have ended in any way. */
export async function ended(traffic: Traffic, count: number): Promise<void> {
  const enough = traffic.exchanges.length + count;
  await eventually(() => assert(traffic.exchanges.length >= enough), { timeout: 30_000 });
}

/** Waits until every service answers at a gateway. */
export async function healed(stack: AppStack, gateway: AppProcess): Promise<void> {
  const device = await stack.device(gateway);
  for (const [path, status] of Object.values(probes))
    await eventually(async () => expect(await device.send('GET', path)).toMatchObject({ status }), {
      timeout: 30_000,
    });
}

/** Returns the number of live replicas of each service. */
export async function countedOn(stack: AppStack): Promise<number[]> {
  const redis = new Redis(stack.redis.url);
  try {
    const now = Number((await redis.time())[0]) * 1_000;
    return await Promise.all(
      ['subscription', 'episode', 'deletion'].map((name) =>
        redis.zcount(serviceKeys(name).heartbeats, now, '+inf'),
      ),
    );
  } finally {
    redis.disconnect();
  }
}

/** Runs something as the owner of the database. */
export async function asOwner<Result>(
  stack: AppStack,
  run: (owner: ReturnType<typeof createDataSource>) => Promise<Result>,
): Promise<Result> {
  const owner = await createDataSource(
    createPool({ url: stack.postgres.url, poolSize: 1 }),
  ).initialize();
  return run(owner).finally(() => owner.destroy());
}

/** Expects only answers and 503, no lost acknowledged write, and an end of each deletion. */
export async function endWell(
  stack: AppStack,
  traffic: Traffic,
  processes: readonly AppProcess[],
): Promise<void> {
  await traffic.continueFor();
  await traffic.stop();
  const { exchanges, failed } = traffic;
  console.log(`${exchanges.length} requests, ${failed.length} of them refused`);
  const errors = processes
    .flatMap(({ output }) => output.split('\n'))
    .filter((line) => /"level":"(error|fatal)/.test(line));
  assert.deepEqual(traffic.unclean, [], errors.join('\n'));
  await asOwner(stack, async (owner) => {
    const rows = await owner.query<object[]>(
      "SELECT * FROM deletion.deletions WHERE status <> 'SUCCESS'",
    );
    assert.deepEqual(rows, []);
  });
}
