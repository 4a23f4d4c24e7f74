import { type Bound, type Database, statement, type Transaction, unlessRefused } from '#database';
import {
  answerOnce,
  answerReader,
  answerUpload,
  type ListAnswer,
  sealSecond,
  type SyncState,
  uploadTimestamp,
} from './sync-state.rule.js';

/** The lists with timestamps, and their numbers in Postgres. */
const lists = { subscriptions: 1, episodes: 2 } as const;
type List = keyof typeof lists;

/** A read of a list by a client of the gpodder API. */
interface ListRead {
  readonly userId: string;
  readonly list: List;
  /** The client (`readerSchema` of the contracts); absent to read the whole list. */
  readonly reader?:
    | {
        readonly credentialId: string;
        readonly sessionId?: string | undefined;
        readonly since: number;
      }
    | undefined;
  /** True if the client has the whole list up to the timestamp after this answer. */
  readonly remembers: boolean;
}

/** The parts of a call's context that this library uses. */
interface Call {
  readonly arrivedMs: number;
  ageMs(): number;
  remainingMs(): number;
}

/** Maximum rows of K, and of M, per user for both lists together. */
const mostRows = 400;

const inMs = (time: string) => `floor(extract(epoch FROM ${time}) * 1000)::bigint`;
const isUnused = (alias: string) => `coalesce(${alias}.used < now() - interval '1 day', false)`;

/** Reads the state. $1 user, $2 list, $3 app password, $4 session; always returns one row. */
export const readState = statement(
  'sync.read_state',
  `SELECT c.refused, coalesce(${inMs('c.stamp')}, 0) AS stamp, coalesce(c.told, 0) AS told,
     ${inMs('clock_timestamp()')} AS now,
     r.asked, r.told AS reader_told, r.safe, r.arrived, ${isUnused('r')} OR ${isUnused('s')} AS unused, s.known
   FROM (SELECT $1::uuid AS id) u
   LEFT JOIN sync.user_clock c ON c.user_id = $1
   LEFT JOIN sync.readers r ON r.user_id = $1 AND r.credential_id = $3 AND r.list = $2
   LEFT JOIN sync.reader_sessions s ON s.user_id = $1 AND s.session_id = $4 AND s.list = $2`,
);

interface Row {
  readonly refused: number | null;
  readonly stamp: number;
  readonly told: number;
  readonly now: number;
  readonly asked: number | null;
  readonly reader_told: number;
  readonly safe: number;
  readonly arrived: number;
  /** True if the last update of `used` of the reader or session is more than a day old. */
  readonly unused: boolean;
  readonly known: number | null;
}

/** Locks the user's clock until the end of the transaction. $1 user. */
const lockState = statement('sync.lock_state', 'SELECT sync.lock_clock($1)');
/** Seals a second. $1 user, $2 second. The caller holds the lock of the clock. */
const saveClock = statement(
  'sync.seal_second',
  `UPDATE sync.user_clock c SET told = $2::bigint, stamp = to_timestamp(($2::bigint + 1)::double precision) WHERE c.user_id = $1`,
);
/** Stores K. $1 user, $2 list, $3 app password, $4 asked, $5 told, $6 safe, $7 arrived. */
export const saveReader = statement(
  'sync.save_reader',
  `INSERT INTO sync.readers (user_id, list, credential_id, asked, told, safe, arrived)
   VALUES ($1, $2, $3, $4, $5, $6, $7)
   ON CONFLICT (user_id, credential_id, list) DO UPDATE SET asked = excluded.asked, told = excluded.told,
     safe = excluded.safe, arrived = excluded.arrived, used = excluded.used`,
);
/** Stores M. $1 user, $2 list, $3 session, $4 stamp up to which the session has everything. */
export const saveSession = statement(
  'sync.save_reader_session',
  `INSERT INTO sync.reader_sessions (user_id, list, session_id, known) VALUES ($1, $2, $3, $4)
   ON CONFLICT (user_id, session_id, list) DO UPDATE SET known = excluded.known, used = excluded.used`,
);
/** Returns SQL that deletes all but the last used rows. $1 user, $2 number of rows to keep. */
const makeRoom = (table: string, key: string) => `
   DELETE FROM ${table} t WHERE t.user_id = $1 AND t.ctid = ANY (ARRAY(
     SELECT o.ctid FROM ${table} o WHERE o.user_id = $1 ORDER BY o.used DESC, o.${key}, o.list OFFSET $2))`;
const makeRoomForReader = statement(
  'sync.make_room_for_reader',
  makeRoom('sync.readers', 'credential_id'),
);
const makeRoomForSession = statement(
  'sync.make_room_for_session',
  makeRoom('sync.reader_sessions', 'session_id'),
);
/** Reads M. $1 user, $2 list, $3 session. */
export const readSession = statement(
  'sync.read_reader_session',
  'SELECT s.known FROM sync.reader_sessions s WHERE s.user_id = $1 AND s.session_id = $3 AND s.list = $2',
);

