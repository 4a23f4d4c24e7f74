import type { Pool } from 'pg';
import { bitsOf, type EventKind, Failure, type FailureCode, JsonText } from '#contracts';
import type { DataSource } from 'typeorm';
import { Availability } from './availability.js';
import { defaultStoredAnswerBytes } from './database.config.js';
import { faultKind, refusedUser } from './fault.rule.js';
import { clockIn, type ClockListener, PgTransaction } from './pg.transaction.js';
import { SharedReads } from './shared.reads.js';
import { bind, type Bound, inStatementSpan, statement, type Statement } from './statement.js';
import { UserQueue } from './user.queue.js';

/** One write on behalf of one user. */
export interface Write<Found extends object = object> {
  userId: string;
  /** A UUID. A second write with the same one within an hour changes nothing, and gets the first answer if that is kept. */
  requestId: string;
  /** Of a request with a key of the client's: what the key stands for, in hex. With another one its id is `invalid`. */
  fingerprint?: string | undefined;
  /** Whether the answer is small, and kept in any case. Any other is kept where the client has a key to ask for it by. */
  smallAnswer: boolean;
  /** What it changes, as an event tells it (docs/reference/events.md). */
  changes: readonly EventKind[];
  /** How much longer the caller waits, in milliseconds. */
  remainingMs(): number;
  /**
   * Whether it advances the clock before anything else; the default. Else `stamp` is the clock as it was, and a write that
   * never calls {@link Transaction.advance} leaves nothing behind.
   */
  advances?: boolean;
  /** What to read first, under the lock of the user's clock. Sent together with the lock, so it costs no round trip. */
  reads?: Bound<Found>;
}

/** What the body of a write works with. */
export interface Transaction<Found extends object = object> {
  /** This write's stamp of the user's clock. */
  readonly stamp: string;
  /** Whether it took effect before and its answer is not kept: `stamp` is the first one, and writes roll back. */
  readonly repeated: boolean;
  /** The rows of {@link Write.reads}. */
  readonly found: Found[];
  /** Sends a statement together with the commit: it costs no round trip, and its rows can't be read. */
  last(query: Statement, values: readonly unknown[]): void;
  query<Row extends object>(query: Statement, values: readonly unknown[]): Promise<Row[]>;
  /** Advances the clock of a write that did not at first. @returns its stamp of the user's clock. */
  advance(): Promise<string>;
  /** Says that there is nothing to change: the write is rolled back, its marker and the clock's advance with it. */
  leaveNothing(): void;
  /** Says that the write changes more than {@link Write.changes}. */
  alsoChanges(...kinds: EventKind[]): void;
}

/**
 * $1 user, $2 request, $3 fingerprint or null, $4 whether anything may change, $5 the kinds of what changes, as bits: what
 * every write begins with.
 */
export const beginWrite = statement(
  'sync.begin_write',
  `SELECT stamp, repeated, encode(fingerprint, 'hex') AS fingerprint, answer,
     CASE WHEN $4::boolean AND NOT repeated THEN stamp END AS moved
   FROM sync.begin_write($1, $2, decode($3, 'hex'), $4, $5)`,
);

/** $1 user, $2 request, $3 stamp, $4 answer, $5 the most bytes that all answers of the user may have. */
export const keepAnswer = statement('sync.keep_answer', 'SELECT sync.keep_answer($1, $2, $3, $4, $5)');

/** $1 user, $2 kinds, as bits: has an event announced by a write that has begun. */
const announce = statement('sync.announce', 'INSERT INTO sync.events (user_id, kinds) VALUES ($1, $2)');
/** $1 user. */
const advanceClock = statement('sync.advance_clock', 'SELECT stamp, stamp AS moved FROM sync.advance_clock($1) stamp');

const appliedMigrations = statement('sync.applied_migrations', 'SELECT name FROM sync.migrations');

/** `fingerprint` and `answer` are those of the first time, where it is `repeated`. */
interface Begun {
  stamp: string;
  repeated: boolean;
  fingerprint: string | null;
  answer: Answer | null;
}
/** A stored answer; `json` is a reply that was {@link JsonText}. */
type Answer = { reply: unknown } | { json: unknown } | { failure: { code: FailureCode } };

/** Failures that are answers of an operation, and kept; after any other one it may be tried again. */
const keptFailures: ReadonlySet<FailureCode> = new Set(['invalid', 'not_found', 'gone']);

/** The pool's message when all connections are in use, which says nothing about Postgres. */
const poolIsBusy = /^timeout exceeded/;

