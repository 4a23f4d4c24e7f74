import type { Pool, PoolClient } from 'pg';
import { kindBits, type EventKind, Failure, type FailureCode, JsonText } from '#contracts';
import { Availability } from './availability.js';
import {
  type databaseConfig,
  defaultStoredAnswerBytes,
  type Distribution,
} from './database.config.js';
import { faultKind, refusedUser } from './fault-rule.js';
import { migrations } from './migrations/index.js';
import { clockIn, type ClockCallback, PgTransaction } from './pg-transaction.js';
import { createPool, planModes } from './pool.js';
import { SharedReads } from './shared-reads.js';
import { bind, type Bound, inStatementSpan, statement, type Statement } from './statement.js';
import { UserQueue } from './user-queue.js';
import type { z } from 'zod';

/** A write on behalf of one user. */
export interface Write<Found extends object = object> {
  userId: string;
  /**
   * A UUID. Repeating a request within an hour has no effect, and returns the first answer if that
   * is still stored.
   */
  requestId: string;
  /**
   * Hash (hex) of a request with an `Idempotency-Key`. If the first request had another hash, the
   * write fails with `invalid`.
   */
  fingerprint?: string | undefined;
  /** True if the answer is always stored. Otherwise it is stored only with a fingerprint. */
  smallAnswer: boolean;
  /** Kinds of the event that announces the write (docs/reference/events.md). */
  changes: readonly EventKind[];
  /** Returns how long the caller still waits, in milliseconds. */
  remainingMs(): number;
  /**
   * True (default) advances the clock at the start. False only locks it: `stamp` is then the
   * current clock, and the write is rolled back unless it calls {@link Transaction.advance}.
   */
  advances?: boolean;
  /** A query to run under the lock of the clock, in the round trip that takes the lock. */
  reads?: Bound<Found>;
}

/** A running write, as {@link Database.write} passes it to its callback. */
export interface Transaction<Found extends object = object> {
  /** The stamp of the write, which is the advanced clock. Exception: {@link Write.advances}. */
  readonly stamp: string;
  /**
   * True for a repeated request without a stored answer. `stamp` is then that of the first run. The
   * callback computes the answer again, and the transaction is rolled back.
   */
  readonly repeated: boolean;
  /** The rows of {@link Write.reads}. */
  readonly found: Found[];
  /** Runs a statement together with the commit, without an extra round trip. */
  sendWithCommit(query: Statement, values: readonly unknown[]): void;
  query<Row extends object>(query: Statement, values: readonly unknown[]): Promise<Row[]>;
  /** Advances the clock of a write with `advances: false`. @returns the stamp of the write. */
  advance(): Promise<string>;
  /** Rolls the write back, including its marker and the advance of the clock. */
  discard(): void;
  /** Adds kinds of events to {@link Write.changes}. */
  addEventKinds(...kinds: EventKind[]): void;
}

/**
 * Starts a write: locks the clock, and inserts the marker or finds that of an earlier run. $1 user,
 * $2 request id, $3 fingerprint, $4 true to advance the clock, $5 kinds of events as bits.
 */
export const beginWrite = statement(
  'sync.begin_write',
  `SELECT stamp, repeated, encode(fingerprint, 'hex') AS fingerprint, answer,
     CASE WHEN $4::boolean AND NOT repeated THEN stamp END AS moved
   FROM sync.begin_write($1, $2, decode($3, 'hex'), $4, $5)`,
);

/**
 * Stores the answer of a write. $1 user, $2 request id, $3 stamp, $4 answer, $5 maximum bytes of
 * all stored answers of the user.
 */
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

/**
 * The result of {@link beginWrite}. `fingerprint` and `answer` are those of the first run if
 * `repeated` is true, else null.
 */
interface BeginWriteRow {
  stamp: string;
  repeated: boolean;
  fingerprint: string | null;
  answer: StoredAnswer | null;
}
/** A stored answer: `json` is a reply of type {@link JsonText}, `reply` a reply of another type. */
type StoredAnswer = { reply: unknown } | { json: unknown } | { failure: { code: FailureCode } };

/** Failures that are stored as answers, so that a repetition of the request fails the same way. */
const storedFailures: ReadonlySet<FailureCode> = new Set(['invalid', 'not_found', 'gone']);

/** Matches the pool's error when no connection became free in time: Postgres can be available. */
const busyPoolMessage = /^timeout exceeded/;

