import { unavailable } from '#contracts';
import type { PoolClient, QueryConfig, QueryResult } from 'pg';
import { queryTogether } from './query-batch.js';
import { bind, type Bound, inStatementSpan, statement, type Statement } from './statement.js';

/**
 * Time in milliseconds that Postgres has to report the timeout of a statement. After that, the
 * connection counts as lost.
 */
const graceMs = 1_000;

const begin = statement('sync.begin', 'BEGIN');
const commit = statement('sync.commit', 'COMMIT');
const rollback = statement('sync.rollback', 'ROLLBACK');
/** Limits each statement of the transaction, including its wait for locks. $1 milliseconds. */
const limitStatements = statement(
  'sync.limit_statements',
  "SELECT set_config('statement_timeout', $1, true)",
);
/** Sets the `plan_cache_mode` of the transaction. $1 mode. */
const choosePlans = statement(
  'sync.choose_plans',
  "SELECT set_config('plan_cache_mode', $1, true)",
);

/** A statement to send in the next tick, with the callbacks of its promise. */
interface QueuedStatement {
  readonly query: QueryConfig;
  readonly resolve: (result: QueryResult) => void;
  readonly reject: (error: unknown) => void;
}

/** Receives a user's clock after a commit that advanced it. `stamp` is an ISO time in UTC. */
export type ClockCallback = (userId: string, stamp: string) => void;

/**
 * Returns the user id ($1) and the new stamp (column `moved`) of a statement that advanced a clock.
 * Returns undefined for a statement that advanced none.
 */
export function clockIn(
  values: readonly unknown[],
  rows: readonly object[],
): [userId: string, stamp: string] | undefined {
  const { moved } = (rows[0] ?? {}) as { moved?: string | null };
  return moved ? [values[0] as string, moved] : undefined;
}

/**
 * A transaction on one connection, with a time limit. Invariants:
 * - Once time is up, no statement starts and nothing is committed.
 * - A statement that is running or waiting for a lock when time is up ends within about a second.
 * - `onClockAdvanced` receives the advanced clocks after the commit, never before.
 */
export class PgTransaction {
  committed = false;
  /** By user id: the new stamp of the clock. */
  private readonly advancedClocks = new Map<string, string>();
  private queuedStatements: QueuedStatement[] = [];

  constructor(
    private readonly client: PoolClient,
    private readonly remainingMs: () => number,
    private readonly usesPreparedStatements: boolean,
    private readonly onClockAdvanced: ClockCallback,
    /** The `plan_cache_mode` to set if statements are not prepared. */
    private readonly planMode: string,
  ) {}

  /**
   * Queues BEGIN and the time limit, which are sent together with the first statement. Behind a
   * pooler it also queues the plan mode; other connections have that mode from their start.
   */
  async begin(): Promise<this> {
    const limitMs = this.requireRemainingMs();
    const firstStatements: Bound[] = [
      [begin, []],
      [limitStatements, [String(limitMs)]],
    ];
    if (!this.usesPreparedStatements) firstStatements.push([choosePlans, [this.planMode]]);
    // Errors of these statements are ignored, because the statements after them then fail as well.
    for (const [query, values] of firstStatements)
      this.queueStatement(query, values, limitMs + graceMs).catch(() => undefined);
    return this;
  }

  /** Runs a statement. @throws Failure `unavailable` if time is up. */
  readonly query = async <Row extends object>(
    query: Statement,
    values: readonly unknown[],
  ): Promise<Row[]> => {
    const timeoutMs = this.requireRemainingMs() + graceMs;
    const { rows } = await inStatementSpan(query.name, () =>
      this.queueStatement(query, values, timeoutMs),
    );
    this.recordClock(values, rows as Row[]);
    return rows as Row[];
  };

  /**
   * Runs the last statements and commits, all in one round trip. If a statement fails, COMMIT does
   * not run and the call rejects. The caller must then roll back.
   */
  async commit(...lastStatements: Bound[]): Promise<void> {
    const timeoutMs = this.requireRemainingMs() + graceMs;
    const results: Promise<unknown>[] = lastStatements.map(async ([query, values]) => {
      const { rows } = await this.queueStatement(query, values, timeoutMs);
      this.recordClock(values, rows as object[]);
    });
    results.push(this.queueStatement(commit, [], timeoutMs));
    await inStatementSpan('commit', () => Promise.all(results));
    this.committed = true;
    for (const clock of this.advancedClocks) this.onClockAdvanced(...clock);
  }

  private recordClock(values: readonly unknown[], rows: readonly object[]): void {
    const clock = clockIn(values, rows);
    if (clock) this.advancedClocks.set(...clock);
  }

  async rollback(): Promise<void> {
    await this.queueStatement(rollback, [], graceMs);
  }

  /** Queues a statement. All statements that are queued in one tick are sent together. */
  private queueStatement(
    query: Statement,
    values: readonly unknown[],
    timeoutMs: number,
  ): Promise<QueryResult> {
    return new Promise((resolve, reject) => {
      const bound = bind(query, values, this.usesPreparedStatements, timeoutMs);
      if (this.queuedStatements.push({ query: bound, resolve, reject }) === 1)
        process.nextTick(() => void this.sendQueued());
    });
  }

  private async sendQueued(): Promise<void> {
    const statements = this.queuedStatements;
    this.queuedStatements = [];
    const [firstQuery, ...otherQueries] = statements.map(({ query }) => query);
    if (!firstQuery) return;
    try {
      const results = await queryTogether(this.client, [firstQuery, ...otherQueries]);
      for (const [index, { resolve }] of statements.entries())
        resolve(results[index] as QueryResult);
    } catch (error) {
      for (const { reject } of statements) reject(error);
    }
  }

  /** Returns the remaining whole milliseconds. @throws Failure `unavailable` if none is left. */
  private requireRemainingMs(): number {
    const remainingMs = Math.floor(this.remainingMs());
    if (remainingMs < 1) throw unavailable('the deadline of the transaction passed');
    return remainingMs;
  }
}
