/** What is to be loaded, and how. */
export interface LoadOptions {
  /** Paths; `-` is the standard input. */
  readonly files: readonly string[];
  /** How many users are on their way at the same time. */
  readonly parallel: number;
  /** Where refused lines go; by default beside each file. */
  readonly refused?: string;
  /** The file that records how far a load came; by default next to the loaded file. */
  readonly progress?: string;
}
