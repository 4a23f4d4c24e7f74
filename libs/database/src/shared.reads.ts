import type { Pool, QueryConfig, QueryResult, QueryResultRow } from 'pg';

/** Most reads that share a connection, so that one that takes its time holds up few others. */
const mostTogether = 4;

interface Waiting {
  readonly query: QueryConfig;
  readonly answered: (result: QueryResult) => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Statements by themselves. Those that come in one turn of the event loop are sent on one connection, one behind the
 * other: to write to a connection and to wake its process up costs more than a small read does.
 */
export class SharedReads {
  private waiting: Waiting[] = [];

  constructor(private readonly pool: Pool) {}

  read<Row extends QueryResultRow>(query: QueryConfig): Promise<QueryResult<Row>> {
    return new Promise((resolve, reject) => {
      const answered = resolve as Waiting['answered'];
      if (this.waiting.push({ query, answered, failed: reject }) === 1) setImmediate(() => this.send());
    });
  }

  private send(): void {
    const { waiting } = this;
    this.waiting = [];
    for (let from = 0; from < waiting.length; from += mostTogether)
      void this.together(waiting.slice(from, from + mostTogether));
  }

  private async together(reads: readonly Waiting[]): Promise<void> {
    try {
      const client = await this.pool.connect();
      let left = reads.length;
      let error: Error | undefined;
      // As by the pool's own `query`, a connection on which a statement failed is not used again.
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
