import type { Pool } from 'pg';
import { kindBits, type EventKind, Failure, type FailureCode, JsonText } from '#contracts';
import { Availability } from './availability.js';
import {
  type databaseConfig,
  defaultStoredAnswerBytes,
  type Distribution,
} from './database.config.js';
import { faultKind, refusedUser } from './fault.rule.js';
import { migrations } from './migrations/index.js';
import { clockIn, type ClockCallback, PgTransaction } from './pg.transaction.js';
import { createPool, planModes } from './pool.js';
import { SharedReads } from './shared.reads.js';
import { bind, type Bound, inStatementSpan, statement, type Statement } from './statement.js';
import { UserQueue } from './user.queue.js';
import type { z } from 'zod';

/** A write on behalf of one user. */
export interface Write<Found extends object = object> {
  userId: string;
  /** A UUID. A repetition within an hour has no effect and gets the first answer if stored. */
  requestId: string;
  /** Hash (hex) of a request with an idempotency key. Another hash with this key is `invalid`. */
  fingerprint?: string | undefined;
  /** True to always store the answer. Other answers are stored only with a fingerprint. */
  smallAnswer: boolean;
  /** Kinds of the event that announces the write (docs/reference/events.md). */
  changes: readonly EventKind[];
  /** Returns how long the caller still waits, in milliseconds. */
  remainingMs(): number;
  /**
   * True (default) to advance the clock at the start. If false, `stamp` is the current clock, and
   * the write is rolled back unless it calls {@link Transaction.advance}.
   */
  advances?: boolean;
  /** A query to run under the lock of the clock, sent together with it: no extra round trip. */
  reads?: Bound<Found>;
}

/** The API of a running write. */
export interface Transaction<Found extends object = object> {
  readonly stamp: string;
  /**
   * True for a repeated request without a stored answer. `stamp` is that of the first run, and the
   * transaction is rolled back.
   */
  readonly repeated: boolean;
  /** The rows of {@link Write.reads}. */
  readonly found: Found[];
  /** Sends a statement with the commit, without its own round trip. Returns no rows. */
  sendWithCommit(query: Statement, values: readonly unknown[]): void;
  query<Row extends object>(query: Statement, values: readonly unknown[]): Promise<Row[]>;
  /** Advances the clock of a write with `advances: false`. @returns the stamp of the write. */
  advance(): Promise<string>;
  /** Rolls the write back, including its marker and the advance of the clock. */
  discard(): void;
  /** Adds kinds of events to {@link Write.changes}. */
  addEventKinds(...kinds: EventKind[]): void;
}

/** Starts a write. $1 user, $2 request, $3 fingerprint, $4 true to advance, $5 event bits. */
export const beginWrite = statement(
  'sync.begin_write',
  `SELECT stamp, repeated, encode(fingerprint, 'hex') AS fingerprint, answer,
     CASE WHEN $4::boolean AND NOT repeated THEN stamp END AS moved
   FROM sync.begin_write($1, $2, decode($3, 'hex'), $4, $5)`,
);

/** Stores an answer. $1 user, $2 request, $3 stamp, $4 answer, $5 maximum bytes of all answers. */
export const storeAnswer = statement(
  'sync.store_answer',
  'SELECT sync.keep_answer($1, $2, $3, $4, $5)',
);

/** Adds an event to a running write. $1 user, $2 kinds as bits. */
export const addEvent = statement(
  'sync.add_event',
  'INSERT INTO sync.events (user_id, kinds) VALUES ($1, $2)',
);
/** Advances an existing clock and returns its stamp. $1 user. */
export const advanceClock = statement(
  'sync.advance_clock',
  'SELECT stamp, stamp AS moved FROM sync.advance_clock($1) stamp',
);

const selectMigrations = statement('sync.select_migrations', 'SELECT name FROM sync.migrations');

/** `fingerprint` and `answer` are those of the first request if `repeated` is true. */
interface WriteStart {
  stamp: string;
  repeated: boolean;
  fingerprint: string | null;
  answer: StoredAnswer | null;
}
/** A stored answer; `json` is a reply of type {@link JsonText}. */
type StoredAnswer = { reply: unknown } | { json: unknown } | { failure: { code: FailureCode } };

/** Failures that a repetition cannot change, so they are stored as answers. */
const storedFailures: ReadonlySet<FailureCode> = new Set(['invalid', 'not_found', 'gone']);

/** The pool's error message when all connections are in use. Postgres itself can be available. */
const poolIsBusy = /^timeout exceeded/;

/**
 * Runs the statements of a service in Postgres. Invariants:
 * - A write locks the user's clock before anything else and advances it. Writes of one user run one
 *   after another, and their stamps become visible in order.
 * - A write commits a marker of its request together with its effect, so it takes effect once. An
 *   answer that is not stored is computed again from the current state, in a transaction that is
 *   rolled back.
 * - A write adds its event to the outbox of events in its own transaction.
 * - Reads and writes for a disabled or erased user fail with `unauthorized` (refused.users.ts).
 * - The stored answers of a user have at most `answerBytes` in total; the oldest are dropped.
 * - A write never starts after its caller stopped waiting. The remaining time limits the wait for
 *   the lock of the clock and every statement.
 * - A read is one statement, so it sees one snapshot.
 * - A fault that indicates an unavailable Postgres makes {@link availability} check immediately.
 */
