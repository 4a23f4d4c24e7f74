/** A Postgres or Redis on this machine that was started by us. */
export interface EmbeddedServer {
  /** With user and password; for Postgres those of the owner of everything. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Settles when the server has ended, asked or not, with how. */
  readonly exited: Promise<string>;
  /** Stops it in order; to be called when nobody uses it any more. */
  stop(): Promise<void>;
}

/** What both servers can be told. */
export interface ServerOptions {
  /**
   * Everything it keeps. The caller must be the only one who starts a server here: one that already runs on this
   * directory is taken for the orphan of a killed starter and stopped.
   */
  readonly directory: string;
  /** Default: a free one. */
  readonly port?: number;
  /**
   * Whether data survives a crash of the machine (default). Without it there is no waiting for the disk, which
   * is for tests.
   */
  readonly durable?: boolean;
  /** Told what is done, a line at a time, where it takes long or is worth knowing. */
  readonly progress?: (line: string) => void;
}
