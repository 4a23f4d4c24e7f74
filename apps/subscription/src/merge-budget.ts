import type { SubscriptionRow } from './subscription-row.js';

/** Maximum number of merges in one POST; each merges a pair of subscriptions. */
const maxMergedPairs = 8;
/** Maximum number of episode states of all subscriptions that one POST merges. */
export const maxMergedStates = 20_000;

/**
 * Limits the merges of one POST or one move of a feed (docs/reference/subscriptions.md,
 * "Identifiers"). If the rules merge anything, they run twice. The first run limits only the number
 * of merges, and collects in `uncounted` the subscriptions whose states the caller then counts. The
 * second run has these counts.
 */
export class MergeBudget {
  /** Ids of subscriptions to merge whose episode states were not counted. */
  readonly uncounted = new Set<number>();
  private readonly countedIds = new Set<number>();
  private mergedPairs = 0;
  private mergedStates = 0;

  /**
   * @param statesOf number of states by subscription, counted up to `maxMergedStates` + 1;
   *   undefined in the first run.
   */
  constructor(private readonly statesOf?: ReadonlyMap<number, number>) {}

  /** Counts a merge. @returns false, without counting, if it exceeds a limit. */
  countMerge(...pair: [from: SubscriptionRow, into: SubscriptionRow]): boolean {
    if (this.mergedPairs === maxMergedPairs) return false;
    const ids = pair.map(({ id }) => id).filter((id) => !this.countedIds.has(id));
    if (!this.statesOf) for (const id of ids) this.uncounted.add(id);
    const more = ids.reduce(
      (sum, id) => sum + (this.statesOf ? (this.statesOf.get(id) ?? Infinity) : 0),
      0,
    );
    if (this.mergedStates + more > maxMergedStates) return false;
    for (const id of ids) this.countedIds.add(id);
    this.mergedPairs += 1;
    this.mergedStates += more;
    return true;
  }
}
