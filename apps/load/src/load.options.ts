/** What is to be loaded, and how. */
export interface LoadOptions {
  /** Paths; `-` is the standard input. */
  readonly files: readonly string[];
  /** How many users are on their way at the same time. */
  readonly parallel: number;
  /** Where refused lines go; by default beside each file. */
  readonly refused?: string;
  /** Where it is noted how far a file was loaded; by default beside it. */
  readonly progress?: string;
}
