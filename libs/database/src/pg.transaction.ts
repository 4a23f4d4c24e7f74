import type { Duplex } from 'node:stream';
import { unavailable } from '#contracts';
import type { PoolClient, QueryConfig } from 'pg';
import { bind, type Bound, inStatementSpan, type Statement } from './statement.js';

/** Time after Postgres' own timeouts until the connection counts as lost, in milliseconds. */
const graceMs = 1_000;

/** Receives a user's clock after a commit that advanced it. The stamp has the form of answers. */
export type ClockCallback = (userId: string, stamp: string) => void;

/** Returns the clock of $1 from the rows of a statement that advanced it ({@link statement}). */
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
 * - A statement that runs or waits for a lock ends at about that time.
 * - Listeners receive advanced clocks after the commit, never before.
 */
export class PgTransaction {
  committed = false;
  private readonly moved = new Map<string, string>();

  constructor(
    private readonly client: PoolClient,
    private readonly remainingMs: () => number,
    private readonly prepared: boolean,
    private readonly onMoved: ClockCallback,
    /** Postgres' `plan_cache_mode`. */
    private readonly planMode: string,
  ) {}

  /**
   * Sends BEGIN together with the first statements, without waiting for its answer.
   *
   * Without a cluster it selects generic plans: planning for given values took longer than running.
   * Such plans also read all rows of a user if these are newer than the last ANALYZE.
   */
  async begin(): Promise<this> {
    const limit = this.limit();
    sendTogether(this.client);
    // statement_timeout includes the wait for locks.
    const text =
      `BEGIN; SET LOCAL statement_timeout = ${limit}; ` +
      `SET LOCAL plan_cache_mode = ${this.planMode}`;
    // If BEGIN fails, the statements after it fail as well.
    this.client
      .query({ text, query_timeout: limit + graceMs } as QueryConfig)
      .catch(() => undefined);
    return this;
  }

  /** Runs a statement. @throws Failure `unavailable` if time is up. */
  readonly query = async <Row extends object>(
    query: Statement,
    values: readonly unknown[],
  ): Promise<Row[]> => {
    const bound = bind(query, values, this.prepared, this.limit() + graceMs);
    const { rows } = await inStatementSpan(query.name, () => this.client.query<Row>(bound));
    this.note(values, rows);
    return rows;
  };

  /** Runs the last statements and commits, all in one round trip. */
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

/** The connection of pg's client, which its types leave out. */
interface Connected {
  readonly connection: { readonly stream: Duplex };
}

/** Sends all writes of this tick in one piece, to save system calls and wake-ups of Postgres. */
function sendTogether(client: PoolClient): void {
  const { stream } = (client as unknown as Connected).connection;
  stream.cork();
  process.nextTick(() => stream.uncork());
}
