import type { SubscriptionRow } from './subscription.row.js';

/** Limits of one POST: pairs of merged subscriptions, and episode states of all of them. */
const maxMergedPairs = 8;
export const maxMergedStates = 20_000;

/**
 * Limits the merges of one POST (docs/reference/subscriptions.md, "Identifiers"). The rules run
 * twice. The first run has no counts of states: it limits only the pairs, and collects the
 * subscriptions to count in `uncounted`. The second run has the counts.
 */
export class MergeBudget {
  readonly uncounted = new Set<number>();
  private readonly counted = new Set<number>();
  private pairs = 0;
  private states = 0;

  /** @param statesOf number of states by subscription, counted up to `maxMergedStates` + 1. */
  constructor(private readonly statesOf?: ReadonlyMap<number, number>) {}

  /** Counts a pair as merged if the limits allow it. Returns false otherwise. */
  take(...pair: [from: SubscriptionRow, into: SubscriptionRow]): boolean {
    if (this.pairs === maxMergedPairs) return false;
    const ids = pair.map(({ id }) => id).filter((id) => !this.counted.has(id));
    if (!this.statesOf) for (const id of ids) this.uncounted.add(id);
    const more = ids.reduce(
      (sum, id) => sum + (this.statesOf ? (this.statesOf.get(id) ?? Infinity) : 0),
      0,
    );
    if (this.states + more > maxMergedStates) return false;
    for (const id of ids) this.counted.add(id);
    this.pairs += 1;
    this.states += more;
    return true;
  }
}
