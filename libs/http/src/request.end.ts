/**
 * The end of a request: its answer was sent, or its connection was closed. Each request has one. It
 * is not an `AbortSignal`, because that would take ten times as much CPU time.
 */
export class RequestEnd {
  private readonly listeners = new Set<() => void>();
  private ended = false;

  get reached(): boolean {
    return this.ended;
  }

  /**
   * Calls `listener` when the request ends, but not if it has ended already. Returns a function
   * that removes the listener.
   */
  onReached(listener: () => void): () => void {
    if (!this.ended) this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Marks the request as ended and calls the listeners. Has no effect on an ended request. */
  reach(): void {
    if (this.ended) return;
    this.ended = true;
    for (const listener of this.listeners) listener();
    this.listeners.clear();
  }
}
