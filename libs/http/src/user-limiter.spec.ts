import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Failure } from '#contracts';
import { RequestEnd } from './request-hooks.js';
import { type CallPool, UserLimiter } from './user-limiter.js';

/** A limiter whose calls end on demand. */
class Scenario {
  readonly limiter = new UserLimiter({ requests: 10, bytes: 1_000 });
  readonly pool: CallPool;
  /** Names of the calls in their starting order. */
  readonly started: string[] = [];
  /** Remaining budget of each call at its start, in milliseconds. */
  readonly remaining: number[] = [];
  private readonly ends = new Map<string, () => void>();

  constructor(pool: Partial<CallPool> = {}) {
    this.pool = { calls: 2, bytes: 100, ...pool };
  }

  /** Makes a call. Returns `done`, or the code of its failure. */
  call(
    name: string,
    { user = 'ann', bytes = 1, timeLimitMs = 5_000, caller = new RequestEnd() } = {},
  ): Promise<string> {
    const run = async (remainingMs: number) => {
      this.started.push(name);
      this.remaining.push(remainingMs);
      await new Promise<void>((resolve) => this.ends.set(name, resolve));
      return 'done';
    };
    const call = { user, bytes, timeLimitMs, end: caller };
    return this.limiter.run(this.pool, call, run).catch((error: Failure) => error.code);
  }

  async end(name: string): Promise<void> {
    this.ends.get(name)?.();
    this.ends.delete(name);
    await vi.advanceTimersByTimeAsync(0);
  }

  get running(): string[] {
    return [...this.ends.keys()];
  }
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe('calls of one user', () => {
  it('run within the limit; further calls start in order of arrival', async () => {
    const scenario = new Scenario();
    const all = ['a', 'b', 'c', 'd'].map((name) => scenario.call(name));
    expect(scenario.started).toEqual(['a', 'b']);
    await scenario.end('b');
    expect(scenario.started).toEqual(['a', 'b', 'c']);
    for (const name of ['a', 'c', 'd']) await scenario.end(name);
    expect(scenario.started).toEqual(['a', 'b', 'c', 'd']);
    expect(await Promise.all(all)).toEqual(['done', 'done', 'done', 'done']);
  });

  it('free their slot when they fail', async () => {
    const { limiter, pool } = new Scenario({ calls: 1 });
    const call = { user: 'ann', bytes: 1, timeLimitMs: 5_000, end: new RequestEnd() };
    const failing = limiter.run(pool, call, () => Promise.reject(new Failure('not_found')));
    const next = limiter.run(pool, call, () => Promise.resolve('done'));
    await expect(failing).rejects.toMatchObject({ code: 'not_found' });
    expect(await next).toBe('done');
  });

  it('in one pool leave the other pools free', () => {
    const scenario = new Scenario({ calls: 1 });
    const reads: CallPool = { calls: 1, bytes: 100 };
    void scenario.call('a');
    const read = vi.fn<() => Promise<void>>(() => Promise.resolve());
    void scenario.limiter.run(
      reads,
      { user: 'ann', bytes: 1, timeLimitMs: 5_000, end: new RequestEnd() },
      read,
    );
    expect(read).toHaveBeenCalledOnce();
  });

  it('do not delay another user', () => {
    const scenario = new Scenario({ calls: 1 });
    void scenario.call('a');
    void scenario.call('b');
    void scenario.call('c', { user: 'bob' });
    expect(scenario.started).toEqual(['a', 'c']);
  });
});

describe('calls with many bytes', () => {
  it('run within the limit of bytes, and a call above it runs alone', async () => {
    const scenario = new Scenario({ calls: 9, bytes: 10 });
    void scenario.call('a', { bytes: 99 });
    void scenario.call('b', { bytes: 6 });
    void scenario.call('c', { bytes: 4 });
    expect(scenario.started).toEqual(['a']);
    await scenario.end('a');
    expect(scenario.started).toEqual(['a', 'b', 'c']);
  });

  it('are not overtaken by smaller ones', async () => {
    const scenario = new Scenario({ calls: 9, bytes: 10 });
    for (const [name, bytes] of [
      ['a', 6],
      ['b', 6],
      ['c', 1],
    ] as const)
      void scenario.call(name, { bytes });
    expect(scenario.started).toEqual(['a']);
    await scenario.end('a');
    expect(scenario.started).toEqual(['a', 'b', 'c']);
  });

  it('delay no smaller call after their client disconnected', async () => {
    const scenario = new Scenario({ calls: 9, bytes: 10 });
    const caller = new RequestEnd();
    void scenario.call('a', { bytes: 6 });
    const gone = scenario.call('b', { bytes: 6, caller });
    void scenario.call('c', { bytes: 1 });
    caller.reach();
    expect(await gone).toBe('unavailable');
    await vi.advanceTimersByTimeAsync(0);
    expect(scenario.started).toEqual(['a', 'c']);
  });
});

describe('a call that has to wait', () => {
  it('never starts once its time is up', async () => {
    const scenario = new Scenario({ calls: 1 });
    void scenario.call('a', { timeLimitMs: 60_000 });
    const late = scenario.call('b', { timeLimitMs: 1_000 });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await late).toBe('unavailable');
    await scenario.end('a');
    expect(scenario.started).toEqual(['a']);
    expect(scenario.limiter.size).toBe(0);
  });

  it('never starts after its time limit, even if the timer fires late', async () => {
    const { limiter, pool } = new Scenario({ calls: 1 });
    const request = new RequestEnd();
    let end = () => {};
    const first = limiter.run(
      pool,
      { user: 'ann', bytes: 1, timeLimitMs: 5_000, end: request },
      () => new Promise<void>((done) => (end = done)),
    );
    const run = vi.fn<() => Promise<void>>();
    const late = limiter.run(
      pool,
      { user: 'ann', bytes: 1, timeLimitMs: 1_000, end: request },
      run,
    );
    late.catch(() => {});
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 1_001);
    end();
    await first;
    await expect(late).rejects.toMatchObject({ code: 'unavailable' });
    expect(run).not.toHaveBeenCalled();
    expect(limiter.size).toBe(0);
  });

