/** Kinds of entries under quotas; `pointers` are subscriptions that were merged into others. */
export const bounded = ['live', 'pointers', 'guidChanges', 'guids', 'urls'] as const;
type Bounded = (typeof bounded)[number];

/** The number of further entries that a quota allows, by kind. */
export type Remaining = Record<Bounded, number>;

/**
 * Tracks the remaining quotas of a user during one write
 * (docs/reference/subscriptions.md, "Quotas"). A user above a quota keeps the existing entries, and
 * gets no further ones.
 */
export class RemainingQuota {
  /** Entries added so far, by kind; a negative number are removed ones. */
  readonly taken: Remaining = { live: 0, pointers: 0, guidChanges: 0, guids: 0, urls: 0 };

  constructor(private readonly remaining: Remaining) {}

  take(what: Bounded, count = 1): void {
    this.taken[what] += count;
  }

  /** Returns whether the quotas allow to add this many. */
  allows(more: Partial<Remaining>): boolean {
    return bounded.every((what) => this.fits(what, more[what] ?? 0));
  }

  /** True if more was added than the quotas allow. */
  get isExceeded(): boolean {
    return bounded.some((what) => this.taken[what] > 0 && this.taken[what] > this.remaining[what]);
  }

  private fits(what: Bounded, more: number): boolean {
    return more <= 0 || this.taken[what] + more <= this.remaining[what];
  }
}
