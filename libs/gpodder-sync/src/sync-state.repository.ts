import { type Bound, type Database, statement, type Transaction, unlessRefused } from '#database';
import {
  answerRead,
  answerStateless,
  answerUpload,
  type ListAnswer,
  sealSecond,
  type SyncState,
  uploadTimestamp,
} from './sync-state.rules.js';

/** The number of each list in the column `list`. */
const listNumbers = { subscriptions: 1, episodes: 2 } as const;
type List = keyof typeof listNumbers;

/** A request of a gpodder client for a list. README.md of this library defines T, K and M. */
interface ListRequest {
  readonly userId: string;
  readonly list: List;
  /**
   * The client: app password, session if it has one, and `since` in seconds. Undefined for the
   * whole list.
   */
  readonly reader?:
    | {
        readonly credentialId: string;
        readonly sessionId?: string | undefined;
        readonly since: number;
      }
    | undefined;
  /** True to update K and M, because the client stores the answer. */
  readonly updatesState: boolean;
}

/** The members of `CallContext` (transport) that this library uses. */
interface CallTimes {
  readonly arrivedMs: number;
  ageMs(): number;
  remainingMs(): number;
}

/** Maximum rows of a user in each of the two tables; the least recently used rows are deleted. */
const maxRowsPerUser = 400;

/** Returns SQL that converts a time to milliseconds since 1970. */
const toMsSql = (time: string) => `floor(extract(epoch FROM ${time}) * 1000)::bigint`;
/** Returns a SQL condition that the column `used` is over a day old; false without a row. */
const toOutdatedUseSql = (alias: string) =>
  `coalesce(${alias}.used < now() - interval '1 day', false)`;

/**
 * Reads the {@link SyncState}, and whether the user is refused. Returns exactly one row.
 * $1 user, $2 list, $3 app password, $4 session.
 */
export const selectSyncState = statement(
  'sync.select_state',
  `SELECT c.refused, coalesce(${toMsSql('c.stamp')}, 0) AS stamp,
     coalesce(c.answered_second, 0) AS "answeredSecond", ${toMsSql('clock_timestamp()')} AS now,
     r.since, r.answered_second AS "readerAnsweredSecond", r.safe_second AS "completeSecond",
     r.received_ms AS "receivedAt", s.stamp_ms AS "sessionStamp",
     ${toOutdatedUseSql('r')} OR ${toOutdatedUseSql('s')} AS "isUseOutdated"
   FROM (SELECT $1::uuid AS id) u
   LEFT JOIN sync.user_clock c ON c.user_id = $1
   LEFT JOIN sync.readers r ON r.user_id = $1 AND r.credential_id = $3 AND r.list = $2
   LEFT JOIN sync.reader_sessions s ON s.user_id = $1 AND s.session_id = $4 AND s.list = $2`,
);

/** A row of {@link selectSyncState}. Columns are described at {@link SyncState}. */
interface SyncStateRow {
  readonly refused: number | null;
  readonly stamp: number;
  readonly answeredSecond: number;
  readonly now: number;
  /** `since` of K in seconds; null if K is not stored. */
  readonly since: number | null;
  readonly readerAnsweredSecond: number;
  readonly completeSecond: number;
  readonly receivedAt: number;
  /** True if the column `used` of K or M is more than a day old. */
  readonly isUseOutdated: boolean;
  readonly sessionStamp: number | null;
}

/** Locks the user's clock, and thereby the user's sync state, for this transaction. $1 user. */
const lockState = statement('sync.lock_state', 'SELECT sync.lock_clock($1)');
/** Stores T, and sets the clock to T + 1 s. Requires {@link lockState}. $1 user, $2 second T. */
const sealClock = statement(
  'sync.seal_clock',
  `UPDATE sync.user_clock c
   SET answered_second = $2::bigint, stamp = to_timestamp(($2::bigint + 1)::double precision)
   WHERE c.user_id = $1`,
);
/**
 * Stores K, the last read ({@link LastRead}). $1 user, $2 list, $3 app password, $4 since,
 * $5 answered second, $6 complete second, $7 received at (ms).
 */