/**
 * Runs the statements of a service in Postgres. Invariants:
 * - A write first locks the user's clock, and advances it. So writes of one user run one after
 *   another, and their stamps become visible in order.
 * - A write commits a marker of its request together with its effect, so it takes effect once. If a
 *   repeated request has no stored answer, the answer is computed again from the current state, in
 *   a transaction that is rolled back.
 * - A write adds its event to the outbox in its own transaction.
 * - Writes of a disabled or erased user fail with `unauthorized`. Reads do so only if their
 *   statement reads `refused` (refused-users.ts).
 * - The stored answers of a user have at most `maxStoredAnswerBytes` in total. Above that, the
 *   oldest are deleted until a sixteenth of the limit is free.
 * - A write never starts after its caller stopped waiting. The remaining time limits the wait for
 *   the lock of the clock and every statement.
 * - A read is one statement, so it sees one snapshot.
 * - A fault that indicates an unavailable Postgres makes {@link availability} check immediately.
 */
export class Database {
  /** The availability of Postgres, by the last check of this process. */
  readonly availability = new Availability(
    () => this.findMissingMigrations(),
    () => this.isPoolBusy,
  );
  private readonly reads: SharedReads;
  private readonly queue = new UserQueue();
  private readonly clocks = new Set<ClockCallback>();
  /** Connections that run statements or transactions. */
  private readonly clientsInUse = new Set<PoolClient>();

  constructor(
    readonly pool: Pool,
    private readonly prepared = true,
    /** Maximum total bytes per user of the answers that are stored for repeated requests. */
    private readonly maxStoredAnswerBytes = defaultStoredAnswerBytes,
    private readonly events = false,
    readonly distribution: Distribution = 'none',
  ) {
    this.reads = new SharedReads(pool);
    // The pool does not handle errors of a connection in use, and an unhandled error ends the
    // process. 'acquire' is early enough: the connection can be lost before the caller's code runs.
    pool.on('acquire', (client) => {
      this.clientsInUse.add(client);
      if (!client.listeners('error').includes(lostConnection)) client.on('error', lostConnection);
    });
    pool.on('release', (_, client) => this.clientsInUse.delete(client));
    // The pool reports errors of idle connections, such as a restart of Postgres.
    pool.on('error', () => this.availability.suspect());
  }

  /**
   * Runs one read-only statement on a connection that it shares with other reads. The statement
   * must not wait for locks, because that would delay these reads.
   *
   * @throws Failure `unavailable` if a later attempt can succeed; other errors are bugs.
   */
  async read<Row extends object>(query: Statement, values: readonly unknown[]): Promise<Row[]> {
    return this.runWithoutTransaction(query, () =>
      this.reads.read<Row>(bind(query, values, this.prepared)),
    );
  }

  /**
   * Runs and commits one statement that changes or locks rows.
   *
   * @throws Failure `unavailable` if a later attempt can succeed; other errors are bugs.
   */
  async change<Row extends object>(query: Statement, values: readonly unknown[]): Promise<Row[]> {
    const rows = await this.runWithoutTransaction(query, () =>
      this.pool.query<Row>(bind(query, values, this.prepared)),
    );
    const clock = clockIn(values, rows);
    if (clock) this.onMoved(...clock);
    return rows;
  }

  /**
   * Registers a listener for advanced clocks. The listener runs synchronously after the commit and
   * before the answer to the write, so it must be fast and must not throw.
   */
  onClock(listener: ClockCallback): void {
    this.clocks.add(listener);
  }

  private readonly onMoved: ClockCallback = (userId, stamp) => {
    for (const listener of this.clocks) listener(userId, stamp);
  };

