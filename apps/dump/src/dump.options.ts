/** One of several parts of all users, by the hash of their ids. The index starts at 0. */
export interface Shard {
  readonly index: number;
  readonly of: number;
}

/** Options of `dump`. */
export interface DumpOptions {
  /** A file that names users. Default: all users of the shard. */
  readonly users?: string;
  readonly shard: Shard;
  /** Default: standard output. */
  readonly out?: string;
}

/** Options of `copy-users`. */
export interface CopyOptions {
  /** A file that names users. Default: all. */
  readonly users?: string;
  /** Replaces an earlier state of a user in the target. */
  readonly replace: boolean;
}
