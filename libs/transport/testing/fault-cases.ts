import { expect } from 'vitest';
import { eventually } from '#testing';
import type { ChildReplica } from './child-replica.js';
import { callOnce, RepeatedCalls } from './repeated-calls.js';
import { connectTo } from './probe-replica.js';
import { FailureFixture } from './failure.fixture.js';

/** Time limit of a call in milliseconds: more than the default. */
export const longBudgetMs = 15_000;

/** Kills one of three replicas during calls of 16 callers. */
export function killOneOfThree(): Promise<void> {
  return FailureFixture.run(async (fixture) => {
    const [victim] = await Promise.all(['a', 'b', 'c'].map((name) => fixture.startReplica(name)));
    const calls = new RepeatedCalls(await fixture.connectGateway(), {
      callers: 16,
      takesMs: 50,
      timeLimitMs: longBudgetMs,
    });
    await eventually(() => expect(calls.answered).toBeGreaterThan(60), { timeout: 20_000 });
    // Waits until the replica runs requests, so that the kill interrupts them.
    await eventually(() => {
      const ended = new Set(calls.outcomes.map(({ text }) => text));
      const running = fixture
        .runs()
        .filter(({ replica, text }) => replica === 'a' && !ended.has(text));
      expect(running.length).toBeGreaterThan(1);
    });
    const before = new Set(calls.outcomes.map(({ text }) => text));
    await victim!.kill();
    await calls.continueFor(2_500);
    await calls.stop();
    expect(calls.failed, 'calls that failed').toEqual([]);
    const rerun = fixture.rerun();
    expect(rerun.size, 'requests that ran again').toBeLessThanOrEqual(16);
    expect(
      [...rerun.values()].filter((count) => count > 2),
      'requests that ran three times',
    ).toEqual([]);
    expect(
      [...rerun.keys()].filter((text) => before.has(text)),
      'answered requests that ran again',
    ).toEqual([]);
  });
}

/** Stops one of two replicas in order during calls of 16 callers. */
export function stopOneOfTwo(): Promise<void> {
  return FailureFixture.run(async (fixture) => {
    const [leaver] = await Promise.all(['a', 'b'].map((name) => fixture.startReplica(name)));
    const calls = new RepeatedCalls(await fixture.connectGateway(), { callers: 16, takesMs: 50 });
    await eventually(() => expect(calls.answered).toBeGreaterThan(100));
    await leaver!.stop();
    await calls.continueFor(500);
    await calls.stop();
    expect(calls.failed, 'calls that failed').toEqual([]);
    expect([...fixture.rerun().keys()], 'requests that ran again').toEqual([]);
    const admin = connectTo({ REDIS_URL: fixture.redis.url });
    const consumers = await eventually(() =>
      admin.xinfo('CONSUMERS', '{rpc:episode}:requests', 'replicas'),
    );
    admin.disconnect();
    expect(consumers, 'consumers left').toHaveLength(1);
  });
}

/** Sends a request that kills every replica, and 20 harmless ones; restarts dead replicas. */
export function poison(): Promise<void> {
  return FailureFixture.run(async (fixture) => {
    const supervision = new Supervision(fixture);
    await Promise.all(['a', 'b'].map((name) => supervision.start(name)));
    try {
      await expectOnlyPoisonToFail(fixture);
    } finally {
      supervision.end();
    }
  });
}

async function expectOnlyPoisonToFail(fixture: FailureFixture): Promise<void> {
  const gateway = await fixture.connectGateway();
  const innocent = Array.from({ length: 20 }, (_, n) =>
    callOnce(gateway, `innocent${n}`, { takesMs: 60, timeLimitMs: 60_000 }),
  );
  // A long budget, in which three replicas can start.
  const poisonous = callOnce(gateway, 'poison', { outcome: 'kill_process', timeLimitMs: 60_000 });
  const outcomes = await Promise.all(innocent);
  expect(
    outcomes.filter(({ end }) => end !== 'answered'),
    'innocent calls that failed',
  ).toEqual([]);
  expect((await poisonous).end).toBe('unavailable');
  const admin = connectTo({ REDIS_URL: fixture.redis.url });
  const deadLetters = await eventually(
    async () => {
      const found = await admin.xrange('{rpc:episode}:dead', '-', '+');
      expect(found).toHaveLength(1);
      return found;
    },
    { timeout: 60_000 },
  );
  admin.disconnect();
  const fields = deadLetters[0]![1];
  const field = (name: string) => fields[fields.indexOf(name) + 1];
  expect(field('pattern')).toBe('episode.probe');
  expect(JSON.stringify(deadLetters)).not.toContain('poison');
  expect(field('reason')).toBe('no answer after 3 deliveries');
  expect(fixture.runs().filter(({ text }) => text === 'poison')).toHaveLength(3);
}

/** Restarts dead replicas, as Kubernetes does. */
class Supervision {
  private ended = false;

  constructor(private readonly fixture: FailureFixture) {}

  async start(name: string): Promise<ChildReplica> {
    const replica = await this.fixture.startReplica(name);
    void replica.ended().then(() => {
      // Ignores an error of a replica that the end of the case kills while it starts.
      if (!this.ended) this.start(name).catch(() => {});
    });
    return replica;
  }

  end(): void {
    this.ended = true;
  }
}
