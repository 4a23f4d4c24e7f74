/** A flag that can be waited for by any number of waiters, again and again. */
export class ManualResetEvent {
  private waiting?: { promise: Promise<void>; resolve: () => void };

  constructor(private isNowSet = false) {}

  get isSet(): boolean {
    return this.isNowSet;
  }

  set(): void {
    this.isNowSet = true;
    this.waiting?.resolve();
    this.waiting = undefined;
  }

  reset(): void {
    this.isNowSet = false;
  }

  assign(isSet: boolean): void {
    if (isSet) this.set();
    else this.reset();
  }

  /** Resolves as soon as it is set, at once if it is. */
  wait(): Promise<void> {
    if (this.isNowSet) return Promise.resolve();
    if (!this.waiting) {
      let resolve!: () => void;
      const promise = new Promise<void>((done) => (resolve = done));
      this.waiting = { promise, resolve };
    }
    return this.waiting.promise;
  }
}
