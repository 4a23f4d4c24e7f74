import { unavailable } from '#contracts';
import type { PoolClient, QueryConfig, QueryResult } from 'pg';
import { queryTogether } from './query-batch.js';
import { bind, type Bound, inStatementSpan, statement, type Statement } from './statement.js';

/** Time in milliseconds after which a connection counts as lost if Postgres exceeds its timeout. */
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

/** A statement that is sent at the end of this event loop iteration. */
interface Waiting {
  readonly query: QueryConfig;
  readonly answered: (result: QueryResult) => void;
  readonly failed: (error: unknown) => void;
}

/** Receives a user's clock after a commit that advanced it. `stamp` is an ISO time in UTC. */
export type ClockCallback = (userId: string, stamp: string) => void;

/**
 * Returns the user id and the new stamp of a statement that advanced a clock, or undefined if it
 * did not. The statement's $1 is the user; its column `moved` is the new stamp.
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
 * - `onMoved` receives advanced clocks after the commit, never before.
 */
export class PgTransaction {
  committed = false;
  private readonly moved = new Map<string, string>();
  private waiting: Waiting[] = [];

  constructor(
    private readonly client: PoolClient,
    private readonly remainingMs: () => number,
    private readonly prepared: boolean,
    private readonly onMoved: ClockCallback,
    /** Postgres' `plan_cache_mode`. */
    private readonly planMode: string,
  ) {}

  /**
   * Queues BEGIN and the time limit, to send them together with the first statements. Behind a
   * pooler it also sets the plan mode, which other connections have from their start.
   */
  async begin(): Promise<this> {
    const limit = this.requireRemainingMs();
    const first: Bound[] = [
      [begin, []],
      [limitStatements, [String(limit)]],
    ];
    if (!this.prepared) first.push([choosePlans, [this.planMode]]);
    // Errors of these statements are ignored, because the statements after them then fail as well.
    for (const [query, values] of first)
      this.send(query, values, limit + graceMs).catch(() => undefined);
    return this;
  }

  /** Runs a statement. @throws Failure `unavailable` if time is up. */
  readonly query = async <Row extends object>(
    query: Statement,
    values: readonly unknown[],
  ): Promise<Row[]> => {
    const limit = this.requireRemainingMs() + graceMs;
    const { rows } = await inStatementSpan(query.name, () => this.send(query, values, limit));
    this.reportClock(values, rows as Row[]);
    return rows as Row[];
  };

  /**
   * Runs the last statements and commits, all in one round trip. If a statement fails, COMMIT does
   * not run and the call rejects: the caller must roll back.
   */
  async commit(...last: Bound[]): Promise<void> {
    const limit = this.requireRemainingMs() + graceMs;
    const sent: Promise<unknown>[] = last.map(async ([query, values]) => {
      const { rows } = await this.send(query, values, limit);
      this.reportClock(values, rows as object[]);
    });
    sent.push(this.send(commit, [], limit));
    await inStatementSpan('commit', () => Promise.all(sent));
    this.committed = true;
    for (const clock of this.moved) this.onMoved(...clock);
  }

  private reportClock(values: readonly unknown[], rows: readonly object[]): void {
    const clock = clockIn(values, rows);
    if (clock) this.moved.set(...clock);
  }

  async rollback(): Promise<void> {
    await this.send(rollback, [], graceMs);
  }

  /** Queues a statement. All statements of an event loop iteration are sent together. */
  private send(
    query: Statement,
    values: readonly unknown[],
    timeoutMs: number,
  ): Promise<QueryResult> {
    return new Promise((answered, failed) => {
      const bound = bind(query, values, this.prepared, timeoutMs);
      if (this.waiting.push({ query: bound, answered, failed }) === 1)
        process.nextTick(() => void this.flush());
    });
  }

  private async flush(): Promise<void> {
    const sent = this.waiting;
    this.waiting = [];
    const [first, ...others] = sent.map(({ query }) => query);
    if (!first) return;
    try {
      const results = await queryTogether(this.client, [first, ...others]);
      for (const [index, { answered }] of sent.entries()) answered(results[index] as QueryResult);
    } catch (error) {
      for (const { failed } of sent) failed(error);
    }
  }

  /** @throws Failure `unavailable` if no time is left for a statement. */
  private requireRemainingMs(): number {
    const limit = Math.floor(this.remainingMs());
    if (limit < 1) throw unavailable('the deadline of the transaction passed');
    return limit;
  }
}
