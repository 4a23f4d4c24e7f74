import type { Duplex } from 'node:stream';
import pg, { type PoolClient, type QueryConfig, type QueryResult } from 'pg';

/** The members of pg's connection that are missing in its types. */
interface Connection {
  readonly stream: Duplex;
  /** Texts of the statements that were sent for preparation, by name. */
  readonly submittedNamedStatements: Record<string, string>;
  execute(portal: { portal: string }): void;
  sync(): void;
}

/** The members of pg's query that are missing in its types. */
interface Query {
  name?: string | undefined;
  text: string;
  callback?: (error: Error | null, results?: unknown) => void;
  readonly _result: { _types: unknown };
  /** Sends Parse, unless the connection has the statement, Bind and Describe; then `_getRows`. */
  prepare(connection: Connection): void;
  /** Sends Execute and Sync. */
  _getRows(connection: Connection): void;
  handleRowDescription(message: unknown): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: Connection): void;
  handleError(error: Error, connection: Connection): void;
  handleReadyForQuery(connection: Connection): void;
}
const Query = pg.Query as unknown as new (config: QueryConfig) => Query;

/** A statement of a batch: it sends no Sync, because the batch sends one at its end. */
class Part extends Query {
  result?: QueryResult;

  constructor(config: QueryConfig) {
    super(config);
    this.callback = (_error, result) => (this.result = result as QueryResult);
  }

  override _getRows(connection: Connection): void {
    connection.execute({ portal: '' });
  }
}

/**
 * Several statements with one Sync at their end. Postgres sends its output at each Sync, so it
 * sends all answers of a batch together. After an error it skips the following statements. pg alone
 * sends a Sync after each statement, which tripled the sends of a PATCH (ADR 59).
 *
 * The class uses private parts of pg. `query-batch.int-spec.ts` fails if a release changes them:
 * the number of Syncs (`_getRows`), type parsers (`_types`), and a statement that is prepared again
 * after a failure (`submittedNamedStatements`).
 */
class QueryBatch extends Query {
  readonly query_timeout: number | undefined;
  private readonly parts: Part[];
  private completed = 0;

  constructor(configs: readonly [QueryConfig, ...QueryConfig[]]) {
    super(configs[0]);
    this.query_timeout = (configs[0] as { query_timeout?: number }).query_timeout;
    this.parts = configs.map((config) => new Part(config));
  }

  submit(connection: Connection): null {
    connection.stream.cork();
    for (const part of this.parts) {
      part._result._types = this._result._types;
      part.prepare(connection);
    }
    connection.sync();
    connection.stream.uncork();
    return null;
  }

  override handleRowDescription(message: unknown): void {
    this.parts[this.completed]?.handleRowDescription(message);
  }

  override handleDataRow(message: unknown): void {
    this.parts[this.completed]?.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: Connection): void {
    const part = this.parts[this.completed];
    part?.handleCommandComplete(message, connection);
    part?.handleReadyForQuery(connection);
    this.completed += 1;
    // pg registers the next prepared statement under the name and text of its running query, which
    // is this batch.
    const next = this.parts[this.completed];
    if (next) Object.assign(this, { name: next.name, text: next.text });
  }

  override handleError(error: Error, connection: Connection): void {
    // Postgres did not prepare the statements after the failed one, so pg must prepare them again.
    for (const { name } of this.parts.slice(this.completed))
      if (name !== undefined) delete connection.submittedNamedStatements[name];
    this.callback?.(error);
  }

  override handleReadyForQuery(): void {
    this.callback?.(
      null,
      this.parts.map(({ result }) => result),
    );
  }
}

/**
 * Runs statements in one round trip and returns their results in order. If a statement fails, the
 * following ones do not run, and the call rejects.
 */
export function queryTogether(
  client: PoolClient,
  configs: readonly [QueryConfig, ...QueryConfig[]],
): Promise<QueryResult[]> {
  return new Promise((resolve, reject) => {
    const batch = new QueryBatch(configs);
    batch.callback = (error, results) =>
      error ? reject(error) : resolve(results as QueryResult[]);
    client.query(batch as never);
  });
}
