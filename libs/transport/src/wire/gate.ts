/** A condition that can be waited for by any number of waiters, again and again. */
export class Gate {
  private waiting?: { promise: Promise<void>; resolve: () => void };

  constructor(private isOpened = false) {}

  get isOpen(): boolean {
    return this.isOpened;
  }

  open(): void {
    this.isOpened = true;
    this.waiting?.resolve();
    this.waiting = undefined;
  }

  shut(): void {
    this.isOpened = false;
  }

  set(isOpen: boolean): void {
    if (isOpen) this.open();
    else this.shut();
  }

  /** Resolves as soon as it is open, at once if it is. */
  opened(): Promise<void> {
    if (this.isOpened) return Promise.resolve();
    if (!this.waiting) {
      let resolve!: () => void;
      const promise = new Promise<void>((done) => (resolve = done));
      this.waiting = { promise, resolve };
    }
    return this.waiting.promise;
  }
}
