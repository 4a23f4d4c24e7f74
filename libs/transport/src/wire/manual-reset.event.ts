/** A flag to wait for: `wait` resolves when it is set. It stays set until it is reset. */
export class ManualResetEvent {
  private readonly waiters: (() => void)[] = [];

  constructor(private isNowSet = false) {}

  get isSet(): boolean {
    return this.isNowSet;
  }

  set(): void {
    this.isNowSet = true;
    for (const resume of this.waiters.splice(0)) resume();
  }

  reset(): void {
    this.isNowSet = false;
  }

  assign(isSet: boolean): void {
    if (isSet) this.set();
    else this.reset();
  }

  wait(): Promise<void> {
    return this.isNowSet ? Promise.resolve() : new Promise((resolve) => this.waiters.push(resolve));
  }
}
