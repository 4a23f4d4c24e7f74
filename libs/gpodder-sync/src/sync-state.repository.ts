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

/** The numbers of the lists in the column `list`. */
const lists = { subscriptions: 1, episodes: 2 } as const;
type List = keyof typeof lists;

/** A read of a list by a client of the gpodder API. */
interface ListRead {
  readonly userId: string;
  readonly list: List;
  /**
   * The client: its app password, its session if it has one, and its `since` in whole seconds.
   * Undefined reads the whole list.
   */
  readonly reader?:
    | {
        readonly credentialId: string;
        readonly sessionId?: string | undefined;
        readonly since: number;
      }
    | undefined;
  /** True if K and M of the client change, because it stores the answer. */
  readonly updatesState: boolean;
}

/** The members of `CallContext` (transport) that this library uses. */
interface Call {
  readonly arrivedMs: number;
  ageMs(): number;
  remainingMs(): number;
}

/** Maximum number of rows per user in each of the tables of K and of M. */
const maxRows = 400;

const inMs = (time: string) => `floor(extract(epoch FROM ${time}) * 1000)::bigint`;
const isUseOutdated = (alias: string) =>
  `coalesce(${alias}.used < now() - interval '1 day', false)`;

/**
 * Reads the clock, T, K and M, and whether the user is refused, as exactly one row. $1 user, $2
 * list, $3 app password, $4 session.
 */
export const readState = statement(
  'sync.read_state',
  `SELECT c.refused, coalesce(${inMs('c.stamp')}, 0) AS stamp,
     coalesce(c.answered_second, 0) AS answered, ${inMs('clock_timestamp()')} AS now,
     r.since, r.answered_second AS "readerAnswered", r.safe_second AS safe,
     r.received_ms AS "receivedAt", s.stamp_ms AS "sessionStamp",
     ${isUseOutdated('r')} OR ${isUseOutdated('s')} AS "isUseOutdated"
   FROM (SELECT $1::uuid AS id) u
   LEFT JOIN sync.user_clock c ON c.user_id = $1
   LEFT JOIN sync.readers r ON r.user_id = $1 AND r.credential_id = $3 AND r.list = $2
   LEFT JOIN sync.reader_sessions s ON s.user_id = $1 AND s.session_id = $4 AND s.list = $2`,
);

interface Row {
  readonly refused: number | null;
  readonly stamp: number;
  readonly answered: number;
  readonly now: number;
  /** `since` of K in whole seconds; null if K is not stored. */
  readonly since: number | null;
  readonly readerAnswered: number;
  readonly safe: number;
  readonly receivedAt: number;
  /** True if the column `used` of K or M is more than a day old. */
  readonly isUseOutdated: boolean;
  readonly sessionStamp: number | null;
}

/** Locks the user's clock, and with it T, K and M, until the end of the transaction. $1 user. */
const lockState = statement('sync.lock_state', 'SELECT sync.lock_clock($1)');
/**
 * Stores T and the clock after sealing a second. The clock must be locked. $1 user, $2 second.
 */
const sealClock = statement(
  'sync.seal_clock',
  `UPDATE sync.user_clock c
   SET answered_second = $2::bigint, stamp = to_timestamp(($2::bigint + 1)::double precision)
   WHERE c.user_id = $1`,
);
/**
 * Stores K ({@link LastRead}). $1 user, $2 list, $3 app password, $4 since, $5 answered, $6 safe,
 * $7 received at.
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
/** Stores M. $1 user, $2 list, $3 session, $4 stamp up to which the session has all rows. */
export const saveSession = statement(
  'sync.save_session',
  `INSERT INTO sync.reader_sessions (user_id, list, session_id, stamp_ms) VALUES ($1, $2, $3, $4)
   ON CONFLICT (user_id, session_id, list) DO UPDATE
     SET stamp_ms = excluded.stamp_ms, used = excluded.used`,
);
/** Returns SQL that keeps the $2 most recently used rows of a user and deletes all others. */
const evictionSql = (table: string, key: string) => `
   DELETE FROM ${table} t WHERE t.user_id = $1 AND t.ctid = ANY (ARRAY(
     SELECT o.ctid FROM ${table} o WHERE o.user_id = $1
     ORDER BY o.used DESC, o.${key}, o.list OFFSET $2))`;
const evictReaders = statement('sync.evict_readers', evictionSql('sync.readers', 'credential_id'));
const evictSessions = statement(
  'sync.evict_sessions',
  evictionSql('sync.reader_sessions', 'session_id'),
);
/** Reads M. $1 user, $2 list, $3 session. */
export const readSession = statement(
  'sync.read_session',
  `SELECT s.stamp_ms AS "sessionStamp" FROM sync.reader_sessions s
   WHERE s.user_id = $1 AND s.session_id = $3 AND s.list = $2`,
);

