/** A running Postgres or Redis that this process started. */
export interface EmbeddedServer {
  /** Connection URL with user and password. The user of Postgres owns the databases. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Resolves after the end of the server with its exit code or signal. */
  readonly exited: Promise<string>;
  /** Stops the server, by force after 40 seconds. Callers should close all clients first. */
  stop(): Promise<void>;
}

/** Options of an embedded Postgres or Redis. */
export interface ServerOptions {
  /**
   * Folder with all data. Callers must hold an exclusive lock on the folder, because a start stops
   * a server that already runs on the folder.
   */
  readonly directory: string;
  /** Default: a free port. */
  readonly port?: number;
  /** True (default) if data survives a crash of the machine. False turns fsync off, for tests. */
  readonly durable?: boolean;
  /** An abort ends a start in progress. It has no effect on a server that is ready. */
  readonly stopped?: AbortSignal;
  /** Receives progress messages, one line each. */
  readonly reportProgress?: (line: string) => void;
}

/** Error of a server that could not start. Its message tells the operator what to do. */
export class StartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StartError';
  }
}
