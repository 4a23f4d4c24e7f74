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
   * A UUID. A request that is repeated within an hour takes effect once. The repetition returns the
   * first answer if that is still stored, else a newly computed answer.
   */
  requestId: string;
  /**
   * Hash (hexadecimal) of a request with an `Idempotency-Key`, else undefined. If the first request
   * with this `requestId` had another hash, the write fails with `invalid`.
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
  /**
   * A query that runs under the lock of the clock, in the same round trip as the lock.
   * {@link Transaction.found} has its rows.
   */
  reads?: Bound<Found>;
}

/** A running write, as {@link Database.write} passes it to its callback. */
export interface Transaction<Found extends object = object> {
  /** The stamp of the write: the advanced clock, or the current one if `advances` is false. */
  readonly stamp: string;
  /**
   * True for a repeated request without a stored answer. `stamp` is then that of the first run. The
   * callback computes the answer again, and the transaction is rolled back.
   */
  readonly repeated: boolean;
  /** The rows of {@link Write.reads}; empty without a query. */
  readonly found: Found[];
  /** Queues a statement to run immediately before the commit, in the same round trip. */
  sendWithCommit(query: Statement, values: readonly unknown[]): void;
  query<Row extends object>(query: Statement, values: readonly unknown[]): Promise<Row[]>;
  /** Advances the clock of a write with `advances: false`. @returns the stamp of the write. */
  advance(): Promise<string>;
  /**
   * Makes the write roll back after its callback, including its marker and the advance of the
   * clock. The reply of the callback is still returned.
   */
  discard(): void;
  /** Adds kinds of events to {@link Write.changes}. */
  addEventKinds(...kinds: EventKind[]): void;
}

/**
 * Starts a write: locks the clock, and inserts the marker of the request or reads the marker of its
 * first run. $1 user, $2 request id, $3 fingerprint in hexadecimal or null, $4 true to advance the
 * clock, $5 kinds of the event as bits; 0 adds no event.
 */
export const beginWrite = statement(
  'sync.begin_write',
  `SELECT stamp, repeated, encode(fingerprint, 'hex') AS fingerprint, answer,
     CASE WHEN $4::boolean AND NOT repeated THEN stamp END AS moved
   FROM sync.begin_write($1, $2, decode($3, 'hex'), $4, $5)`,
);

/**
 * Stores the answer of a write, unless the answer alone exceeds $5. $1 user, $2 request id, $3
 * stamp, $4 answer as JSON, $5 maximum bytes of all stored answers of the user. Above $5, the
 * oldest answers are deleted.
 */
export const storeAnswer = statement(
  'sync.store_answer',
  'SELECT sync.keep_answer($1, $2, $3, $4, $5)',
);

/** Adds an event to the outbox, in the transaction of a write. $1 user, $2 kinds as bits. */
export const addEvent = statement(
  'sync.add_event',
  'INSERT INTO sync.events (user_id, kinds) VALUES ($1, $2)',
);

/** Advances the existing clock of user $1, and returns the new stamp. */
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
/**
 * A stored answer: `json` is a reply of type {@link JsonText}, `reply` a reply of another type, and
 * `failure` the code of a {@link StoredFailure}.
 */
type StoredAnswer = { reply: unknown } | { json: unknown } | { failure: { code: FailureCode } };

/** Failures that are stored as answers, so that a repetition of the request fails the same way. */
const storedFailures: ReadonlySet<FailureCode> = new Set(['invalid', 'not_found', 'gone']);

/**
 * Matches the pool's error when no connection became free in time. This error indicates no outage,
 * because slow statements can cause it, too.
 */
const busyPoolMessage = /^timeout exceeded/;

/**
 * Runs the statements of a service in Postgres. Invariants:
 * - A write first locks the user's clock, and by default advances it. So writes of one user run one
 *   after another, and their stamps become visible in order.
 * - A write commits a marker of its request together with its effect, so it takes effect once. If a
 *   repeated request has no stored answer, the answer is computed again from the current state, in
 *   a transaction that is rolled back.
 * - A write adds its event to the outbox in the same transaction as its effect.
 * - Writes of a disabled or erased user fail with `unauthorized`. Reads fail so only if the caller
 *   reads `refused` and passes the row to `unlessRefused` (refused-users.ts).
 * - The stored answers of a user have at most `maxStoredAnswerBytes` in total. Above that, the
 *   oldest are deleted until a sixteenth of the limit is free.
 * - A write never starts after its caller stopped waiting. The remaining time limits the wait for
 *   the lock of the clock and every statement.
 * - A read is one statement, so it sees one snapshot.
 * - After a fault that indicates an outage, {@link availability} polls Postgres immediately.
 */
export class Database {
  /** The availability of Postgres, by the last check of this process. */
  readonly availability = new Availability(
    () => this.findMissingMigrations(),
    () => this.isPoolBusy,
  );
  private readonly reads: SharedReads;
  private readonly queue = new UserQueue();
  private readonly clockListeners = new Set<ClockCallback>();
  /** Connections that run statements or transactions. */
  private readonly clientsInUse = new Set<PoolClient>();

