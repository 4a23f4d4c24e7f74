import type { Database, Transaction } from './database.js';
import { download, look, type Positions, settle, type Told, uploaded, uploadTimestamp } from './positions.rule.js';
import { unlessRefused } from './refused.users.js';
import { type Bound, statement } from './statement.js';

/** The lists whose readers are told time stamps, and how Postgres calls them. */
const lists = { subscriptions: 1, episodes: 2 } as const;
export type List = keyof typeof lists;

/** Who reads, as `readerSchema` of the contracts says it. */
export interface ListReader {
  readonly credentialId: string;
  readonly sessionId?: string | undefined;
  readonly since: number;
}

/** A read of a list by a client of the gpodder API. */
export interface ListRead {
  readonly userId: string;
  readonly list: List;
  /** Absent for one who is told no time stamp: the answer has all there is. */
  readonly reader?: ListReader | undefined;
  /** Whether the answer is all of the list that is later than `since`, so that the client has it then. */
  readonly remembers: boolean;
}

/** What of a call counts here. */
interface Call {
  readonly arrivedMs: number;
  ageMs(): number;
  remainingMs(): number;
}

/** How many readers and how many sessions of a user are known at most, of both lists together. */
const mostPositions = 400;

const inMs = (time: string) => `floor(extract(epoch FROM ${time}) * 1000)::bigint`;
const isUnused = (alias: string) => `coalesce(${alias}.used < now() - interval '1 day', false)`;

/** $1 user, $2 list, $3 app password, $4 session; one row for whoever it is. */
export const readPositions = statement(
  'sync.read_positions',
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
  /** Whether it was last noted more than a day ago that the reader or the session is in use. */
  readonly unused: boolean;
  readonly known: number | null;
}

/** $1 user: until the end of the transaction. */
const lockPositions = statement('sync.lock_positions', 'SELECT sync.lock_clock($1)');
/** $1 user, $2 the second that is told. Under the lock. */
const settleClock = statement(
  'sync.settle_clock',
  `UPDATE sync.user_clock c SET told = $2::bigint, stamp = to_timestamp(($2::bigint + 1)::double precision) WHERE c.user_id = $1`,
);
/** $1 user, $2 list, $3 app password, $4 asked, $5 told, $6 safe, $7 arrived. */
export const saveReader = statement(
  'sync.save_reader',
  `INSERT INTO sync.readers (user_id, list, credential_id, asked, told, safe, arrived)
   VALUES ($1, $2, $3, $4, $5, $6, $7)
   ON CONFLICT (user_id, credential_id, list) DO UPDATE SET asked = excluded.asked, told = excluded.told,
     safe = excluded.safe, arrived = excluded.arrived, used = excluded.used`,
);
/** $1 user, $2 list, $3 session, $4 the stamp up to which it has everything. */
export const saveReaderSession = statement(
  'sync.save_reader_session',
  `INSERT INTO sync.reader_sessions (user_id, list, session_id, known) VALUES ($1, $2, $3, $4)
   ON CONFLICT (user_id, session_id, list) DO UPDATE SET known = excluded.known, used = excluded.used`,
);
/** $1 user, $2 how many stay; the ones that were used last, and of those the one that was just added. */
const room = (table: string, key: string) => `
   DELETE FROM ${table} t WHERE t.user_id = $1 AND t.ctid = ANY (ARRAY(
     SELECT o.ctid FROM ${table} o WHERE o.user_id = $1 ORDER BY o.used DESC, o.${key}, o.list OFFSET $2))`;
const makeRoomForReader = statement('sync.make_room_for_reader', room('sync.readers', 'credential_id'));
const makeRoomForSession = statement('sync.make_room_for_session', room('sync.reader_sessions', 'session_id'));
/** $1 user, $2 list, $3 session. */
export const readKnown = statement(
  'sync.read_known',
  'SELECT s.known FROM sync.reader_sessions s WHERE s.user_id = $1 AND s.session_id = $3 AND s.list = $2',
);

/**
 * Says what a client is told with a list and from where on the list answers it; and remembers it, where it was not known:
 * before the list is read, which thereby has all that is promised. Where nothing was written since the last time it is one
 * statement, and no write.
 *
 * @throws Failure `unauthorized` for a refused user.
 */