export class Database {
  /** The availability of Postgres, by the last statement or check of this process. */
  readonly availability = new Availability(() => this.missing());
  private readonly reads: SharedReads;
  private readonly queue = new UserQueue();
  private readonly clocks = new Set<ClockCallback>();

  constructor(
    readonly pool: Pool,
    private readonly prepared = true,
    /** Maximum bytes of the stored answers of one user. */
    private readonly answerBytes = defaultStoredAnswerBytes,
    private readonly events = false,
    readonly distribution: Distribution = 'none',
  ) {
    this.reads = new SharedReads(pool);
    // The pool does not handle errors of a client in use, and an unhandled one ends the process.
    // The handler is attached on 'acquire', as the connection can be lost before the caller's code
    // runs.
    pool.on('acquire', (client) => {
      if (!client.listeners('error').includes(lostConnection)) client.on('error', lostConnection);
    });
    // Errors of idle connections.
    pool.on('error', () => this.availability.suspect());
  }

  /**
   * Runs one read-only statement. It must not wait for locks, which would delay other reads of the
   * connection.
   *
   * @throws Failure `unavailable` if Postgres can't answer now.
   */
  async read<Row extends object>(query: Statement, values: readonly unknown[]): Promise<Row[]> {
    return this.alone(query, () => this.reads.read<Row>(bind(query, values, this.prepared)));
  }

  /** Runs one statement that changes or locks rows, and commits it. @throws as {@link read}. */
  async change<Row extends object>(query: Statement, values: readonly unknown[]): Promise<Row[]> {
    const rows = await this.alone(query, () =>
      this.pool.query<Row>(bind(query, values, this.prepared)),
    );
    const clock = clockIn(values, rows);
    if (clock) this.onMoved(...clock);
    return rows;
  }

  /**
   * Registers a listener for commits that advanced a clock. It runs synchronously, in the order of
   * the commits, before the write is answered; it must be fast and must not throw.
   */
  onClock(listener: ClockCallback): void {
    this.clocks.add(listener);
  }

  private readonly onMoved: ClockCallback = (userId, stamp) => {
    for (const listener of this.clocks) listener(userId, stamp);
  };

  private async alone<Row>(
    { name }: Statement,
    run: () => Promise<{ rows: Row[] }>,
  ): Promise<Row[]> {
    try {
      return (await inStatementSpan(name, run)).rows;
    } catch (error) {
      throw this.asFailure(error);
    }
  }

  /** Returns the kinds of an event as bits for the outbox, or 0 if events are off. */
  eventBits(kinds: readonly EventKind[]): number {
    return this.events ? kindBits(kinds) : 0;
  }

  /**
   * Runs a write and stores a marker of its request. A `Failure` of `run` rolls the write back and
   * can be stored as its answer.
   *
   * @throws Failure of `run`; `invalid` for a key that was used for another request; `unauthorized`
   *   for a refused user; `unavailable` if time is up or Postgres is unavailable.
   */
  async write<Reply, Found extends object>(
    write: Write<Found>,
    run: (transaction: Transaction<Found>) => Promise<Reply>,
  ): Promise<Reply> {
    try {
      return await this.once(write, run);
    } catch (error) {
      if (!(error instanceof Failure) || !storedFailures.has(error.code)) throw error;
      return this.once<Reply, Found>(
        { ...write, reads: undefined },
        async () => new StoredFailure(error.code),
        false,
      );
    }
  }

  private async once<Reply, Found extends object>(
    write: Write<Found>,
    run: (transaction: Transaction<Found>) => Promise<Reply | StoredFailure>,
    changes = true,
  ): Promise<Reply> {
    const { userId, requestId, fingerprint = null, reads, advances = true } = write;
    const begin = async (transaction: PgTransaction) => {
      const kinds = this.eventBits(write.changes);
      const locked = transaction.query<WriteStart>(beginWrite, [
        userId,
        requestId,
        fingerprint,
        changes && advances,
        kinds,
      ]);
      const [[started], found] = await Promise.all([
        locked,
        reads ? transaction.query<Found>(reads[0], reads[1]) : [],
      ]);
      const { stamp, repeated, answer, ...first } = started as WriteStart;
      if (repeated && first.fingerprint !== fingerprint) throw new Failure('invalid');
      if (answer) return toReply<Reply>(answer);
      const last: Bound[] = [];
      const { query } = transaction;
      const addEventKinds = (...more: EventKind[]) => {
        if (this.events) last.push([addEvent, [userId, kindBits(more)]]);
      };
      const add = (...bound: Bound) => void last.push(bound);
      let advanced = advances;
      const advance = async () => {
        advanced = true;
        const [clock] = await query<{ stamp: string }>(advanceClock, [userId]);
        addEventKinds(...write.changes);
        return (clock as { stamp: string }).stamp;
      };
      const discard = () => void (advanced = false);
      const reply = await run({
        stamp,
        repeated,
        found,
        query,
        sendWithCommit: add,
        advance,
        discard,
        addEventKinds,
      });
      if (!repeated && (advanced || reply instanceof StoredFailure)) {
        if (write.smallAnswer || reply instanceof StoredFailure || fingerprint !== null)
          last.push([storeAnswer, [userId, requestId, stamp, toJson(reply), this.answerBytes]]);
        await transaction.commit(...last);
      }
      if (reply instanceof StoredFailure) throw new Failure(reply.code);
      return reply;
    };
    return this.inTurn(write.userId, write.remainingMs, begin);
  }

