import { performance } from 'node:perf_hooks';

/** How much less certain a sample gets with age: by more than two clocks drift apart, so that it gets replaced. */
const driftPerMs = 0.001;

/** A sample is not held on to for longer than this, however exact it was. */
const longestMs = 10_000;

/**
 * Estimates Redis' own time between two answers of Redis.
 *
 * Invariants:
 * - No wall clock of this machine is read; setting one changes nothing here.
 * - A sample is as uncertain as half its round trip is long: an answer that took 3 s replaces no better one.
 * - A step of Redis' time is detected by the first sample that contradicts the held one, and followed immediately.
 */
export class RedisClock {
  private held?: { offset: number; uncertainty: number; at: number };

  constructor(private readonly monotonic: () => number = () => performance.now()) {}

  /** Redis' time in milliseconds; NaN before the first answer. */
  now(): number {
    return this.monotonic() + (this.held?.offset ?? Number.NaN);
  }

  /** Asks Redis by `ask`, which resolves to its time in milliseconds, and learns from the answer. */
  async learn<Answer>(ask: () => Promise<Answer>, timeIn: (answer: Answer) => number): Promise<Answer> {
    const asked = this.monotonic();
    const answer = await ask();
    this.sample(timeIn(answer), asked, this.monotonic());
    return answer;
  }

  /** Redis said `redisMs` at some time between `asked` and `answered`. */
  sample(redisMs: number, asked: number, answered: number): void {
    const offset = redisMs - (asked + answered) / 2;
    // And 1, as Redis' time is cut to whole milliseconds.
    const uncertainty = (answered - asked) / 2 + 1;
    const held = this.held;
    if (held) {
      const age = answered - held.at;
      const heldUncertainty = held.uncertainty + age * driftPerMs;
      const contradicts = Math.abs(offset - held.offset) > uncertainty + heldUncertainty;
      if (!contradicts && uncertainty > heldUncertainty && age < longestMs) return;
    }
    this.held = { offset, uncertainty, at: answered };
  }
}
