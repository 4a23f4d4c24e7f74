/** Options of `load`. */
export interface LoadOptions {
  /** Paths; `-` is the standard input. */
  readonly files: readonly string[];
  readonly parallel: number;
  /** File for rejected lines. Default: the path of the loaded file with `.refused`. */
  readonly refused?: string;
  /** Progress file. Default: the path of the loaded file with `.progress`. */
  readonly progress?: string;
}
