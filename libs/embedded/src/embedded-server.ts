/** A running Postgres or Redis that this process started. */
export interface EmbeddedServer {
  /** Connection URL with user and password; for Postgres, of the owner of the databases. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Resolves after the end of the server with its exit code or signal. */
  readonly exited: Promise<string>;
  /** Stops the server; after 40 seconds by force. Callers should close all clients first. */
  stop(): Promise<void>;
}

/** Options of an embedded Postgres or Redis. */
export interface ServerOptions {
  /**
   * Folder with all data. Callers must hold an exclusive lock on it: a server that already runs on
   * it is treated as left over from a killed process, and is stopped.
   */
  readonly directory: string;
  /** Default: a free port. */
  readonly port?: number;
  /** True (default) if data survives a crash of the machine. False turns fsync off, for tests. */
  readonly durable?: boolean;
  /** Its abort ends a start in progress, and stops the server. */
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
