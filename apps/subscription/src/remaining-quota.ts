/**
 * Kinds of rows with a quota. `live` are subscriptions without tombstones, `pointers` are merged
 * subscriptions, `guidChanges` are rows of `former_guids`.
 */
export const quotaKinds = ['live', 'pointers', 'guidChanges', 'guids', 'urls'] as const;
type QuotaKind = (typeof quotaKinds)[number];

/** Numbers of rows by kind: those that the quotas still allow, or those that a write adds. */
export type RowCounts = Record<QuotaKind, number>;

/**
 * Tracks the remaining quotas of a user during one write
 * (docs/reference/subscriptions.md, "Quotas"). A user who is above a quota, because the quota was
 * lowered, keeps all rows and gets no new ones of that kind.
 */
export class RemainingQuota {
  /** Rows added by this write, by kind; negative if it removed more than it added. */
  readonly added: RowCounts = { live: 0, pointers: 0, guidChanges: 0, guids: 0, urls: 0 };

  constructor(private readonly remaining: RowCounts) {}

  countAdded(kind: QuotaKind, count = 1): void {
    this.added[kind] += count;
  }

  /** Returns true if the quotas allow these numbers of rows in addition to `added`. */
  allows(more: Partial<RowCounts>): boolean {
    return quotaKinds.every((kind) => this.isWithinQuota(kind, more[kind] ?? 0));
  }

  /** True if this write added more rows of a kind than the quotas allow. */
  get isExceeded(): boolean {
    return quotaKinds.some(
      (kind) => this.added[kind] > 0 && this.added[kind] > this.remaining[kind],
    );
  }

  private isWithinQuota(kind: QuotaKind, more: number): boolean {
    return more <= 0 || this.added[kind] + more <= this.remaining[kind];
  }
}
