/**
 * The end of a request: its answer was sent, or its connection is gone. What an `AbortSignal` does, at a tenth of its
 * time: each request has one.
 */
export class RequestEnd {
  private readonly listeners = new Set<() => void>();
  private ended = false;

  /** Whether it has ended. */
  get reached(): boolean {
    return this.ended;
  }

  /** Calls `listener` at the end, once; never where the end was reached before. @returns what takes it off again. */
  onReached(listener: () => void): () => void {
    if (!this.ended) this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Ends the request. Further calls do nothing. */
  reach(): void {
    if (this.ended) return;
    this.ended = true;
    for (const listener of this.listeners) listener();
    this.listeners.clear();
  }
}