export async function tell(database: Database, read: ListRead, call: Call): Promise<Told> {
  const values = valuesOf({ ...read, ...read.reader });
  const [seen] = await database.read<Row>(readPositions, values);
  const before = decide(read, call, seen);
  if (before.writes.length === 0) return before.told;
  return database.inTurn(
    read.userId,
    () => call.remainingMs(),
    async (session) => {
      const [, [locked]] = await Promise.all([
        session.query(lockPositions, [read.userId]),
        session.query<Row>(readPositions, values),
      ]);
      const { told, writes } = decide(read, call, locked);
      if (writes.length > 0) await session.commit(...writes);
      return told;
    },
  );
}

/** The second that an upload's answer says, where it wrote nothing of this list that the client does not know. */
export async function toldInSession(
  database: Database,
  userId: string,
  list: List,
  sessionId: string | undefined,
): Promise<number> {
  if (sessionId === undefined) return uploadTimestamp(undefined);
  const [session] = await database.read<{ known: number }>(readKnown, [userId, lists[list], sessionId]);
  return uploadTimestamp(session?.known);
}

/**
 * Says what the answer to an upload of subscriptions tells, at the end of the write that it made, and leaves with the
 * transaction what there is to remember.
 *
 * @param before the stamp of the user's clock before the write, of which it has to be the only one.
 * @param again whether the client has to be told of its own write, too.
 */
export async function tellUploader(
  transaction: Pick<Transaction, 'query' | 'last'>,
  { userId, credentialId, sessionId }: { userId: string; credentialId: string; sessionId?: string | undefined },
  before: string,
  again: boolean,
): Promise<number> {
  if (sessionId === undefined) return uploadTimestamp(undefined);
  const holder = { userId, list: 'subscriptions', credentialId, sessionId } as const;
  const [row] = await transaction.query<Row>(readPositions, valuesOf(holder));
  const found = toPositions(unlessRefused(row));
  const { timestamp, after } = uploaded(found, Date.parse(before), again);
  for (const [query, values] of changes(holder, found, after)) transaction.last(query, values);
  return timestamp;
}

/** Whose positions with which list. */
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

function toPositions({ stamp, told, now, asked, reader_told, safe, arrived, known }: Row): Positions {
  return {
    clock: { stamp, told, now },
    reader: asked === null ? undefined : { asked, told: reader_told, safe, arrived },
    known: known ?? undefined,
  };
}

/** The answer to a read, and what has to be written for it to be true. */
function decide(read: ListRead, call: Call, row: Row | undefined): { told: Told; writes: Bound[] } {
  const { userId, list, reader, remembers } = read;
  const { unused } = unlessRefused(row);
  const found = toPositions(row as Row);
  if (!reader) return { told: { ...look(found.clock, 0), timestamp: Math.max(1, found.clock.told) }, writes: [] };
  const holder = { userId, list, credentialId: reader.credentialId, sessionId: reader.sessionId };
  if (!remembers) {
    const clock = settle(found.clock);
    return { told: look(clock, reader.since), writes: changes(holder, found, { ...found, clock }) };
  }
  const { told, after } = download(found, { since: reader.since, arrived: call.arrivedMs, age: call.ageMs() });
  return { told, writes: changes(holder, found, after, unused) };
}

/** What makes of positions others. @param all whether it is to be noted that they are in use, too. */
function changes(holder: Holder, found: Positions, after: Positions, all = false): Bound[] {
  const [userId, list, credentialId, sessionId] = valuesOf(holder);
  const writes: Bound[] = [];
  if (after.clock !== found.clock) writes.push([settleClock, [userId, after.clock.told]]);
  if (after.reader && (all || after.reader !== found.reader)) {
    const { asked, told, safe, arrived } = after.reader;
    writes.push([saveReader, [userId, list, credentialId, asked, told, safe, arrived]]);
    if (!found.reader) writes.push([makeRoomForReader, [userId, mostPositions]]);
  }
  if (sessionId !== null && after.known !== undefined && (all || after.known !== found.known)) {
    writes.push([saveReaderSession, [userId, list, sessionId, after.known]]);
    if (found.known === undefined) writes.push([makeRoomForSession, [userId, mostPositions]]);
  }
  return writes;
}
