import type { Pool, QueryConfig, QueryResult, QueryResultRow } from 'pg';

/**
 * Maximum number of reads that are sent together on one connection; further reads use others. A
 * slow read delays the reads after it on its connection.
 */
const maxReadsPerConnection = 4;

/** A read that waits for the end of the event loop iteration, with the callbacks of its promise. */
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
    for (let start = 0; start < reads.length; start += maxReadsPerConnection)
      void this.sendTogether(reads.slice(start, start + maxReadsPerConnection));
  }

  private async sendTogether(reads: readonly QueuedRead[]): Promise<void> {
    try {
      const client = await this.pool.connect();
      let runningReads = reads.length;
      let lastError: Error | undefined;
      // After a failed statement, `release` closes the connection, as `pool.query` does.
      const endRead = () => (runningReads -= 1) === 0 && client.release(lastError);
      for (const { query, resolve, reject } of reads) {
        client
          .query(query)
          .then(resolve, (reason: Error) => reject((lastError = reason)))
          .finally(endRead);
      }
    } catch (error) {
      for (const { reject } of reads) reject(error);
    }
  }
}
