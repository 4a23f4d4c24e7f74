/** What a user has only so many of. */
export const counted = ['live', 'pointers', 'guidChanges', 'guids', 'urls'] as const;
export type Counted = (typeof counted)[number];

/** How many more a user may have of each. */
export type Left = Record<Counted, number>;

/**
 * What is left of a user's quotas (docs/interface.md, "Quotas") in the course of one write. Who has more than they may
 * keeps it, and gets no more.
 */
export class Room {
  private readonly taken: Left = { live: 0, pointers: 0, guidChanges: 0, guids: 0, urls: 0 };

  constructor(private readonly left: Left) {}

  /** Counts what was added; a negative number is what is no longer there. */
  take(what: Counted, count = 1): void {
    this.taken[what] += count;
  }

  /** Whether this much may be added. */
  has(more: Partial<Left>): boolean {
    return counted.every((what) => this.fits(what, more[what] ?? 0));
  }

  /** Whether more was added than may be. */
  get isExceeded(): boolean {
    return counted.some((what) => this.taken[what] > 0 && this.taken[what] > this.left[what]);
  }

  private fits(what: Counted, more: number): boolean {
    return more <= 0 || this.taken[what] + more <= this.left[what];
  }
}
