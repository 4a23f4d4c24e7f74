import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type EventKind, eventKinds } from '#contracts';
import { eventually, freshUser } from '#testing';
import { EventFollower, note } from '../../testing/event-follower.js';
import { type EventContext, openEvents } from '../../testing/event.fixture.js';
import { EventRelay } from './event-relay.js';

/** Number of faults in this test. */
const many = process.env.TEST_FULL ? 60 : 8;

let context: EventContext;
beforeEach(async () => {
  context = await openEvents();
});
afterEach(() => context.close());

const turn = <Of>(all: readonly Of[], n: number) => all[n % all.length] as Of;

/** Functions that cause a fault while users write and relays publish. */
const faults: Record<string, () => Promise<unknown>> = {
  'Redis is killed': async () => {
    await context.server.kill();
    await context.server.start();
  },
  'Redis closes all connections': async () => {
    const redis = new Redis(context.server.url);
    await redis
      .call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      .finally(() => redis.disconnect());
  },
  'Postgres closes all connections': () =>
    context.owner.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    ),
  // Postgres reuses the space of deleted rows, so new rows are not stored in commit order.
  'rows are vacuumed': () => context.owner.query('VACUUM sync.events'),
};

/** Runs writes and relays while faults happen. @returns the violated guarantees of the stream. */
async function run(count: number): Promise<string[]> {
  const last = new Map<string, string>();
  const stopping = new AbortController();
  const follower = new EventFollower(context.server.url, context.owner);
  const until = async (act: () => Promise<unknown>) => {
    while (!stopping.signal.aborted) await act();
  };
  let writes = 0;
  const write = async (user: string) => {
    const kinds: EventKind[] = [turn(eventKinds, writes)];
    note(last, user, kinds, await context.write(user, ...kinds));
    writes += 1;
  };
  const relays = [1, 3, 100].map((size) => context.relay(size));
  const announce = (relay: EventRelay) => relay.publishBatch().catch(() => 0);
  const users = Array.from({ length: 6 }, freshUser);
  const working = [
    ...users.map((user) => until(() => write(user))),
    ...relays.map((relay) => until(() => announce(relay))),
  ];
  for (let n = 0; n < count; n += 1) {
    const before = writes;
    await eventually(() => expect(writes).toBeGreaterThan(before + 20));
    await turn(Object.values(faults), n)();
  }
  stopping.abort();
  await Promise.all(working);
  await eventually(async () => {
    await announce(relays[2] as EventRelay);
    expect(await context.waiting()).toBe(0);
  });
  await follower.caughtUp();
  const violations = await follower.violations(last);
  await follower.stop();
  console.log(`${writes} writes, ${follower.read.size} events, ${count} faults`);
  return violations;
}

it('faults cause no missing events, no early events and no decreasing stamps', async () => {
  expect(await run(many)).toEqual([]);
}, 300_000);
