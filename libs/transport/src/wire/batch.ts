/** Lua can pass about 8,000 arguments to a command, and while a script runs Redis serves nobody else. */
const maxItems = 1_000;

/**
 * Collects items and sends them together, since a command with ten items costs about as much as one with a single item.
 * A batch is what was added in one event loop iteration, or while Redis had not yet answered the batch before:
 * nothing waits for a Redis that is idle, and a busy one gets fewer commands. An item beyond `maxBytes` goes alone.
 */
export class Batch<Item> {
  private readonly items: Item[] = [];
  private isSending = false;

  /**
   * @param send resolves when Redis has answered or is given up; must not reject.
   * @param bytesOf how many bytes of a batch an item takes.
   */
  constructor(
    private readonly send: (items: Item[]) => Promise<void>,
    private readonly bytesOf: (item: Item) => number,
    private readonly maxBytes: number,
  ) {}

  add(item: Item): void {
    if (this.items.push(item) === 1 && !this.isSending) setImmediate(() => void this.flush());
  }

  private async flush(): Promise<void> {
    this.isSending = true;
    while (this.items.length > 0) await this.send(this.items.splice(0, this.count()));
    this.isSending = false;
  }

  /** How many of the first items are sent together. */
  private count(): number {
    let bytes = 0;
    const limit = Math.min(this.items.length, maxItems);
    for (let count = 0; count < limit; count += 1) {
      bytes += this.bytesOf(this.items[count]!);
      if (bytes > this.maxBytes && count > 0) return count;
    }
    return limit;
  }
}
