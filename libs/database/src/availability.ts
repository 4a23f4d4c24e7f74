import { withTimeLimit } from '#runtime';

/** How long Postgres may take to say that it is there, in milliseconds. */
const lookLimitMs = 2_000;

/** How long to wait between two looks while it is away, in milliseconds; up to half as much again, so that no two replicas are in step. */
const pauseMs = 1_000;

/**
 * Whether Postgres answers this process and has every migration that this build knows.
 *
 * Invariants:
 * - While it is there nothing is asked: the faults of statements are what raises a doubt, and a doubt is followed by one look.
 *   Faults alone say nothing, as one lost connection of many is no outage.
 * - While it is away a look follows the other, a second apart, until one succeeds.
 * - One look at a time. Listeners are told of changes only, and in their order.
 */
export class Availability {
  private lacking: readonly string[] = [];
  private readonly listeners: ((isThere: boolean) => void)[] = [];
  private looking: Promise<readonly string[]> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  /** @param look the migrations that are missing; rejects when Postgres can't answer. */
  constructor(private readonly look: () => Promise<readonly string[]>) {}

  /** What was missing at the last look, as texts for an operator; nothing when all is there. */
  get missing(): readonly string[] {
    return this.lacking;
  }

  get isThere(): boolean {
    return this.lacking.length === 0;
  }

  /** Has a listener told of each change from here on. */
  onChange(listener: (isThere: boolean) => void): void {
    this.listeners.push(listener);
  }

  /** A statement failed in a way that an absent Postgres, or one that is not migrated yet, makes statements fail. */
  doubt(): void {
    if (this.isThere && !this.isClosed) void this.check();
  }

  /** Looks now; a look that is on its way is shared. Answers {@link missing} and never rejects. */
  check(): Promise<readonly string[]> {
    this.looking ??= this.find().finally(() => (this.looking = undefined));
    return this.looking;
  }

  /** Resolves when all is there; looks for as long as that takes. */
  async there(): Promise<void> {
    const isThere = new Promise<void>((resolve) => this.onChange((now) => now && resolve()));
    if ((await this.check()).length > 0) await isThere;
  }

  /** Looks no more. */
  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  private async find(): Promise<readonly string[]> {
    const found = await this.found();
    if (this.isClosed) return this.lacking;
    const wasThere = this.isThere;
    this.lacking = found;
    clearTimeout(this.timer);
    if (!this.isThere) this.timer = setTimeout(() => void this.check(), pauseMs * (1 + Math.random() / 2));
    if (wasThere !== this.isThere) for (const tell of this.listeners) tell(this.isThere);
    return found;
  }

  private async found(): Promise<readonly string[]> {
    try {
      return await withTimeLimit(this.look(), lookLimitMs);
    } catch (error) {
      return [`Postgres: ${reasonOf(error)}`];
    }
  }
}

/** What the deepest cause says, or its code where it says nothing, as an error for several addresses of a host does. */
function reasonOf(error: unknown): string {
  let deepest = error as Error & { code?: string };
  while (deepest.cause instanceof Error) deepest = deepest.cause;
  return deepest.message || (deepest.code ?? 'is away');
}
