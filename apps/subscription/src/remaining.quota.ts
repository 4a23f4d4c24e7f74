/** What quotas bound; `pointers` are subscriptions that were merged into others. */
export const bounded = ['live', 'pointers', 'guidChanges', 'guids', 'urls'] as const;
type Bounded = (typeof bounded)[number];

/** How many more a user may have of each. */
export type Remaining = Record<Bounded, number>;

/**
 * What remains of a user's quotas (docs/reference/interface.md, "Quotas") in the course of one write. A user who has more than a
 * quota allows keeps it, and gets no more.
 */
export class RemainingQuota {
  /** How much was added of each so far; a negative number is what was removed. */
  readonly taken: Remaining = { live: 0, pointers: 0, guidChanges: 0, guids: 0, urls: 0 };

  constructor(private readonly remaining: Remaining) {}

  /** Counts what was added; a negative number is what was removed. */
  take(what: Bounded, count = 1): void {
    this.taken[what] += count;
  }

  /** Whether this much may be added. */
  allows(more: Partial<Remaining>): boolean {
    return bounded.every((what) => this.fits(what, more[what] ?? 0));
  }

  /** Whether more was added than may be. */
  get isExceeded(): boolean {
    return bounded.some((what) => this.taken[what] > 0 && this.taken[what] > this.remaining[what]);
  }

  private fits(what: Bounded, more: number): boolean {
    return more <= 0 || this.taken[what] + more <= this.remaining[what];
  }
}
