/** Most items of one batch: Lua hands a command about 8,000 arguments at most, and others want their turn. */
const most = 1_000;

/**
 * Collects what is sent together, as one command costs what ten do: what comes within one turn of the event loop, and what
 * comes while Redis still has the batch before. So nothing waits on a Redis that is idle, and a busy one gets fewer commands.
 * A batch holds no more than `mostBytes`, or one item that is larger: what is large travels by itself and holds up no
 * others but for its own command.
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
    private readonly mostBytes: number,
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
    const limit = Math.min(this.items.length, most);
    for (let count = 0; count < limit; count += 1) {
      bytes += this.bytesOf(this.items[count]!);
      if (bytes > this.mostBytes && count > 0) return count;
    }
    return limit;
  }
}
