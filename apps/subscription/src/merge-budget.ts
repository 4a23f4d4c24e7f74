import type { SubscriptionRow } from './subscription-row.js';

/** Maximum number of pairs of subscriptions that one POST merges. */
const maxMergedPairs = 8;
/** Maximum number of episode states of all subscriptions that one POST merges. */
export const maxMergedStates = 20_000;

/**
 * Limits the merges of one POST or one move of a feed (docs/reference/subscriptions.md,
 * "Identifiers"). If the rules merge anything, they run twice. The first run limits only the number
 * of merges, and collects in `uncounted` the subscriptions whose states the caller then counts. The
 * second run has these counts, and limits the number of states, too.
 */
export class MergeBudget {
  /** Ids of subscriptions to merge whose episode states were not counted. */
  readonly uncounted = new Set<number>();
  private readonly countedIds = new Set<number>();
  private mergedPairs = 0;
  private mergedStates = 0;

  /**
   * @param stateCounts number of states by subscription id, counted up to `maxMergedStates` + 1;
   *   undefined in the first run.
   */
  constructor(private readonly stateCounts?: ReadonlyMap<number, number>) {}

  /** Counts a merge. @returns false, without counting, if the merge would exceed a limit. */
  countMerge(...pair: [from: SubscriptionRow, into: SubscriptionRow]): boolean {
    if (this.mergedPairs === maxMergedPairs) return false;
    const newIds = pair.map(({ id }) => id).filter((id) => !this.countedIds.has(id));
    if (!this.stateCounts) for (const id of newIds) this.uncounted.add(id);
    const addedStates = newIds.reduce(
      (sum, id) => sum + (this.stateCounts ? (this.stateCounts.get(id) ?? Infinity) : 0),
      0,
    );
    if (this.mergedStates + addedStates > maxMergedStates) return false;
    for (const id of newIds) this.countedIds.add(id);
    this.mergedPairs += 1;
    this.mergedStates += addedStates;
    return true;
  }
}
