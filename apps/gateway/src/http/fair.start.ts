/** Requests of one user that begin in one turn of the event loop. */
const mostTogether = 4;

/**
 * Lets the requests of one user begin a few at a time, with a turn of the event loop for everybody else in between: of
 * hundreds that one user sends at once, others wait for a few only.
 */
export class FairStart {
  /** Of the users who began something in this turn: how many requests, and those that wait for a later one. */
  private readonly users = new Map<string, { begun: number; waiting: (() => void)[] }>();
  private isScheduled = false;

  /** Resolves when a request of this user may begin: at once, unless several have in this turn. */
  async enter(userId: string): Promise<void> {
    const user = this.users.get(userId) ?? { begun: 0, waiting: [] };
    this.users.set(userId, user);
    if (!this.isScheduled) this.schedule();
    if (user.begun < mostTogether) user.begun += 1;
    else await new Promise<void>((begin) => user.waiting.push(begin));
  }

  private schedule(): void {
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      for (const [userId, user] of this.users) {
        const next = user.waiting.splice(0, mostTogether);
        user.begun = next.length;
        if (next.length === 0) this.users.delete(userId);
        for (const begin of next) begin();
      }
      if (this.users.size > 0) this.schedule();
    });
  }
}
