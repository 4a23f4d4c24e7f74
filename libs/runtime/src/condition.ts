/** The state something is in. Most attempts find it as it was: only the one that finds a change is worth a log line. */
export class Condition<State extends string> {
  constructor(public state: State) {}

  /** @returns whether it was in another state before. */
  becomes(state: State): boolean {
    const isNew = state !== this.state;
    this.state = state;
    return isNew;
  }
}