  constructor(
    readonly pool: Pool,
    /** False behind a pooler in transaction mode. */
    private readonly usesPreparedStatements = true,
    /** Maximum total bytes per user of the answers that are stored for repeated requests. */
    private readonly maxStoredAnswerBytes = defaultStoredAnswerBytes,
    private readonly storesEvents = false,
    readonly distribution: Distribution = 'none',
  ) {
    this.reads = new SharedReads(pool);
    // The pool does not handle errors of a connection in use, and an unhandled error ends the
    // process. The listener is added on 'acquire', because the connection can be lost before the
    // code of the caller runs.
    pool.on('acquire', (client) => {
      this.clientsInUse.add(client);
      if (!client.listeners('error').includes(ignoreConnectionError))
        client.on('error', ignoreConnectionError);
    });
    pool.on('release', (_, client) => this.clientsInUse.delete(client));
    // The pool emits the errors of idle connections. A restart of Postgres causes such errors.
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
      this.reads.read<Row>(bind(query, values, this.usesPreparedStatements)),
    );
  }

  /**
   * Runs and commits one statement that changes or locks rows.
   *
   * @throws Failure `unavailable` if a later attempt can succeed; other errors are bugs.
   */
  async change<Row extends object>(query: Statement, values: readonly unknown[]): Promise<Row[]> {
    const rows = await this.runWithoutTransaction(query, () =>
      this.pool.query<Row>(bind(query, values, this.usesPreparedStatements)),
    );
    const advancedClock = clockIn(values, rows);
    if (advancedClock) this.notifyClockListeners(...advancedClock);
    return rows;
  }

  /**
   * Registers a listener for advanced clocks. The listener runs synchronously after the commit and
   * before the answer to the write, so it must be fast and must not throw.
   */
  onClock(listener: ClockCallback): void {
    this.clockListeners.add(listener);
  }

  private readonly notifyClockListeners: ClockCallback = (userId, stamp) => {
    for (const listener of this.clockListeners) listener(userId, stamp);
  };

  private async runWithoutTransaction<Row>(
    { name }: Statement,
    runStatement: () => Promise<{ rows: Row[] }>,
  ): Promise<Row[]> {
    try {
      return (await inStatementSpan(name, runStatement)).rows;
    } catch (error) {
      throw this.toFailure(error);
    }
  }

  /** Returns the kinds of an event as bits for the outbox, or 0 if events are off. */
  eventBits(kinds: readonly EventKind[]): number {
    return this.storesEvents ? kindBits(kinds) : 0;
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

  /** @param hasEffect false only stores a failure as the answer, and does not advance the clock. */
  private async runOnce<Reply, Found extends object>(
    write: Write<Found>,
    run: (transaction: Transaction<Found>) => Promise<Reply | StoredFailure>,
    hasEffect = true,
  ): Promise<Reply> {
    const { userId, requestId, fingerprint = null, reads, advances = true } = write;
    const runInTransaction = async (transaction: PgTransaction) => {
      const beginning = transaction.query<BeginWriteRow>(beginWrite, [
        userId,
        requestId,
        fingerprint,
        hasEffect && advances,
        this.eventBits(write.changes),
      ]);
      const [[beginRow], found] = await Promise.all([
        beginning,
        reads ? transaction.query<Found>(reads[0], reads[1]) : [],
      ]);
      const { stamp, repeated, answer, ...first } = beginRow as BeginWriteRow;
      if (repeated && first.fingerprint !== fingerprint) throw new Failure('invalid');
      if (answer) return toReply<Reply>(answer);
      const lastStatements: Bound[] = [];
      const { query } = transaction;
      const addEventKinds = (...kinds: EventKind[]) => {
        if (this.storesEvents) lastStatements.push([addEvent, [userId, kindBits(kinds)]]);
      };
      const sendWithCommit = (...bound: Bound) => void lastStatements.push(bound);
      let advanced = advances;
      const advance = async () => {
        advanced = true;
        const [clockRow] = await query<{ stamp: string }>(advanceClock, [userId]);
        addEventKinds(...write.changes);
        return (clockRow as { stamp: string }).stamp;
      };
      const discard = () => void (advanced = false);
      const reply = await run({
        stamp,
        repeated,
        found,
        query,
        sendWithCommit,
        advance,
        discard,
        addEventKinds,
      });
      if (!repeated && (advanced || reply instanceof StoredFailure)) {
        if (write.smallAnswer || reply instanceof StoredFailure || fingerprint !== null)
          lastStatements.push([
            storeAnswer,
            [userId, requestId, stamp, toJson(reply), this.maxStoredAnswerBytes],
          ]);
        await transaction.commit(...lastStatements);
      }
      if (reply instanceof StoredFailure) throw new Failure(reply.code);
      return reply;
    };
    return this.inUserTransaction(write.userId, write.remainingMs, runInTransaction);
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
      throw this.toFailure(error);
    });
    let isBroken = false;
    const transaction = new PgTransaction(
      client,
      remainingMs,
      this.usesPreparedStatements,
      this.notifyClockListeners,
      planModes[this.distribution],
    );
    try {
      return await run(await transaction.begin());
    } catch (error) {
      throw this.toFailure(error);
    } finally {
      if (!transaction.committed) await transaction.rollback().catch(() => (isBroken = true));
      client.release(isBroken);
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
    // This connection does not count as in use. If Postgres does not answer on it, that is an
    // outage and no busy pool.
    this.clientsInUse.delete(client);
    let isBroken = true;
    const appliedNames = new Set<string>();
    try {
      const query = bind(selectMigrations, [], this.usesPreparedStatements);
      const { rows } = await client.query<{ name: string }>(query);
      for (const { name } of rows) appliedNames.add(name);
      isBroken = false;
    } finally {
      client.release(isBroken);
    }
    const expected = migrations.map(({ name }) => name);
    return expected
      .filter((name) => !appliedNames.has(name))
      .map((name) => `migration not applied: ${name}`);
  }

  /**
   * Returns the failure `unauthorized` for a refused user, and `unavailable` for a transient fault
   * or an unavailable Postgres. Other errors are bugs and are returned unchanged.
   */
  private toFailure(error: unknown): unknown {
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

/** Ignores the error, because the running statement fails and the pool drops the connection. */
function ignoreConnectionError(): void {}

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