export const saveReader = statement(
  'sync.save_reader',
  `INSERT INTO sync.readers
     (user_id, list, credential_id, since, answered_second, safe_second, received_ms)
   VALUES ($1, $2, $3, $4, $5, $6, $7)
   ON CONFLICT (user_id, credential_id, list) DO UPDATE
     SET since = excluded.since, answered_second = excluded.answered_second,
       safe_second = excluded.safe_second, received_ms = excluded.received_ms,
       used = excluded.used`,
);
/** Stores M, the stamp up to which a session has all rows. $1 user, $2 list, $3 session, $4 M. */
export const saveSession = statement(
  'sync.save_session',
  `INSERT INTO sync.reader_sessions (user_id, list, session_id, stamp_ms) VALUES ($1, $2, $3, $4)
   ON CONFLICT (user_id, session_id, list) DO UPDATE
     SET stamp_ms = excluded.stamp_ms, used = excluded.used`,
);
/** Returns SQL that deletes rows of user $1, except the $2 most recently used ones. */
const toEvictionSql = (table: string, key: string) => `
   DELETE FROM ${table} t WHERE t.user_id = $1 AND t.ctid = ANY (ARRAY(
     SELECT o.ctid FROM ${table} o WHERE o.user_id = $1
     ORDER BY o.used DESC, o.${key}, o.list OFFSET $2))`;
const evictReaders = statement(
  'sync.evict_readers',
  toEvictionSql('sync.readers', 'credential_id'),
);
const evictSessions = statement(
  'sync.evict_sessions',
  toEvictionSql('sync.reader_sessions', 'session_id'),
);
/** Reads M, the stamp up to which a session has all rows. $1 user, $2 list, $3 session. */
export const selectSession = statement(
  'sync.select_session',
  `SELECT s.stamp_ms AS "sessionStamp" FROM sync.reader_sessions s
   WHERE s.user_id = $1 AND s.session_id = $3 AND s.list = $2`,
);

/**
 * Returns the timestamp for the answer to a read of a list, and the second after which the list
 * starts. Stores the new sync state. The caller must read the list afterwards. Runs one statement
 * without a lock if the state does not change.
 *
 * @throws Failure `unauthorized` for a refused user.
 */
export async function answerList(
  database: Database,
  request: ListRequest,
  call: CallTimes,
): Promise<ListAnswer> {
  const parameters = toParameters({ ...request, ...request.reader });
  const [row] = await database.read<SyncStateRow>(selectSyncState, parameters);
  const unlockedDecision = decideAnswer(request, call, row);
  if (unlockedDecision.writes.length === 0) return unlockedDecision.answer;
  return database.inUserTransaction(
    request.userId,
    () => call.remainingMs(),
    async (transaction) => {
      const [, [lockedRow]] = await Promise.all([
        transaction.query(lockState, [request.userId]),
        transaction.query<SyncStateRow>(selectSyncState, parameters),
      ]);
      const { answer, writes } = decideAnswer(request, call, lockedRow);
      if (writes.length > 0) await transaction.commit(...writes);
      return answer;
    },
  );
}

/**
 * Returns the timestamp for the answer to an upload that seals no second. The timestamp follows
 * from M of the session, and is 1 without a session.
 */
export async function sessionTimestamp(
  database: Database,
  userId: string,
  list: List,
  sessionId: string | undefined,
): Promise<number> {
  if (sessionId === undefined) return uploadTimestamp(undefined);
  const [row] = await database.read<Pick<SyncStateRow, 'sessionStamp'>>(selectSession, [
    userId,
    listNumbers[list],
    sessionId,
  ]);
  return uploadTimestamp(row?.sessionStamp ?? undefined);
}

/**
 * Returns the timestamp for the answer to an upload that changed subscriptions. Adds the new T, K
 * and M to the transaction; this can seal a second, which advances the clock at the commit. Without
 * a session it writes nothing and returns 1. The caller must have advanced the clock before this
 * call, and must not advance it afterwards.
 *
 * @param stampBefore stamp of the user's clock before this write.
 * @param repeatsUpload true if the client's next download must include its own upload.
 */