  it('starts with the rest of its budget', async () => {
    const scenario = new Scenario({ calls: 1 });
    void scenario.call('a');
    void scenario.call('b');
    await vi.advanceTimersByTimeAsync(1_200);
    await scenario.end('a');
    expect(scenario.remaining).toEqual([5_000, 3_800]);
  });

  it('stops waiting when its client disconnects', async () => {
    const scenario = new Scenario({ calls: 1 });
    const caller = new RequestEnd();
    void scenario.call('a');
    const gone = scenario.call('b', { caller });
    caller.reach();
    void scenario.call('c');
    await scenario.end('a');
    expect(await gone).toBe('unavailable');
    expect(scenario.started).toEqual(['a', 'c']);
  });

  it('gets no slot that becomes free after its client disconnected', async () => {
    const scenario = new Scenario({ calls: 1 });
    const caller = new RequestEnd();
    void scenario.call('a');
    void scenario.call('b', { caller });
    void scenario.call('c');
    caller.reach();
    await scenario.end('a');
    await scenario.end('c');
    expect(scenario.limiter.size).toBe(0);
  });
});

describe('any sequence of events', () => {
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('call' as const),
      user: fc.nat(2),
      bytes: fc.nat(8),
      timeLimitMs: fc.integer({ min: 1, max: 300 }),
    }),
    fc.record({ kind: fc.constant('end' as const), which: fc.nat(20) }),
    fc.record({ kind: fc.constant('leave' as const), which: fc.nat(20) }),
    fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 200 }) }),
  );
  const limits = fc.record({
    calls: fc.integer({ min: 1, max: 3 }),
    bytes: fc.nat(12),
  });

  it('the limits and the order hold, every call ends, and nothing is left', () =>
    fc.assert(
      fc.asyncProperty(limits, fc.array(step, { maxLength: 60 }), async (most, steps) => {
        const scenario = new Scenario(most);
        const callers: RequestEnd[] = [];
        const calls: Promise<string>[] = [];
        const bytes = new Map<string, number>();
        const userOf = (name: string) => name.split('.')[0] as string;
        for (const action of steps) {
          if (action.kind === 'call') {
            const caller = new RequestEnd();
            const name = `${action.user}.${calls.length}`;
            bytes.set(name, action.bytes);
            calls.push(scenario.call(name, { ...action, user: userOf(name), caller }));
            callers.push(caller);
          }
          if (action.kind === 'end')
            await scenario.end(scenario.running[action.which % scenario.running.length] ?? '');
          if (action.kind === 'leave') callers[action.which % callers.length]?.reach();
          if (action.kind === 'pass') await vi.advanceTimersByTimeAsync(action.ms);
          for (const user of ['0', '1', '2']) {
            const running = scenario.running.filter((name) => userOf(name) === user);
            const sum = running.reduce((all, name) => all + (bytes.get(name) ?? 0), 0);
            expect(running.length).toBeLessThanOrEqual(most.calls);
            expect(running.length <= 1 || sum <= most.bytes).toBe(true);
          }
        }
        while (scenario.running.length > 0) await scenario.end(scenario.running[0] as string);
        await vi.advanceTimersByTimeAsync(300);
        const ends = await Promise.all(calls);
        expect(ends.filter((end) => end === 'done')).toHaveLength(scenario.started.length);
        expect(scenario.remaining.every((ms) => ms > 0)).toBe(true);
        for (const user of ['0', '1', '2']) {
          const order = scenario.started
            .filter((name) => userOf(name) === user)
            .map((name) => Number(name.split('.')[1]));
          expect(order).toEqual(order.toSorted((a, b) => a - b));
        }
        expect(scenario.limiter.size).toBe(0);
      }),
      { numRuns: 200 },
    ));
});

/** Maximum bytes that all users hold. */
const most = 1_000;
const limiterOf = (requests: number) => new UserLimiter({ requests, bytes: most });

/** Admits one request of a user, which holds bytes until it ends. */
function open(limiter: UserLimiter, user: string) {
  const end = new RequestEnd();
  const hold = limiter.admit(user, end);
  const tries = (bytes: number) => {
    try {
      hold(bytes);
      return true;
    } catch {
      return false;
    }
  };
  return { hold: tries, end: () => end.reach() };
}

