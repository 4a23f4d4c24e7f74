import { expect } from 'vitest';
import { eventually } from '#testing';
import type { Breakage } from './broken.transport.js';
import type { ChildReplica } from './child.replica.js';
import { ask, Load } from './load.js';
import { connectTo } from './probe.replica.js';
import { Stage } from './stage.js';

/** The cases of the failure suite that are also played with a broken transport, which each of them has to notice. */

/** What a caller may wait at most: the default budget of 5 s, and far more for its timer, as machines are shared. */
export const longestWaitMs = 15_000;

/** One of three replicas is killed while callers ask for what takes `takesMs`. */
export function killOneOfThree({
  broken,
  takesMs = 50,
  callers = 16,
}: { broken?: Breakage; takesMs?: number; callers?: number } = {}): Promise<void> {
  return Stage.play(async (stage) => {
    const [victim] = await Promise.all(
      ['a', 'b', 'c'].map((name) => stage.replica(name, { broken })),
    );
    const load = new Load(await stage.gateway(), { callers, takesMs, budgetMs: longestWaitMs });
    await eventually(() => expect(load.answered).toBeGreaterThan(60), { timeout: 20_000 });
    // It is killed in the midst of requests, and not between two of them.
    await eventually(() => {
      const ended = new Set(load.outcomes.map(({ text }) => text));
      const begun = stage.runs().filter(({ replica, text }) => replica === 'a' && !ended.has(text));
      expect(begun.length).toBeGreaterThan(1);
    });
    const before = new Set(load.outcomes.map(({ text }) => text));
    await victim!.kill();
    await load.goOn(2_500);
    await load.stop();
    expect(load.failed, 'calls that failed').toEqual([]);
    const rerun = stage.rerun();
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

/** One of two replicas is stopped in order while 16 callers ask. */
export function stopOneOfTwo(broken?: Breakage): Promise<void> {
  return Stage.play(async (stage) => {
    const [leaver] = await Promise.all(['a', 'b'].map((name) => stage.replica(name, { broken })));
    const load = new Load(await stage.gateway(), { callers: 16, takesMs: 50 });
    await eventually(() => expect(load.answered).toBeGreaterThan(100));
    await leaver!.stop();
    await load.goOn(500);
    await load.stop();
    expect(load.failed, 'calls that failed').toEqual([]);
    expect([...stage.rerun().keys()], 'requests that ran again').toEqual([]);
    const admin = connectTo({ REDIS_URL: stage.redis.url });
    const consumers = await eventually(() =>
      admin.xinfo('CONSUMERS', '{rpc:episode}:requests', 'replicas'),
    );
    admin.disconnect();
    expect(consumers, 'consumers left').toHaveLength(1);
  });
}

/** A request kills every replica that runs it, beside 20 others; dead replicas are started again. */
export function poison(): Promise<void> {
  return Stage.play(async (stage) => {
    const supervision = new Supervision(stage);
    await Promise.all(['a', 'b'].map((name) => supervision.start(name)));
    try {
      await expectOnlyPoisonToFail(stage);
    } finally {
      supervision.end();
    }
  });
}

async function expectOnlyPoisonToFail(stage: Stage): Promise<void> {
  const gateway = await stage.gateway();
  const innocent = Array.from({ length: 20 }, (_, n) =>
    ask(gateway, `innocent${n}`, { takesMs: 60, budgetMs: 60_000 }),
  );
  // Long enough for three replicas to start.
  const poisonous = ask(gateway, 'poison', { outcome: 'die', budgetMs: 60_000 });
  const outcomes = await Promise.all(innocent);
  expect(
    outcomes.filter(({ end }) => end !== 'answered'),
    'innocent calls that failed',
  ).toEqual([]);
  expect((await poisonous).end).toBe('unavailable');
  const admin = connectTo({ REDIS_URL: stage.redis.url });
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
  expect(stage.runs().filter(({ text }) => text === 'poison')).toHaveLength(3);
}

/** Starts replicas again when they die, as Kubernetes does. */
class Supervision {
  private ended = false;

  constructor(private readonly stage: Stage) {}

  async start(name: string): Promise<ChildReplica> {
    const replica = await this.stage.replica(name);
    void replica.ended().then(() => {
      // That it was killed while it started, as the case has ended, is no fault.
      if (!this.ended) this.start(name).catch(() => {});
    });
    return replica;
  }

  end(): void {
    this.ended = true;
  }
}
