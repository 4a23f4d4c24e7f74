import type { Pool, QueryConfig, QueryResult, QueryResultRow } from 'pg';

/** Maximum number of reads that share a connection. A slow read delays the reads after it. */
const maxTogether = 4;

/** A read that waits for the end of the event loop iteration, with its callbacks. */
interface QueuedRead {
  readonly query: QueryConfig;
  readonly resolve: (result: QueryResult) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs read statements, each in its own implicit transaction. Reads of the same event loop
 * iteration share connections, because sending on a connection costs more than a small read.
 */
export class SharedReads {
  private queuedReads: QueuedRead[] = [];

  constructor(private readonly pool: Pool) {}

  read<Row extends QueryResultRow>(query: QueryConfig): Promise<QueryResult<Row>> {
    return new Promise((resolve, reject) => {
      const queuedRead = { query, resolve: resolve as QueuedRead['resolve'], reject };
      if (this.queuedReads.push(queuedRead) === 1) setImmediate(() => this.sendQueued());
    });
  }

  private sendQueued(): void {
    const reads = this.queuedReads;
    this.queuedReads = [];
    for (let from = 0; from < reads.length; from += maxTogether)
      void this.sendTogether(reads.slice(from, from + maxTogether));
  }

  private async sendTogether(reads: readonly QueuedRead[]): Promise<void> {
    try {
      const client = await this.pool.connect();
      let left = reads.length;
      let error: Error | undefined;
      // The pool drops a connection with a failed statement, as `pool.query` does.
      const ended = () => (left -= 1) === 0 && client.release(error);
      for (const { query, resolve, reject } of reads) {
        client
          .query(query)
          .then(resolve, (reason: Error) => reject((error = reason)))
          .finally(ended);
      }
    } catch (error) {
      for (const { reject } of reads) reject(error);
    }
  }
}
