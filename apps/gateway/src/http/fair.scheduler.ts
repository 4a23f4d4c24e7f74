/** Requests of one user that begin in one tick of the event loop. */
const perTick = 4;

/**
 * Spreads the requests of one user over ticks of the event loop, a few in each, so that the requests of others never
 * wait behind hundreds that one user sent at once.
 */
export class FairScheduler {
  /** By user: how many requests have begun in this tick, and those that wait for a later one, in order. */
  private readonly users = new Map<string, { begun: number; waiting: (() => void)[] }>();
  private isScheduled = false;

  /** Resolves when a request of this user may begin: at once, unless {@link perTick} have begun in this tick. */
  async begin(userId: string): Promise<void> {
    const user = this.users.get(userId) ?? { begun: 0, waiting: [] };
    this.users.set(userId, user);
    if (!this.isScheduled) this.schedule();
    if (user.begun < perTick) user.begun += 1;
    else await new Promise<void>((resolve) => user.waiting.push(resolve));
  }

  private schedule(): void {
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      for (const [userId, user] of this.users) {
        const next = user.waiting.splice(0, perTick);
        user.begun = next.length;
        if (next.length === 0) this.users.delete(userId);
        for (const resolve of next) resolve();
      }
      if (this.users.size > 0) this.schedule();
    });
  }
}
