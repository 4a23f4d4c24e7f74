import type { Duplex } from 'node:stream';
import pg, { type PoolClient, type QueryConfig, type QueryResult } from 'pg';

/** The parts of pg's connection that its types leave out. */
interface Connection {
  readonly stream: Duplex;
  /** Texts of the statements that were sent for preparation, by name. */
  readonly submittedNamedStatements: Record<string, string>;
  execute(portal: { portal: string }): void;
  sync(): void;
}

/** The parts of pg's query that its types leave out. */
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

/** A statement without a Sync of its own. */
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
 * Statements with one Sync at their end. Postgres flushes its output at each Sync, so it answers
 * them in one piece. After an error it skips the rest of them. pg itself sends a Sync after each
 * statement, which made a PATCH cost three times as many sends (ADR 59).
 *
 * The class uses private parts of pg. `query.batch.int-spec.ts` fails if a release changes them:
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
    // The client notes the next preparation under these.
    const next = this.parts[this.completed];
    if (next) Object.assign(this, { name: next.name, text: next.text });
  }

  override handleError(error: Error, connection: Connection): void {
    // Postgres skipped the preparation of the statements behind the failed one.
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
 * Runs statements in one round trip, each answered by its result. If one fails, those behind it do
 * not run, and the call rejects.
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