  private async runWithoutTransaction<Row>(
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
   * Runs a write and stores a marker of its request. If `run` throws a `Failure`, the write is
   * rolled back, and a failure `invalid`, `not_found` or `gone` is stored as its answer.
   *
   * @throws Failure of `run`; `invalid` if the first request with this id had another fingerprint;
   *   `unauthorized` for a refused user; `unavailable` if time is up or Postgres is unavailable.
   */
  async write<Reply, Found extends object>(
    write: Write<Found>,
    run: (transaction: Transaction<Found>) => Promise<Reply>,
  ): Promise<Reply> {
    try {
      return await this.runOnce(write, run);
    } catch (error) {
      if (!(error instanceof Failure) || !storedFailures.has(error.code)) throw error;
      return this.runOnce<Reply, Found>(
        { ...write, reads: undefined },
        async () => new StoredFailure(error.code),
        false,
      );
    }
  }

  private async runOnce<Reply, Found extends object>(
    write: Write<Found>,
    run: (transaction: Transaction<Found>) => Promise<Reply | StoredFailure>,
    changes = true,
  ): Promise<Reply> {
    const { userId, requestId, fingerprint = null, reads, advances = true } = write;
    const begin = async (transaction: PgTransaction) => {
      const kinds = this.eventBits(write.changes);
      const locked = transaction.query<BeginWriteRow>(beginWrite, [
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
      const { stamp, repeated, answer, ...first } = started as BeginWriteRow;
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
          last.push([
            storeAnswer,
            [userId, requestId, stamp, toJson(reply), this.maxStoredAnswerBytes],
          ]);
        await transaction.commit(...last);
      }
      if (reply instanceof StoredFailure) throw new Failure(reply.code);
      return reply;
    };
    return this.inUserTransaction(write.userId, write.remainingMs, begin);
  }

  /**
   * Runs a transaction after all earlier writes of the user in this process. The lock of the clock
   * would also order them, but each wait for a lock occupies a connection.
   */
  inUserTransaction<Result>(
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

  /**
   * Numbers of connections in the pool. `waiting` counts transactions, statements and groups of
   * reads that wait for a connection.
   */
  get connections(): { total: number; idle: number; waiting: number } {
    return {
      total: this.pool.totalCount,
      idle: this.pool.idleCount,
      waiting: this.pool.waitingCount,
    };
  }

  /**
   * True if statements and transactions use every connection of the pool. A connection that is
   * being opened does not count, because an unavailable Postgres delays it too.
   */
  get isPoolBusy(): boolean {
    return this.clientsInUse.size >= this.pool.options.max;
  }

  async close(): Promise<void> {
    this.availability.close();
    await this.pool.end();
  }

  /** Returns a text for each migration of this build that is not applied to the database. */
  private async findMissingMigrations(): Promise<string[]> {
    const client = await this.pool.connect();
    // A poll that has a connection and gets no answer shows an outage, so this connection does not
    // make the pool busy.
    this.clientsInUse.delete(client);
    let isBroken = true;
    const names = new Set<string>();
    try {
      const query = bind(selectMigrations, [], this.prepared);
      const { rows } = await client.query<{ name: string }>(query);
      for (const { name } of rows) names.add(name);
      isBroken = false;
    } finally {
      client.release(isBroken);
    }
    const expected = migrations.map(({ name }) => name);
    return expected
      .filter((name) => !names.has(name))
      .map((name) => `migration not applied: ${name}`);
  }

  /**
   * Returns the failure `unauthorized` for a refused user, and `unavailable` for a transient fault
   * or an unavailable Postgres. Returns other errors unchanged, which are bugs.
   */
  private asFailure(error: unknown): unknown {
    if (error instanceof Failure) return error;
    if ((error as { code?: unknown }).code === refusedUser) return new Failure('unauthorized');
    const kind = faultKind(error);
    if (kind === 'permanent') return error;
    if (kind === 'unavailable' && !busyPoolMessage.test((error as Error).message))
      this.availability.suspect();
    return new Failure('unavailable', { cause: error });
  }
}

type DatabaseConfig = z.output<typeof databaseConfig>;

/**
 * Opens the database of an app, without a connection. The first statement connects.
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

/** Ignores a connection error: the running statement fails, and the pool drops the connection. */
function lostConnection(): void {}

/** A failure that is stored as the answer of a write. */
class StoredFailure {
  constructor(readonly code: FailureCode) {}
}

/** Serializes a reply as the JSON of a {@link StoredAnswer}. */
function toJson(reply: unknown): string {
  if (reply instanceof JsonText) return `{"json":${reply.toString()}}`;
  return JSON.stringify(
    reply instanceof StoredFailure ? { failure: { code: reply.code } } : { reply },
  );
}

/** Returns the reply of a stored answer. @throws Failure if the answer is a failure. */
function toReply<Reply>(answer: StoredAnswer): Reply {
  if ('json' in answer) return JsonText.of(answer.json) as Reply;
  if ('reply' in answer) return answer.reply as Reply;
  throw new Failure(answer.failure.code);
}