/**
 * Postgres, for the services. Invariants:
 * - a write locks and advances its user's clock before anything else, so writes of one user follow one another and
 *   their stamps become visible in order;
 * - a write commits a marker of its request together with its effect, so it takes effect once; an answer that is not
 *   kept beside the marker is made again from the present state, in a transaction that is rolled back;
 * - a write that is to be announced leaves that in the outbox of events, in its own transaction;
 * - nothing is written for a user who is disabled or erased, and nothing read (refused.users.ts): `unauthorized`;
 * - the stored answers of a user never have more than `answerBytes`: the oldest are dropped;
 * - a write never starts after its caller stopped waiting: what is left of the deadline bounds the wait for the clock's
 *   lock and every statement;
 * - a read is one statement, so what it sees is one snapshot;
 * - a fault as of a Postgres that is away makes {@link availability} check at once.
 */
export class Database {
  /** Whether Postgres is available to this process, as far as is known without asking it. */
  readonly availability = new Availability(() => this.missing());
  private readonly pool: Pool;
  private readonly reads: SharedReads;
  private readonly queue = new UserQueue();
  private readonly clocks = new Set<ClockListener>();

  constructor(
    readonly dataSource: DataSource,
    private readonly prepared = true,
    /** The most bytes that the stored answers of one user may have. */
    private readonly answerBytes = defaultStoredAnswerBytes,
    /** Whether writes are announced by events. */
    private readonly events = false,
  ) {
    this.pool = (dataSource.driver as unknown as { master: Pool }).master;
    this.reads = new SharedReads(this.pool);
    // The pool does not handle errors of a client that is in use, and an unhandled one ends the process. Attached on
    // 'acquire', as the connection may be lost before the code that asked for it runs.
    this.pool.on('acquire', (client) => {
      if (!client.listeners('error').includes(lostConnection)) client.on('error', lostConnection);
    });
    // An error of an idle connection.
    this.pool.on('error', () => this.availability.suspect());
  }

  /**
   * Runs one statement by itself. It must not wait for locks, as other reads may wait behind it on the connection.
   *
   * @throws Failure `unavailable` when Postgres can't answer now.
   */
  async read<Row extends object>(query: Statement, values: readonly unknown[]): Promise<Row[]> {
    return this.alone(query, () => this.reads.read<Row>(bind(query, values, this.prepared)));
  }

  /** Runs one statement that changes or locks something, by itself, and commits it. @throws like {@link read}. */
  async change<Row extends object>(query: Statement, values: readonly unknown[]): Promise<Row[]> {
    const rows = await this.alone(query, () => this.pool.query<Row>(bind(query, values, this.prepared)));
    const clock = clockIn(values, rows);
    if (clock) this.onMoved(...clock);
    return rows;
  }

  /**
   * Calls `listener` whenever this process has committed something that moved a user's clock, at once and in the order of
   * the commits as they were answered. It must not throw, nor take its time: the answer to the write comes after it.
   */
  onClock(listener: ClockListener): void {
    this.clocks.add(listener);
  }

  private readonly onMoved: ClockListener = (userId, stamp) => {
    for (const listener of this.clocks) listener(userId, stamp);
  };

  private async alone<Row>({ name }: Statement, run: () => Promise<{ rows: Row[] }>): Promise<Row[]> {
    try {
      return (await inStatementSpan(name, run)).rows;
    } catch (error) {
      throw this.asFailure(error);
    }
  }

  /** What a write of these kinds leaves in the outbox of events: their bits, or 0 where nothing is announced. */
  announced(kinds: readonly EventKind[]): number {
    return this.events ? bitsOf(kinds) : 0;
  }

  /**
   * Runs a write and marks its request. A `Failure` that `run` throws undoes the write and may be kept as its answer.
   *
   * @throws Failure what `run` threw; `invalid` when the client's key was used for another request; `unauthorized` for
   *   a refused user; `unavailable` without time left or Postgres.
   */
  async write<Reply, Found extends object>(
    write: Write<Found>,
    run: (transaction: Transaction<Found>) => Promise<Reply>,
  ): Promise<Reply> {
    try {
      return await this.once(write, run);
    } catch (error) {
      if (!(error instanceof Failure) || !keptFailures.has(error.code)) throw error;
      return this.once<Reply, Found>({ ...write, reads: undefined }, async () => new Failed(error.code), false);
    }
  }