describe('bytes that requests hold', () => {
  it('of one user are at most a quarter', () => {
    const limiter = limiterOf(10);
    const [first, second] = [open(limiter, 'ann'), open(limiter, 'ann')];
    expect([first.hold(200), second.hold(50), second.hold(1)]).toEqual([true, true, false]);
    first.end();
    expect(second.hold(200)).toBe(true);
  });

  it('are released when the request ends, which can then hold no more', () => {
    const limiter = limiterOf(10);
    const one = open(limiter, 'ann');
    expect([one.hold(100), limiter.heldBytes]).toEqual([true, 100]);
    one.end();
    expect([limiter.heldBytes, one.hold(1)]).toEqual([0, false]);
  });

  it('are refused to a request that has ended', () => {
    const limiter = limiterOf(10);
    const end = new RequestEnd();
    end.reach();
    expect(() => limiter.admit('ann', end)).toThrowError('unavailable');
    expect(limiter.heldBytes).toBe(0);
  });

  it('count above the limit if they are in memory already, and reject the next request', () => {
    const limiter = limiterOf(10);
    const end = new RequestEnd();
    limiter.admit('ann', end)(400, true);
    expect([limiter.heldBytes, open(limiter, 'ann').hold(1)]).toEqual([400, false]);
    end.reach();
    expect([limiter.heldBytes, open(limiter, 'ann').hold(1)]).toEqual([0, true]);
  });

  it('belong to a limited number of requests of one user; a further request fails', () => {
    const limiter = limiterOf(2);
    const first = open(limiter, 'ann');
    open(limiter, 'ann');
    expect(() => open(limiter, 'ann')).toThrowError('unavailable');
    expect(open(limiter, 'bob').hold(1)).toBe(true);
    first.end();
    expect(open(limiter, 'ann').hold(1)).toBe(true);
  });

  it('leave room for a small request, for any number of large users', () => {
    const limiter = limiterOf(10);
    const quiet: boolean[] = [];
    for (let user = 0; user < 5; user++) {
      const greedy = open(limiter, `greedy ${user}`);
      for (let bytes = 256; bytes >= 1; bytes /= 2) greedy.hold(bytes);
      quiet.push(open(limiter, `quiet ${user}`).hold(10));
    }
    expect(quiet).toEqual([true, true, true, true, true]);
    expect(limiter.heldBytes).toBeLessThanOrEqual(most);
  });

  it('never exceed the limit of all, in any order', () => {
    const step = fc.record({ user: fc.nat(3), bytes: fc.nat(400), ends: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const limiter = limiterOf(100);
        const opened: ReturnType<typeof open>[] = [];
        for (const { user, bytes, ends } of steps) {
          const one = open(limiter, String(user));
          one.hold(bytes);
          opened.push(one);
          if (ends) opened.shift()?.end();
          expect(limiter.heldBytes).toBeGreaterThanOrEqual(0);
          expect(limiter.heldBytes).toBeLessThanOrEqual(most);
        }
        for (const one of opened) one.end();
        expect(limiter.heldBytes).toBe(0);
      }),
    );
  });
});

describe('bodies of unauthenticated clients', () => {
  /** Admits a request whose body has not arrived. */
  function send(limiter: UserLimiter, lastByteAt: number) {
    const end = new RequestEnd();
    const body = { lastByteAt, dropped: false, arrive: () => {} };
    limiter.admitOpen('192.0.2.1', end, {
      lastByteAt,
      onArrived: (listener) => void (body.arrive = listener),
      drop: () => void (body.dropped = true),
    });
    return { body, end };
  }

  it('above the limit: the body that has been silent the longest is dropped', () => {
    const limiter = limiterOf(2);
    const [one, two, three] = [send(limiter, 2), send(limiter, 1), send(limiter, 3)];
    expect([one, two, three].map(({ body }) => body.dropped)).toEqual([false, true, false]);
    send(limiter, 4);
    expect([one, three].map(({ body }) => body.dropped)).toEqual([true, false]);
  });

  it('do not count after their arrival or the end of their request', () => {
    const limiter = limiterOf(1);
    const one = send(limiter, 1);
    one.body.arrive();
    const two = send(limiter, 2);
    two.end.reach();
    send(limiter, 3);
    expect([one, two].map(({ body }) => body.dropped)).toEqual([false, false]);
  });

  it('are not counted for requests without a body', () => {
    const limiter = limiterOf(1);
    for (let n = 0; n < 3; n += 1) limiter.admitOpen('192.0.2.1', new RequestEnd());
    expect(send(limiter, 1).body.dropped).toBe(false);
  });

  it('hold bytes until their requests end, and leave no state', () => {
    const limiter = limiterOf(1);
    const ends = [new RequestEnd(), new RequestEnd()];
    for (const end of ends) limiter.admitOpen('192.0.2.1', end)(100);
    expect(limiter.heldBytes).toBe(200);
    for (const end of ends) end.reach();
    expect([limiter.heldBytes, limiter.size]).toEqual([0, 0]);
  });
});