/**
 * Returns the timestamp for the answer to a read of a list, and the second after which the list
 * starts. Stores the new state. The caller must read the list afterwards. If the state does not
 * change, this is one statement without a lock.
 *
 * @throws Failure `unauthorized` for a refused user.
 */
export async function answerList(
  database: Database,
  read: ListRead,
  call: Call,
): Promise<ListAnswer> {
  const values = keyOf({ ...read, ...read.reader });
  const [row] = await database.read<Row>(readState, values);
  const unlocked = decide(read, call, row);
  if (unlocked.writes.length === 0) return unlocked.answer;
  return database.inUserTransaction(
    read.userId,
    () => call.remainingMs(),
    async (transaction) => {
      const [, [lockedRow]] = await Promise.all([
        transaction.query(lockState, [read.userId]),
        transaction.query<Row>(readState, values),
      ]);
      const { answer, writes } = decide(read, call, lockedRow);
      if (writes.length > 0) await transaction.commit(...writes);
      return answer;
    },
  );
}

/**
 * Returns the timestamp for the answer to an upload that seals no second, from M of its session. It
 * is 1 without a session.
 */
export async function sessionTimestamp(
  database: Database,
  userId: string,
  list: List,
  sessionId: string | undefined,
): Promise<number> {
  if (sessionId === undefined) return uploadTimestamp(undefined);
  const [row] = await database.read<Pick<Row, 'sessionStamp'>>(readSession, [
    userId,
    lists[list],
    sessionId,
  ]);
  return uploadTimestamp(row?.sessionStamp ?? undefined);
}

/**
 * Returns the timestamp for the answer to an upload of subscriptions, and adds the new state to its
 * write. The caller has already advanced the clock and runs no later statement that does.
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
  const [row] = await transaction.query<Row>(readState, keyOf(key));
  const state = toState(unlessRefused(row));
  const { timestamp, after } = answerUpload(state, Date.parse(stampBefore), repeatsUpload);
  for (const [query, values] of writesOf(key, state, after))
    transaction.sendWithCommit(query, values);
  return timestamp;
}

/** The key of K and M of one client and list. */
interface StateKey {
  readonly userId: string;
  readonly list: List;
  readonly credentialId?: string | undefined;
  readonly sessionId?: string | undefined;
}

/** Returns the parameters of {@link readState}. */
const keyOf = ({ userId, list, credentialId, sessionId }: StateKey) => [
  userId,
  lists[list],
  credentialId ?? null,
  sessionId ?? null,
];

function toState(row: Row): SyncState {
  const { stamp, answered, now, since, safe, sessionStamp } = row;
  return {
    clock: { stamp, answered, now },
    reader:
      since === null
        ? undefined
        : { since, answered: row.readerAnswered, safe, receivedAt: row.receivedAt },
    sessionStamp: sessionStamp ?? undefined,
  };
}

/** Returns the answer to a read, and the statements to commit before the answer is sent. */
function decide(
  read: ListRead,
  call: Call,
  row: Row | undefined,
): { answer: ListAnswer; writes: Bound[] } {
  const { userId, list, reader, updatesState } = read;
  const present = unlessRefused(row);
  const state = toState(present);
  if (!reader) {
    const answer = answerStateless(state.clock, 0);
    return { answer: { ...answer, timestamp: Math.max(1, answer.timestamp) }, writes: [] };
  }
  const key = { userId, list, credentialId: reader.credentialId, sessionId: reader.sessionId };
  if (!updatesState) {
    const clock = sealSecond(state.clock);
    return {
      answer: answerStateless(clock, reader.since),
      writes: writesOf(key, state, { ...state, clock }),
    };
  }
  const { answer, after } = answerRead(state, {
    since: reader.since,
    receivedAt: call.arrivedMs,
    ageMs: call.ageMs(),
  });
  return { answer, writes: writesOf(key, state, after, present.isUseOutdated) };
}

/**
 * Returns the statements that store the changed parts of a state.
 *
 * @param touches true stores K and M also if they are unchanged, to update their `used`.
 */
function writesOf(key: StateKey, before: SyncState, after: SyncState, touches = false): Bound[] {
  const [userId, list, credentialId, sessionId] = keyOf(key);
  const { clock, reader, sessionStamp } = after;
  const writes: Bound[] = [];
  if (clock !== before.clock) writes.push([sealClock, [userId, clock.answered]]);
  if (reader && (touches || reader !== before.reader)) {
    const { since, answered, safe, receivedAt } = reader;
    writes.push([saveReader, [userId, list, credentialId, since, answered, safe, receivedAt]]);
    if (!before.reader) writes.push([evictReaders, [userId, maxRows]]);
  }
  const savesSession = touches || sessionStamp !== before.sessionStamp;
  if (sessionId !== null && sessionStamp !== undefined && savesSession) {
    writes.push([saveSession, [userId, list, sessionId, sessionStamp]]);
    if (before.sessionStamp === undefined) writes.push([evictSessions, [userId, maxRows]]);
  }
  return writes;
}