export async function answerWrite(
  transaction: Pick<Transaction, 'query' | 'sendWithCommit'>,
  {
    userId,
    credentialId,
    sessionId,
  }: { userId: string; credentialId: string; sessionId?: string | undefined },
  stampBefore: string,
  repeatsUpload: boolean,
): Promise<number> {
  if (sessionId === undefined) return uploadTimestamp(undefined);
  const key = { userId, list: 'subscriptions', credentialId, sessionId } as const;
  const [row] = await transaction.query<SyncStateRow>(selectSyncState, toParameters(key));
  const state = toState(unlessRefused(row));
  const { timestamp, after } = answerUpload(state, Date.parse(stampBefore), repeatsUpload);
  for (const [query, parameters] of toWrites(key, state, after))
    transaction.sendWithCommit(query, parameters);
  return timestamp;
}

/** Identifies K and M: user, list, app password (K) and session (M). */
interface StateKey {
  readonly userId: string;
  readonly list: List;
  readonly credentialId?: string | undefined;
  readonly sessionId?: string | undefined;
}

/** Returns the parameters of {@link selectSyncState}. */
const toParameters = ({ userId, list, credentialId, sessionId }: StateKey) => [
  userId,
  listNumbers[list],
  credentialId ?? null,
  sessionId ?? null,
];

/** Converts a row of {@link selectSyncState}. */
function toState(row: SyncStateRow): SyncState {
  const { stamp, answeredSecond, now, since, completeSecond, sessionStamp } = row;
  return {
    clock: { stamp, answeredSecond, now },
    reader:
      since === null
        ? undefined
        : {
            since,
            answeredSecond: row.readerAnsweredSecond,
            completeSecond,
            receivedAt: row.receivedAt,
          },
    sessionStamp: sessionStamp ?? undefined,
  };
}

/** Returns the answer to a read, and the statements to commit before the answer is sent. */
function decideAnswer(
  request: ListRequest,
  call: CallTimes,
  row: SyncStateRow | undefined,
): { answer: ListAnswer; writes: Bound[] } {
  const { userId, list, reader, updatesState } = request;
  const currentRow = unlessRefused(row);
  const state = toState(currentRow);
  if (!reader) {
    const answer = answerStateless(state.clock, 0);
    return { answer: { ...answer, timestamp: Math.max(1, answer.timestamp) }, writes: [] };
  }
  const key = { userId, list, credentialId: reader.credentialId, sessionId: reader.sessionId };
  if (!updatesState) {
    const clock = sealSecond(state.clock);
    return {
      answer: answerStateless(clock, reader.since),
      writes: toWrites(key, state, { ...state, clock }),
    };
  }
  const { answer, after } = answerRead(state, {
    since: reader.since,
    receivedAt: call.arrivedMs,
    ageMs: call.ageMs(),
  });
  return { answer, writes: toWrites(key, state, after, currentRow.isUseOutdated) };
}

/**
 * Returns the statements that store the changed parts of a sync state.
 *
 * @param updatesUse true to store K and M even if unchanged, to update their column `used`.
 */
function toWrites(key: StateKey, before: SyncState, after: SyncState, updatesUse = false): Bound[] {
  const [userId, list, credentialId, sessionId] = toParameters(key);
  const { clock, reader, sessionStamp } = after;
  const writes: Bound[] = [];
  if (clock !== before.clock) writes.push([sealClock, [userId, clock.answeredSecond]]);
  if (reader && (updatesUse || reader !== before.reader)) {
    const { since, answeredSecond, completeSecond, receivedAt } = reader;
    writes.push([
      saveReader,
      [userId, list, credentialId, since, answeredSecond, completeSecond, receivedAt],
    ]);
    if (!before.reader) writes.push([evictReaders, [userId, maxRowsPerUser]]);
  }
  const savesSession = updatesUse || sessionStamp !== before.sessionStamp;
  if (sessionId !== null && sessionStamp !== undefined && savesSession) {
    writes.push([saveSession, [userId, list, sessionId, sessionStamp]]);
    if (before.sessionStamp === undefined) writes.push([evictSessions, [userId, maxRowsPerUser]]);
  }
  return writes;
}