/**
 * Returns the timestamp of a list's answer and the start of the list, and stores new state before
 * the list is read. A poll of an unchanged list is one statement without a write.
 *
 * @throws Failure `unauthorized` for a refused user.
 */
export async function answerList(
  database: Database,
  read: ListRead,
  call: Call,
): Promise<ListAnswer> {
  const values = valuesOf({ ...read, ...read.reader });
  const [seen] = await database.read<Row>(readState, values);
  const before = decide(read, call, seen);
  if (before.writes.length === 0) return before.answer;
  return database.inTurn(
    read.userId,
    () => call.remainingMs(),
    async (session) => {
      const [, [locked]] = await Promise.all([
        session.query(lockState, [read.userId]),
        session.query<Row>(readState, values),
      ]);
      const { answer, writes } = decide(read, call, locked);
      if (writes.length > 0) await session.commit(...writes);
      return answer;
    },
  );
}

/** Returns the timestamp of an upload's answer from the state of its session alone. */
export async function sessionTimestamp(
  database: Database,
  userId: string,
  list: List,
  sessionId: string | undefined,
): Promise<number> {
  if (sessionId === undefined) return uploadTimestamp(undefined);
  const [session] = await database.read<{ known: number }>(readSession, [
    userId,
    lists[list],
    sessionId,
  ]);
  return uploadTimestamp(session?.known);
}

/**
 * Returns the timestamp of the answer to an upload of subscriptions, at the end of its write, and
 * adds the new state to the write.
 *
 * @param before stamp of the user's clock before the write, which must be the only one since.
 * @param again true if the client's next download includes its own upload anyway.
 */
export async function answerWrite(
  transaction: Pick<Transaction, 'query' | 'last'>,
  {
    userId,
    credentialId,
    sessionId,
  }: { userId: string; credentialId: string; sessionId?: string | undefined },
  before: string,
  again: boolean,
): Promise<number> {
  if (sessionId === undefined) return uploadTimestamp(undefined);
  const holder = { userId, list: 'subscriptions', credentialId, sessionId } as const;
  const [row] = await transaction.query<Row>(readState, valuesOf(holder));
  const found = toState(unlessRefused(row));
  const { timestamp, after } = answerUpload(found, Date.parse(before), again);
  for (const [query, values] of writesOf(holder, found, after)) transaction.last(query, values);
  return timestamp;
}

/** The owner of the state of one list. */
interface Holder {
  readonly userId: string;
  readonly list: List;
  readonly credentialId?: string | undefined;
  readonly sessionId?: string | undefined;
}

const valuesOf = ({ userId, list, credentialId, sessionId }: Holder) => [
  userId,
  lists[list],
  credentialId ?? null,
  sessionId ?? null,
];

function toState({ stamp, told, now, asked, reader_told, safe, arrived, known }: Row): SyncState {
  return {
    clock: { stamp, told, now },
    reader: asked === null ? undefined : { asked, told: reader_told, safe, arrived },
    known: known ?? undefined,
  };
}

/** Returns the answer to a read, and the writes to commit before sending it. */
function decide(
  read: ListRead,
  call: Call,
  row: Row | undefined,
): { answer: ListAnswer; writes: Bound[] } {
  const { userId, list, reader, remembers } = read;
  const { unused } = unlessRefused(row);
  const found = toState(row as Row);
  if (!reader)
    return {
      answer: { ...answerOnce(found.clock, 0), timestamp: Math.max(1, found.clock.told) },
      writes: [],
    };
  const holder = { userId, list, credentialId: reader.credentialId, sessionId: reader.sessionId };
  if (!remembers) {
    const clock = sealSecond(found.clock);
    return {
      answer: answerOnce(clock, reader.since),
      writes: writesOf(holder, found, { ...found, clock }),
    };
  }
  const { answer, after } = answerReader(found, {
    since: reader.since,
    arrived: call.arrivedMs,
    age: call.ageMs(),
  });
  return { answer, writes: writesOf(holder, found, after, unused) };
}

/** Returns the statements that store a new state. @param all true to also update `used` of both. */
function writesOf(holder: Holder, found: SyncState, after: SyncState, all = false): Bound[] {
  const [userId, list, credentialId, sessionId] = valuesOf(holder);
  const writes: Bound[] = [];
  if (after.clock !== found.clock) writes.push([saveClock, [userId, after.clock.told]]);
  if (after.reader && (all || after.reader !== found.reader)) {
    const { asked, told, safe, arrived } = after.reader;
    writes.push([saveReader, [userId, list, credentialId, asked, told, safe, arrived]]);
    if (!found.reader) writes.push([makeRoomForReader, [userId, mostRows]]);
  }
  if (sessionId !== null && after.known !== undefined && (all || after.known !== found.known)) {
    writes.push([saveSession, [userId, list, sessionId, after.known]]);
    if (found.known === undefined) writes.push([makeRoomForSession, [userId, mostRows]]);
  }
  return writes;
}
