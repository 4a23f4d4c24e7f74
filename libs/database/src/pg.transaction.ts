import type { Duplex } from 'node:stream';
import { unavailable } from '#contracts';
import type { PoolClient, QueryConfig } from 'pg';
import { bind, type Bound, inStatementSpan, type Statement } from './statement.js';

/** How long after Postgres' own time-outs the connection counts as dead, in milliseconds. */
const graceMs = 1_000;

/** Hears where a user's clock is after a commit that moved it: a stamp as clients are told it. */
export type ClockListener = (userId: string, stamp: string) => void;

/** Where the clock of $1 is, if these are the rows of a statement that moved it ({@link statement}). */
export function clockIn(
  values: readonly unknown[],
  rows: readonly object[],
): [userId: string, stamp: string] | undefined {
  const { moved } = (rows[0] ?? {}) as { moved?: string | null };
  return moved ? [values[0] as string, moved] : undefined;
}

/**
 * One transaction on one connection, bounded by a time. Invariants: once the time is up no statement begins and nothing
 * is committed; a statement that runs, or waits for a lock, ends at about that time. What it did to clocks is told once it
 * is committed, and never before.
 */
export class PgTransaction {
  committed = false;
  private readonly moved = new Map<string, string>();

  constructor(
    private readonly client: PoolClient,
    private readonly remainingMs: () => number,
    private readonly prepared: boolean,
    private readonly onMoved: ClockListener,
  ) {}

  /**
   * Sends BEGIN without waiting for its answer: it travels together with the first statements.
   *
   * Each statement is planned once for any values and not anew for these, which took longer than to run it, and would read
   * all rows of a user whose rows came since the last ANALYZE: Postgres expects none of them.
   */
  async begin(): Promise<this> {
    const limit = this.limit();
    sendTogether(this.client);
    // Its wait for locks counts as part of a statement.
    const text = `BEGIN; SET LOCAL statement_timeout = ${limit}; SET LOCAL plan_cache_mode = force_generic_plan`;
    // Where it fails, the statements after it fail as well.
    this.client.query({ text, query_timeout: limit + graceMs } as QueryConfig).catch(() => undefined);
    return this;
  }

  /** Runs a statement. @throws Failure `unavailable` when the time is up. */
  readonly query = async <Row extends object>(query: Statement, values: readonly unknown[]): Promise<Row[]> => {
    const bound = bind(query, values, this.prepared, this.limit() + graceMs);
    const { rows } = await inStatementSpan(query.name, () => this.client.query<Row>(bound));
    this.note(values, rows);
    return rows;
  };

  /** Runs the last statements and commits, all sent at once. */
  async commit(...last: Bound[]): Promise<void> {
    const limit = this.limit() + graceMs;
    sendTogether(this.client);
    const sent: Promise<unknown>[] = last.map(async ([query, values]) => {
      const { rows } = await this.client.query<object>(bind(query, values, this.prepared, limit));
      this.note(values, rows);
    });
    sent.push(this.client.query({ text: 'COMMIT', query_timeout: limit } as QueryConfig));
    await inStatementSpan('commit', () => Promise.all(sent));
    this.committed = true;
    for (const clock of this.moved) this.onMoved(...clock);
  }

  private note(values: readonly unknown[], rows: readonly object[]): void {
    const clock = clockIn(values, rows);
    if (clock) this.moved.set(...clock);
  }

  async rollback(): Promise<void> {
    await this.client.query({ text: 'ROLLBACK', query_timeout: graceMs } as QueryConfig);
  }

  private limit(): number {
    const limit = Math.floor(this.remainingMs());
    if (limit < 1) throw unavailable('the time of a write is up');
    return limit;
  }
}

/** The part of pg's client that is used here, which its types leave out. */
interface Connected {
  readonly connection: { readonly stream: Duplex };
}

/**
 * Sends what is written to a connection until the end of this tick in one piece: each statement would be a system call
 * here, and wake Postgres once more.
 */
function sendTogether(client: PoolClient): void {
  const { stream } = (client as unknown as Connected).connection;
  stream.cork();
  process.nextTick(() => stream.uncork());
}
