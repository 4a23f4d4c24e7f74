/** Options of `load`. */
export interface LoadOptions {
  /** Paths; `-` is the standard input. */
  readonly files: readonly string[];
  readonly parallel: number;
  /** File for rejected lines. Default: next to each loaded file. */
  readonly refused?: string;
  /** Progress file. Default: next to the loaded file. */
  readonly progress?: string;
}
