/**
 * The time stamps of the gpodder API (docs/adr/0024): what a client is told with a list, and from where on it is answered.
 * Pure: positions.ts reads and writes what is decided here, under the lock of the user's clock.
 *
 * What clients are told and send are whole seconds; stamps are milliseconds since 1970.
 */

/** A user's clock, as far as clients of the gpodder API were told of it. */
export interface Clock {
  /** The stamp of the latest write; 0 for a user who never wrote. */
  readonly stamp: number;
  /** The last second that any client was told; 0 where none was. No row is stamped later than it, up to a second after it. */
  readonly told: number;
  /** The time of the database. */
  readonly now: number;
}

/** What is known of those who read one list with one app password. */
export interface Reader {
  /** What `since` was last asked for. */
  readonly asked: number;
  /** The last second that was told for this `since`. */
  readonly told: number;
  /** The client has what is stamped up to this second: it came back with another `since` than the one it was told for. */
  readonly safe: number;
  /** When the read was sent that this comes from, in milliseconds of the transport's clock. */
  readonly arrived: number;
}

/** What is known when one client's message about one list is worked on. */
export interface Positions {
  readonly clock: Clock;
  /** Of the app password that it came with. */
  readonly reader?: Reader | undefined;
  /** The stamp up to which its session has everything. */
  readonly known?: number | undefined;
}

/** A read of a list. */
export interface Read {
  /** As the client sent it; 0 where it sent none. */
  readonly since: number;
  /** When it was sent, the same however often it is delivered. */
  readonly arrived: number;
  /** How long ago that is, in milliseconds. */
  readonly age: number;
}

/** The answer to a read. */
export interface Told {
  /** What the client is told, and sends as `since` next time. Never 0. */
  readonly timestamp: number;
  /** What is stamped later than this second is in the answer; where it is {@link initial}, everything is. */
  readonly since: number;
  /** Whether nothing says which part of the list the client has: all is added, and removed what was since {@link since}. */
  readonly initial: boolean;
  /** Whether nothing is stamped later than {@link since}, so that no list need be read. */
  readonly unchanged: boolean;
}

/** How far a clock may be ahead of the database's time, in milliseconds, and still be moved on. */
const aheadMs = 2_000;
/** No message is delivered any more this long after it was sent, in milliseconds. */
const deadMs = 60_000;
/** A message that was sent this long ago may be one that is delivered again, or that nobody waits for, in milliseconds. */
const doubtfulMs = 1_000;

/** The stamp up to which no row is stamped once a client was told a second: Kasts sends that plus one. */
const stampAfter = (second: number): number => (second + 1) * 1_000;

/** Whether nothing was written since a client was told of the clock. */
const isSettled = ({ told, stamp }: Clock): boolean => told > 0 && stamp <= stampAfter(told);

/** Moves a clock to where all that is stamped is in the past of a whole second, which is then `told`; where it has to. */
export function settle(clock: Clock): Clock {
  const { stamp, told, now } = clock;
  if (isSettled(clock) || (told > 0 && stamp > now + aheadMs)) return clock;
  return tell(clock, Math.ceil((stamp > 0 ? stamp : now) / 1_000));
}

/** A clock of which a client is told a second: whatever is written later is stamped later than {@link stampAfter} it. */
const tell = (clock: Clock, second: number): Clock => ({ ...clock, told: second, stamp: stampAfter(second) });

/** Whether a client that was told a second sends this next. */
const isEcho = (since: number, told: number): boolean => since === told || since === told + 1;

/** Answers a read that is not remembered, from a clock that is settled as far as it can be. */
export function look(clock: Clock, since: number): Told {
  const from = Math.min(since, clock.told);
  return { timestamp: clock.told, since: from, initial: false, unchanged: isSettled(clock) && from === clock.told };
}

/**
 * Answers a read of a list, whose answer has all that is stamped later than {@link Told.since} when the list is read
 * afterwards.
 *
 * A client that asks with another `since` has had an answer to the last one. With the same it may have missed it, and
 * what it has is as before. A late read moves nothing.
 *
 * @returns what is known afterwards, the very same objects where nothing has changed.
 */
export function download(found: Positions, read: Read): { told: Told; after: Positions } {
  const { reader, known = 0 } = found;
  const { since } = read;
  if (reader && isLate(read, found.clock, reader)) return { told: toldBy(found.clock, reader, since), after: found };
  let clock = settle(found.clock);
  let next = asked(reader, read, clock.told);
  // It would send the same `since` again, as if it had missed the answer, and be told all of it again, for ever. Who sends
  // what it was told last will not.
  const goesOn = reader !== undefined && since !== reader.asked && isEcho(since, reader.told);
  if (!goesOn && next.safe < next.told && isEcho(since, next.told) && clock.stamp <= clock.now + aheadMs) {
    clock = tell(clock, since + 1);
    next = asked(reader, read, clock.told);
  }
  return {
    told: toldBy(clock, next, since),
    after: { clock, reader: next, known: Math.max(known, stampAfter(clock.told)) },
  };
}

/**
 * Whether a read may be one that is delivered once more, or that its client no longer waits for: it was sent before the
 * last one that moved something; or it took long, and something was written meanwhile, of which an answer that the client
 * had before does not tell.
 */
function isLate({ arrived, age }: Read, clock: Clock, reader: Reader): boolean {
  if (arrived <= reader.arrived && reader.arrived - arrived < deadMs) return true;
  return age > doubtfulMs && clock.stamp > clock.now - age;
}

function toldBy(clock: Clock, { told, safe }: Reader, since: number): Told {
  const initial = since > 0 && safe === 0;
  // A client's own clock, or that of another server, is capped here.
  const from = Math.min(since, initial ? clock.told : safe);
  const unchanged = !initial && isSettled(clock) && from >= clock.told;
  return { timestamp: told, since: from, initial, unchanged };
}

/** A reader after a read was told a second. */
function asked(reader: Reader | undefined, { since, arrived }: Read, told: number): Reader {
  if (reader?.asked !== since) return { asked: since, told, safe: reader?.told ?? 0, arrived };
  return reader.told === told ? reader : { ...reader, told, arrived };
}

/**
 * What the answer to a session's upload says, where nothing is moved for it: the last second up to which the session is
 * known to have everything. Too low is safe, as rows come twice. At least 1, as some clients take 0 for "never".
 *
 * @param known the stamp up to which the session has everything; absent where that is not known.
 */
export function uploadTimestamp(known: number | undefined): number {
  return known === undefined ? 1 : Math.max(1, Math.floor(known / 1_000) - 1);
}

/**
 * The answer to an upload of subscriptions that wrote: where nobody else wrote since the session had everything, it has
 * everything now, and is not answered its own upload.
 *
 * @param found the clock as the write left it.
 * @param before its stamp before the write.
 * @param again whether it is to be answered its own upload nevertheless.
 */
export function uploaded(found: Positions, before: number, again = false): { timestamp: number; after: Positions } {
  const { clock, reader, known } = found;
  if (again || known === undefined || before > known) return { timestamp: uploadTimestamp(known), after: found };
  const settled = settle(clock);
  if (!isSettled(settled)) return { timestamp: uploadTimestamp(clock.stamp), after: { ...found, known: clock.stamp } };
  const { told } = settled;
  const later = reader && { ...reader, told, safe: told };
  return { timestamp: told, after: { clock: settled, reader: later, known: settled.stamp } };
}
