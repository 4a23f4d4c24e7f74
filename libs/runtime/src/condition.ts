/** The state of something that is checked repeatedly; only changes are worth a log line. */
export class Condition<State extends string> {
  constructor(public state: State) {}

  /** Sets the state. @returns whether it changed. */
  becomes(state: State): boolean {
    const isNew = state !== this.state;
    this.state = state;
    return isNew;
  }
}
