import type { SubscriptionRow } from './subscription.row.js';

/** Limits of one POST: the pairs of subscriptions it merges, and the states of all of them. */
const maxPairs = 8;
export const maxStates = 20_000;

/**
 * Limits the merges of one POST (docs/reference/subscriptions.md, "Identifiers"). The first run of
 * the rules has no counts of states: it allows all and collects the subscriptions to count in
 * `uncounted`. A second run has the counts.
 */
export class MergeBudget {
  readonly uncounted = new Set<number>();
  private readonly counted = new Set<number>();
  private pairs = 0;
  private states = 0;

  /** @param statesOf states by subscription, counted up to {@link maxStates} and one more. */
  constructor(private readonly statesOf?: ReadonlyMap<number, number>) {}

  /** Returns whether the limits allow to merge a pair, and if so counts it as merged. */
  take(...pair: [from: SubscriptionRow, into: SubscriptionRow]): boolean {
    if (this.pairs === maxPairs) return false;
    const ids = pair.map(({ id }) => id).filter((id) => !this.counted.has(id));
    if (!this.statesOf) for (const id of ids) this.uncounted.add(id);
    const more = ids.reduce(
      (sum, id) => sum + (this.statesOf ? (this.statesOf.get(id) ?? Infinity) : 0),
      0,
    );
    if (this.states + more > maxStates) return false;
    for (const id of ids) this.counted.add(id);
    this.pairs += 1;
    this.states += more;
    return true;
  }
}
