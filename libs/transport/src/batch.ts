/** Most items of one batch: Lua hands a command about 8,000 arguments at most, and others want their turn. */
const most = 1_000;

/**
 * Collects what is sent together, as one command costs what ten do: what comes within one turn of the event loop, and what
 * comes while Redis still has the batch before. So nothing waits on a Redis that is idle, and a busy one gets fewer commands.
 */
export class Batch<Item> {
  private readonly items: Item[] = [];
  private isSending = false;

  /** @param send resolves when Redis has answered or is given up; must not reject. */
  constructor(private readonly send: (items: Item[]) => Promise<void>) {}

  add(item: Item): void {
    if (this.items.push(item) === 1 && !this.isSending) setImmediate(() => void this.flush());
  }

  private async flush(): Promise<void> {
    this.isSending = true;
    while (this.items.length > 0) await this.send(this.items.splice(0, most));
    this.isSending = false;
  }
}
