import type { Pool, QueryConfig, QueryResult, QueryResultRow } from 'pg';

/** Maximum number of reads per connection, as a slow read delays those after it. */
const maxTogether = 4;

interface QueuedRead {
  readonly query: QueryConfig;
  readonly answered: (result: QueryResult) => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Runs single read statements. The reads of one event loop iteration are pipelined on shared
 * connections, because writing to a connection costs more than a small read.
 */
export class SharedReads {
  private waiting: QueuedRead[] = [];

  constructor(private readonly pool: Pool) {}

  read<Row extends QueryResultRow>(query: QueryConfig): Promise<QueryResult<Row>> {
    return new Promise((resolve, reject) => {
      const answered = resolve as QueuedRead['answered'];
      if (this.waiting.push({ query, answered, failed: reject }) === 1)
        setImmediate(() => this.send());
    });
  }

  private send(): void {
    const { waiting } = this;
    this.waiting = [];
    for (let from = 0; from < waiting.length; from += maxTogether)
      void this.sendTogether(waiting.slice(from, from + maxTogether));
  }

  private async sendTogether(reads: readonly QueuedRead[]): Promise<void> {
    try {
      const client = await this.pool.connect();
      let left = reads.length;
      let error: Error | undefined;
      // As in the pool's own `query`, a connection with a failed statement is not reused.
      const ended = () => (left -= 1) === 0 && client.release(error);
      for (const { query, answered, failed } of reads) {
        client
          .query(query)
          .then(answered, (reason: Error) => failed((error = reason)))
          .finally(ended);
      }
    } catch (error) {
      for (const { failed } of reads) failed(error);
    }
  }
}
