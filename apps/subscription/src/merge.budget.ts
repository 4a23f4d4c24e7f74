import type { SubscriptionRow } from './subscription.row.js';

/** The most pairs of subscriptions that one POST merges, and the most states that they may have together. */
const mostPairs = 8;
export const mostStates = 20_000;

/**
 * What one POST may merge (docs/reference/interface.md, "Names"). The states are not known when the rules run first: that run
 * allows any, and collects in `asked` which subscriptions are to be counted; a second run knows them.
 */
export class MergeBudget {
  readonly asked = new Set<number>();
  private readonly counted = new Set<number>();
  private pairs = 0;
  private states = 0;

  /** @param statesOf of each subscription, counted no further than {@link mostStates} and one more. */
  constructor(private readonly statesOf?: ReadonlyMap<number, number>) {}

  /** Whether a pair may be merged; it counts as merged then. */
  take(...pair: [from: SubscriptionRow, into: SubscriptionRow]): boolean {
    if (this.pairs === mostPairs) return false;
    const uncounted = pair.map(({ id }) => id).filter((id) => !this.counted.has(id));
    if (!this.statesOf) for (const id of uncounted) this.asked.add(id);
    const more = uncounted.reduce((sum, id) => sum + (this.statesOf ? (this.statesOf.get(id) ?? Infinity) : 0), 0);
    if (this.states + more > mostStates) return false;
    for (const id of uncounted) this.counted.add(id);
    this.pairs += 1;
    this.states += more;
    return true;
  }
}
