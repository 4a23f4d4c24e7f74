/** Users whose id falls into one of several parts by its hash, counted from 0. */
export interface Shard {
  readonly index: number;
  readonly of: number;
}

/** What an operator wants dumped, and where to. */
export interface DumpOptions {
  /** A file that names users; not set: all of the shard. */
  readonly users?: string;
  readonly shard: Shard;
  /** Not set: standard output. */
  readonly out?: string;
}

/** Which users an operator wants copied to another database. */
export interface CopyOptions {
  /** A file that names users; not set: everybody. */
  readonly users?: string;
  /** Replaces an earlier state of a user in the target. */
  readonly replace: boolean;
}
