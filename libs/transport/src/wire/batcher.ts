/** Maximum items per batch, because Lua passes at most 8,000 arguments and blocks Redis. */
const maxItems = 1_000;

/**
 * Collects items and sends them in batches, because a command with ten items costs about as much as
 * a command with one. A batch contains the items of one event loop iteration, or those added before
 * the answer to the previous batch. Above 1,000 items or `maxBytes` there are several batches. An
 * item larger than `maxBytes` is sent alone.
 */
export class Batcher<Item> {
  private readonly items: Item[] = [];
  private isSending = false;

  /** @param sendBatch resolves when the next batch can be sent; must not reject. */
  constructor(
    private readonly sendBatch: (items: Item[]) => Promise<void>,
    private readonly countBytes: (item: Item) => number,
    private readonly maxBytes: number,
  ) {}

  add(item: Item): void {
    if (this.items.push(item) === 1 && !this.isSending) setImmediate(() => void this.flush());
  }

  /** Sends batches, one after the other, until no item is left. */
  private async flush(): Promise<void> {
    this.isSending = true;
    while (this.items.length > 0) await this.sendBatch(this.items.splice(0, this.nextBatchSize()));
    this.isSending = false;
  }

  /** Returns how many of the first items fit into one batch. */
  private nextBatchSize(): number {
    let bytes = 0;
    const limit = Math.min(this.items.length, maxItems);
    for (let count = 0; count < limit; count += 1) {
      bytes += this.countBytes(this.items[count]!);
      if (bytes > this.maxBytes && count > 0) return count;
    }
    return limit;
  }
}
