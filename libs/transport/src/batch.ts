/** Most items of one batch: Lua hands a command about 8,000 arguments at most, and others want their turn. */
const most = 1_000;

/** Collects what comes within one turn of the event loop, so that it is sent together: one command costs what ten do. */
export class Batch<Item> {
  private items: Item[] = [];

  constructor(private readonly send: (items: Item[]) => void) {}

  add(item: Item): void {
    if (this.items.push(item) === 1) setImmediate(() => this.flush());
  }

  private flush(): void {
    const items = this.items;
    this.items = [];
    for (let from = 0; from < items.length; from += most) this.send(items.slice(from, from + most));
  }
}
