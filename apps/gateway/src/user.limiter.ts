import { Failure } from '#contracts';

/** How many calls of one kind are let through, and how many may wait for that. */
export interface CallLimits {
  /** Of one user, that run at the same time. */
  readonly running: number;
  /** Of one user, bytes of what runs at the same time; one call by itself may have more. */
  readonly runningBytes: number;
  /** Of one user, that wait. */
  readonly waiting: number;
  /** Of all users, that wait. */
  readonly waitingInAll: number;
}

/** One call of one user. */
export interface LimitedCall {
  readonly userId: string;
  /** What it makes others carry: of a write its body, of a read the largest answer that it can have. */
  readonly bytes: number;
  /** How long its caller waits for the answer, in milliseconds. */
  readonly budgetMs: number;
  /** Aborted when whoever asked went away. Looked at only where the call has to wait. */
  readonly ended: AbortSignal;
}

/** A call that waits, and what lets it go on. */
interface Waiting {
  readonly bytes: number;
  readonly admit: () => void;
}

/** A user's calls: those that run, and those that wait, in the order in which they came. */
interface Line {
  running: number;
  bytes: number;
  readonly waiting: Set<Waiting>;
}

const tooLate = 'earlier calls of the user took all of its time';

/**
 * Keeps one user from taking the services for themselves: writes of one user follow one another in Postgres anyway, and
 * many large pages at a time would only occupy what others need. One for reads and one for writes.
 *
 * Invariants:
 * - at most `running` calls of one user with at most `runningBytes` run at the same time; the others start in the order in
 *   which they came;
 * - at most `waiting` of one user wait, and `waitingInAll` of all; one more is refused at once;
 * - the wait counts against the budget: no call starts after it, and what runs is told how much is left;
 * - who goes away leaves the line; nothing is kept of a user without a call.
 */
export class UserLimiter {
  private readonly lines = new Map<string, Line>();
  private waitingInAll = 0;

  constructor(private readonly limits: CallLimits) {}

  /** Users of whom something is kept. */
  get users(): number {
    return this.lines.size;
  }

  /** Calls that wait. */
  get waiting(): number {
    return this.waitingInAll;
  }

  /**
   * Runs a call as soon as its user's earlier ones leave room.
   *
   * @param run is given what is left of the budget, in milliseconds.
   * @throws Failure `unavailable` when too many wait, its turn does not come in time, or the caller went away; and
   *   whatever `run` throws.
   */
  async run<Result>(call: LimitedCall, run: (remainingMs: number) => Promise<Result>): Promise<Result> {
    const until = performance.now() + call.budgetMs;
    const line = this.lineOf(call.userId);
    if (line.waiting.size === 0 && this.hasRoom(line, call.bytes)) begin(line, call.bytes);
    else await this.turn(line, call);
    try {
      const remainingMs = until - performance.now();
      // Where this process was held up, a turn may come before the timer that should have ended the wait.
      if (remainingMs <= 0) throw refusal(tooLate);
      return await run(remainingMs);
    } finally {
      line.running -= 1;
      line.bytes -= call.bytes;
      this.advance(line);
      if (line.running === 0) this.lines.delete(call.userId);
    }
  }

  private lineOf(userId: string): Line {
    const known = this.lines.get(userId);
    if (known) return known;
    const line: Line = { running: 0, bytes: 0, waiting: new Set() };
    this.lines.set(userId, line);
    return line;
  }

  private hasRoom(line: Line, bytes: number): boolean {
    const { running, runningBytes } = this.limits;
    return line.running === 0 || (line.running < running && line.bytes + bytes <= runningBytes);
  }

  /** Resolves when earlier calls have made room; the call counts as running then. */
  private async turn(line: Line, { bytes, budgetMs, ended }: LimitedCall): Promise<void> {
    const { waiting, waitingInAll } = this.limits;
    if (line.waiting.size >= waiting || this.waitingInAll >= waitingInAll) throw refusal('too many calls wait');
    if (ended.aborted) throw refusal('the caller went away');
    this.waitingInAll += 1;
    await new Promise<void>((resolve, reject) => {
      // At once, so that no place is handed to one that has left.
      const leave = (settle: () => void) => {
        this.waitingInAll -= 1;
        line.waiting.delete(place);
        ended.removeEventListener('abort', away);
        clearTimeout(timer);
        settle();
      };
      const giveUp = (reason: string) =>
        leave(() => {
          reject(refusal(reason));
          // A small call may have waited behind this one only because this one was too large.
          this.advance(line);
        });
      const place = { bytes, admit: () => leave(resolve) };
      const away = () => giveUp('the caller went away');
      const timer = setTimeout(() => giveUp(tooLate), budgetMs);
      ended.addEventListener('abort', away);
      line.waiting.add(place);
    });
  }

  /** Lets those that wait longest go on, for as many as there is room. */
  private advance(line: Line): void {
    for (const next of line.waiting) {
      if (!this.hasRoom(line, next.bytes)) return;
      begin(line, next.bytes);
      next.admit();
    }
  }
}

function begin(line: Line, bytes: number): void {
  line.running += 1;
  line.bytes += bytes;
}

function refusal(reason: string): Failure {
  return new Failure('unavailable', undefined, { cause: new Error(reason) });
}
