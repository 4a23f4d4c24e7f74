import type { Duplex } from 'node:stream';
import pg, { type PoolClient, type QueryConfig, type QueryResult } from 'pg';

/** The members of a connection of pg that pg's types lack. */
interface Connection {
  readonly stream: Duplex;
  /** Texts of the statements that were sent for preparation, by name. */
  readonly submittedNamedStatements: Record<string, string>;
  execute(portal: { portal: string }): void;
  sync(): void;
}

/** The members of a query of pg that pg's types lack. */
interface Query {
  name?: string | undefined;
  text: string;
  callback?: (error: Error | null, results?: unknown) => void;
  readonly _result: { _types: unknown };
  /**
   * Sends Parse (unless the connection has prepared the statement), Bind and Describe. Then calls
   * `_getRows`.
   */
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

/** A statement of a batch. It sends no Sync, because the batch sends one after all statements. */
class BatchStatement extends Query {
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
 * Several statements with one Sync at their end. Postgres sends its output at each Sync, so all
 * answers of a batch arrive together. After an error, Postgres skips the following statements.
 * Without this class, pg sends a Sync after each statement, which tripled the sends of a PATCH
 * (ADR 59).
 *
 * The class uses private members of pg. `query-batch.int-spec.ts` fails if a release changes them:
 * the number of Syncs (`_getRows`), type parsers (`_types`), and a statement that is prepared again
 * after a failure (`submittedNamedStatements`).
 */
class QueryBatch extends Query {
  readonly query_timeout: number | undefined;
  private readonly statements: BatchStatement[];
  private completedCount = 0;

  constructor(configs: readonly [QueryConfig, ...QueryConfig[]]) {
    super(configs[0]);
    this.query_timeout = (configs[0] as { query_timeout?: number }).query_timeout;
    this.statements = configs.map((config) => new BatchStatement(config));
  }

  submit(connection: Connection): null {
    connection.stream.cork();
    for (const statement of this.statements) {
      statement._result._types = this._result._types;
      statement.prepare(connection);
    }
    connection.sync();
    connection.stream.uncork();
    return null;
  }

  override handleRowDescription(message: unknown): void {
    this.statements[this.completedCount]?.handleRowDescription(message);
  }

  override handleDataRow(message: unknown): void {
    this.statements[this.completedCount]?.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: Connection): void {
    const statement = this.statements[this.completedCount];
    statement?.handleCommandComplete(message, connection);
    statement?.handleReadyForQuery(connection);
    this.completedCount += 1;
    // pg registers the next prepared statement under the name and text of the running query. For
    // pg, the running query is this batch.
    const next = this.statements[this.completedCount];
    if (next) Object.assign(this, { name: next.name, text: next.text });
  }

  override handleError(error: Error, connection: Connection): void {
    // Postgres did not prepare the statements after the failed one, so pg must prepare them again.
    for (const { name } of this.statements.slice(this.completedCount))
      if (name !== undefined) delete connection.submittedNamedStatements[name];
    this.callback?.(error);
  }

  override handleReadyForQuery(): void {
    this.callback?.(
      null,
      this.statements.map(({ result }) => result),
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
