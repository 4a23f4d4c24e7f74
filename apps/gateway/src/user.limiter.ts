import { Failure } from '#contracts';

/** How many writes are let through, and how many may wait for that. */
export interface WriteLimits {
  /** Of one user, that run at the same time. */
  readonly running: number;
  /** Of one user, that wait. */
  readonly waiting: number;
  /** Of all users, that wait. */
  readonly waitingInAll: number;
}

/** One write of one user. */
export interface LimitedWrite {
  readonly userId: string;
  /** How long its caller waits for the answer, in milliseconds. */
  readonly budgetMs: number;
  /** Who asked: aborted when they went away. Looked at only where the write has to wait. */
  readonly caller: { readonly signal: AbortSignal };
}

/** A user's writes: how many run, and those that wait, in the order in which they came. */
interface Line {
  running: number;
  readonly waiting: Set<() => void>;
}

const tooLate = 'earlier writes of the user took all of its time';

/**
 * Keeps one user from taking the services for themselves: writes of one user follow one another in Postgres anyway, so
 * more than a few at a time would only occupy what others need.
 *
 * Invariants:
 * - at most `running` writes of one user run at the same time; the others start in the order in which they came;
 * - at most `waiting` of one user wait, and `waitingInAll` of all; one more is refused at once;
 * - the wait counts against the budget: no write starts after it, and what runs is told how much is left;
 * - who goes away leaves the line; nothing is kept of a user without a write.
 */
export class WriteLimiter {
  private readonly lines = new Map<string, Line>();
  private waitingInAll = 0;

  constructor(private readonly limits: WriteLimits) {}

  /** Users of whom something is kept. */
  get users(): number {
    return this.lines.size;
  }

  /** Writes that wait. */
  get waiting(): number {
    return this.waitingInAll;
  }

  /**
   * Runs a write as soon as its user's earlier ones leave room.
   *
   * @param run is given what is left of the budget, in milliseconds.
   * @throws Failure `unavailable` when too many wait, its turn does not come in time, or the caller went away; and
   *   whatever `run` throws.
   */
  async run<Result>(write: LimitedWrite, run: (remainingMs: number) => Promise<Result>): Promise<Result> {
    const until = performance.now() + write.budgetMs;
    const line = this.lineOf(write.userId);
    if (line.running < this.limits.running) line.running += 1;
    else await this.turn(line, write);
    try {
      const remainingMs = until - performance.now();
      // Where this process was held up, a turn may come before the timer that should have ended the wait.
      if (remainingMs <= 0) throw refusal(tooLate);
      return await run(remainingMs);
    } finally {
      this.pass(write.userId, line);
    }
  }

  private lineOf(userId: string): Line {
    const known = this.lines.get(userId);
    if (known) return known;
    const line: Line = { running: 0, waiting: new Set() };
    this.lines.set(userId, line);
    return line;
  }

  /** Resolves when an earlier write hands over its place. */
  private async turn(line: Line, { budgetMs, caller: { signal } }: LimitedWrite): Promise<void> {
    const { waiting, waitingInAll } = this.limits;
    if (line.waiting.size >= waiting || this.waitingInAll >= waitingInAll) throw refusal('too many writes wait');
    if (signal.aborted) throw refusal('the caller went away');
    this.waitingInAll += 1;
    await new Promise<void>((resolve, reject) => {
      // At once, so that no place is handed to one that has left.
      const leave = (settle: () => void) => {
        this.waitingInAll -= 1;
        line.waiting.delete(admit);
        signal.removeEventListener('abort', away);
        clearTimeout(timer);
        settle();
      };
      const admit = () => leave(resolve);
      const away = () => leave(() => reject(refusal('the caller went away')));
      const timer = setTimeout(() => leave(() => reject(refusal(tooLate))), budgetMs);
      signal.addEventListener('abort', away);
      line.waiting.add(admit);
    });
  }

  /** Hands the place of a write that has ended to the one that waits longest. */
  private pass(userId: string, line: Line): void {
    const [next] = line.waiting;
    if (next) return next();
    line.running -= 1;
    if (line.running === 0) this.lines.delete(userId);
  }
}

function refusal(reason: string): Failure {
  return new Failure('unavailable', undefined, { cause: new Error(reason) });
}