  private async once<Reply, Found extends object>(
    write: Write<Found>,
    run: (transaction: Transaction<Found>) => Promise<Reply | Failed>,
    changes = true,
  ): Promise<Reply> {
    const { userId, requestId, fingerprint = null, reads, advances = true } = write;
    const begin = async (transaction: PgTransaction) => {
      const kinds = this.announced(write.changes);
      const locked = transaction.query<Begun>(beginWrite, [userId, requestId, fingerprint, changes && advances, kinds]);
      const [[begun], found] = await Promise.all([locked, reads ? transaction.query<Found>(reads[0], reads[1]) : []]);
      const { stamp, repeated, answer, ...first } = begun as Begun;
      if (repeated && first.fingerprint !== fingerprint) throw new Failure('invalid');
      if (answer) return answered<Reply>(answer);
      const last: Bound[] = [];
      const { query } = transaction;
      const alsoChanges = (...more: EventKind[]) => {
        if (this.events) last.push([announce, [userId, bitsOf(more)]]);
      };
      const add = (...bound: Bound) => void last.push(bound);
      let advanced = advances;
      const advance = async () => {
        advanced = true;
        const [clock] = await query<{ stamp: string }>(advanceClock, [userId]);
        alsoChanges(...write.changes);
        return (clock as { stamp: string }).stamp;
      };
      const leaveNothing = () => void (advanced = false);
      const reply = await run({ stamp, repeated, found, query, last: add, advance, leaveNothing, alsoChanges });
      if (!repeated && (advanced || reply instanceof Failed)) {
        if (write.smallAnswer || reply instanceof Failed || fingerprint !== null)
          last.push([keepAnswer, [userId, requestId, stamp, stored(reply), this.answerBytes]]);
        await transaction.commit(...last);
      }
      if (reply instanceof Failed) throw new Failure(reply.code);
      return reply;
    };
    return this.inTurn(write.userId, write.remainingMs, begin);
  }

  /**
   * As {@link inTransaction}, for what locks the user's clock: when every earlier write of the user in this process has
   * ended. The lock alone would order them, but each would occupy a connection while it waits.
   */
  inTurn<Result>(
    userId: string,
    remainingMs: () => number,
    run: (transaction: PgTransaction) => Promise<Result>,
  ): Promise<Result> {
    return this.queue.run(userId, remainingMs, () => this.inTransaction(remainingMs, run));
  }

  /**
   * Runs statements in one transaction on one connection, bounded by a time.
   *
   * @param run has to commit: whatever is uncommitted when it ends or throws is rolled back.
   */
  async inTransaction<Result>(
    remainingMs: () => number,
    run: (transaction: PgTransaction) => Promise<Result>,
  ): Promise<Result> {
    const client = await this.pool.connect().catch((error: unknown) => {
      throw this.asFailure(error);
    });
    let broken = false;
    const transaction = new PgTransaction(client, remainingMs, this.prepared, this.onMoved);
    try {
      return await run(await transaction.begin());
    } catch (error) {
      throw this.asFailure(error);
    } finally {
      if (!transaction.committed) await transaction.rollback().catch(() => (broken = true));
      client.release(broken);
    }
  }

  /** The connections of this process; `waiting` counts statements, or groups of reads, that wait for one. */
  get connections(): { total: number; idle: number; waiting: number } {
    return { total: this.pool.totalCount, idle: this.pool.idleCount, waiting: this.pool.waitingCount };
  }

  async close(): Promise<void> {
    this.availability.close();
    await this.dataSource.destroy();
  }

  /** The migrations of this build that the database does not have; it may have newer ones. */
  private async missing(): Promise<string[]> {
    const { rows } = await this.pool.query<{ name: string }>(bind(appliedMigrations, [], this.prepared));
    const names = new Set(rows.map(({ name }) => name));
    const known = this.dataSource.migrations.map((migration) => migration.constructor.name);
    return known.filter((name) => !names.has(name)).map((name) => `a migration: ${name}`);
  }

  /** Makes faults of Postgres that pass `unavailable`, and a refused user `unauthorized`; any other error is a bug and stays as it is. */
  private asFailure(error: unknown): unknown {
    if (error instanceof Failure) return error;
    if ((error as { code?: unknown }).code === refusedUser) return new Failure('unauthorized');
    const kind = faultKind(error);
    if (kind === 'lasting') return error;
    if (kind === 'away' && !poolIsBusy.test((error as Error).message)) this.availability.suspect();
    return new Failure('unavailable', { cause: error });
  }
}

/** Nothing to do: the statement that runs on the connection fails, and the pool does not take it back. */
function lostConnection(): void {}

/** A write that failed, and whose failure is kept as its answer. */
class Failed {
  constructor(readonly code: FailureCode) {}
}

/** The JSON of an {@link Answer}. */
function stored(reply: unknown): string {
  if (reply instanceof JsonText) return `{"json":${reply.toString()}}`;
  return JSON.stringify(reply instanceof Failed ? { failure: { code: reply.code } } : { reply });
}

/** Gives a stored answer again: the operation's reply, or its failure. */
function answered<Reply>(answer: Answer): Reply {
  if ('json' in answer) return JsonText.of(answer.json) as Reply;
  if ('reply' in answer) return answer.reply as Reply;
  throw new Failure(answer.failure.code);
}