  /**
   * Runs a transaction after all earlier writes of the user in this process. The lock of the clock
   * orders them as well, but waiting for it would occupy connections.
   */
  inTurn<Result>(
    userId: string,
    remainingMs: () => number,
    run: (transaction: PgTransaction) => Promise<Result>,
  ): Promise<Result> {
    return this.queue.run(userId, remainingMs, () => this.inTransaction(remainingMs, run));
  }

  /**
   * Runs statements in one transaction on one connection, with a time limit.
   *
   * @param run must commit: uncommitted changes are rolled back when it returns or throws.
   */
  async inTransaction<Result>(
    remainingMs: () => number,
    run: (transaction: PgTransaction) => Promise<Result>,
  ): Promise<Result> {
    const client = await this.pool.connect().catch((error: unknown) => {
      throw this.asFailure(error);
    });
    let broken = false;
    const transaction = new PgTransaction(
      client,
      remainingMs,
      this.prepared,
      this.onMoved,
      planModes[this.distribution],
    );
    try {
      return await run(await transaction.begin());
    } catch (error) {
      throw this.asFailure(error);
    } finally {
      if (!transaction.committed) await transaction.rollback().catch(() => (broken = true));
      client.release(broken);
    }
  }

  /** The pool's connections; `waiting` counts statements, or groups of reads, that wait for one. */
  get connections(): { total: number; idle: number; waiting: number } {
    return {
      total: this.pool.totalCount,
      idle: this.pool.idleCount,
      waiting: this.pool.waitingCount,
    };
  }

  async close(): Promise<void> {
    this.availability.close();
    await this.pool.end();
  }

  /** Returns the migrations of this build that the database lacks. It can have newer ones. */
  private async missing(): Promise<string[]> {
    const { rows } = await this.pool.query<{ name: string }>(
      bind(selectMigrations, [], this.prepared),
    );
    const names = new Set(rows.map(({ name }) => name));
    const expected = migrations.map(({ name }) => name);
    return expected
      .filter((name) => !names.has(name))
      .map((name) => `migration not applied: ${name}`);
  }

  /** Maps transient faults to `unavailable`, a refused user to `unauthorized`; others are bugs. */
  private asFailure(error: unknown): unknown {
    if (error instanceof Failure) return error;
    if ((error as { code?: unknown }).code === refusedUser) return new Failure('unauthorized');
    const kind = faultKind(error);
    if (kind === 'permanent') return error;
    if (kind === 'unavailable' && !poolIsBusy.test((error as Error).message))
      this.availability.suspect();
    return new Failure('unavailable', { cause: error });
  }
}

type DatabaseConfig = z.output<typeof databaseConfig>;

/**
 * Opens the database of an app. It connects with its first statement.
 *
 * @param applicationName shown in `pg_stat_activity`.
 */
export function openDatabase(
  config: Omit<DatabaseConfig, 'EVENTS' | 'QUOTA_STORED_ANSWER_BYTES'> & Partial<DatabaseConfig>,
  applicationName: string,
  poolSize = config.DATABASE_POOL_SIZE,
): Database {
  const { DATABASE_URL: url, DATABASE_DISTRIBUTION: distribution } = config;
  const prepared = config.DATABASE_PREPARED === 'on';
  return new Database(
    createPool({ url, poolSize, applicationName, pooled: !prepared, distribution }),
    prepared,
    config.QUOTA_STORED_ANSWER_BYTES,
    config.EVENTS === 'on',
    distribution,
  );
}

/** Ignores the error: the running statement fails, and the pool discards the connection. */
function lostConnection(): void {}

/** A failure to store as the answer of a write. */
class StoredFailure {
  constructor(readonly code: FailureCode) {}
}

/** Serializes a reply as the JSON of an {@link StoredAnswer}. */
function toJson(reply: unknown): string {
  if (reply instanceof JsonText) return `{"json":${reply.toString()}}`;
  return JSON.stringify(
    reply instanceof StoredFailure ? { failure: { code: reply.code } } : { reply },
  );
}

/** Returns the reply of a stored answer. @throws Failure if the answer is one. */
function toReply<Reply>(answer: StoredAnswer): Reply {
  if ('json' in answer) return JsonText.of(answer.json) as Reply;
  if ('reply' in answer) return answer.reply as Reply;
  throw new Failure(answer.failure.code);
}
