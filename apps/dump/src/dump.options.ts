/** One of `of` partitions of all users, by the hash of their ids. `index` starts at 0. */
export interface UserPartition {
  readonly index: number;
  readonly of: number;
}

/** Options of `dump`. */
export interface DumpOptions {
  /** A file that names users. Default: all users of the partition. */
  readonly users?: string;
  readonly shard: UserPartition;
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
