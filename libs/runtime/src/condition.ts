/** The last state of a repeated check, so that only changes are logged. */
export class Condition<State extends string> {
  constructor(public state: State) {}

  /** Sets the state. @returns true if it changed. */
  becomes(state: State): boolean {
    const isNew = state !== this.state;
    this.state = state;
    return isNew;
  }
}
