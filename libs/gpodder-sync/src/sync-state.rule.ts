/**
 * The timestamps of the gpodder API (docs/design/adr/0024, README.md of this library): which timestamp a
 * client gets with a list, and from which second on the list answers. Pure: sync-state.store.ts
 * reads and writes the state under the lock of the user's clock.
 *
 * Clients get and send whole seconds. Stamps are milliseconds since 1970.
 */

/** A user's clock, as far as clients of the gpodder API know it. */
export interface Clock {
  /** The stamp of the latest write; 0 for a user without writes. */
  readonly stamp: number;
  /** T: the last second that any client got; 0 for none. No row has a stamp in (T, T + 1]. */
  readonly told: number;
  /** The time of the database. */
  readonly now: number;
}

/** K: the last read of one list with one app password. */
export interface Reader {
  /** The `since` of that read. */
  readonly asked: number;
  /** The last timestamp that the answers to this `since` had. */
  readonly told: number;
  /** The client has all rows up to this second: it came back with another `since` than before. */
  readonly safe: number;
  /** When the read was sent, in milliseconds of the transport's clock. */
  readonly arrived: number;
}

/** What is stored when a message of one client about one list arrives. */
export interface SyncState {
  readonly clock: Clock;
  /** K of the app password of the message. */
  readonly reader?: Reader | undefined;
  /** M: the stamp up to which the session of the message has everything. */
  readonly known?: number | undefined;
}

/** A read of a list. */
export interface Read {
  /** The value that the client sent; 0 without one. */
  readonly since: number;
  /** When it was sent; the same for each delivery. */
  readonly arrived: number;
  /** The time since then, in milliseconds. */
  readonly age: number;
}

/** The answer to a read. */
export interface ListAnswer {
  /** The `since` of the client's next read. Never 0. */
  readonly timestamp: number;
  /** The answer has the rows with later stamps; all rows if it is {@link initial}. */
  readonly since: number;
  /**
   * Whether it is unknown which part of the list the client has. The answer then adds everything,
   * and removes what was removed after {@link since}.
   */
  readonly initial: boolean;
  /** Whether no row has a later stamp than {@link since}, so that the list need not be read. */
  readonly unchanged: boolean;
}

/** How far a clock may be ahead of the database's time and still be sealed, in milliseconds. */
const aheadMs = 2_000;
/** A message is never delivered this long after it was sent, in milliseconds. */
const deadMs = 60_000;
/** An older message may be a second delivery, or its caller may be gone, in milliseconds. */
const doubtfulMs = 1_000;

/** Returns the stamp up to which no row is stamped once a client got a second: Kasts adds 1. */
const stampAfter = (second: number): number => (second + 1) * 1_000;

/** Whether nothing was written since the last second was sealed. */
const isSealed = ({ told, stamp }: Clock): boolean => told > 0 && stamp <= stampAfter(told);

/** Moves a clock, where it has to, so that all stamps are in the past of a whole second. */
export function sealSecond(clock: Clock): Clock {
  const { stamp, told, now } = clock;
  if (isSealed(clock) || (told > 0 && stamp > now + aheadMs)) return clock;
  return sealAt(clock, Math.ceil((stamp > 0 ? stamp : now) / 1_000));
}

/** Seals a second: each later write gets a stamp later than {@link stampAfter} it. */
const sealAt = (clock: Clock, second: number): Clock => ({
  ...clock,
  told: second,
  stamp: stampAfter(second),
});

/** Whether a client that got a second sends this next. */
const isEcho = (since: number, told: number): boolean => since === told || since === told + 1;

/** Answers a read that is not stored, from a sealed clock. */
export function answerOnce(clock: Clock, since: number): ListAnswer {
  const from = Math.min(since, clock.told);
  const unchanged = isSealed(clock) && from === clock.told;
  return { timestamp: clock.told, since: from, initial: false, unchanged };
}

/**
 * Answers a read of a list. The list is read afterwards and has all rows that are stamped later
 * than {@link ListAnswer.since}.
 *
 * A client that sends another `since` than before has received the last answer. A client that sends
 * the same one may have missed it, and has what it had before. A late read moves nothing.
 *
 * @returns the state afterwards, with the same objects where nothing has changed.
 */
export function answerReader(found: SyncState, read: Read): { answer: ListAnswer; after: SyncState } {
  const { reader, known = 0 } = found;
  const { since } = read;
  if (reader && isLate(read, found.clock, reader))
    return { answer: answerOf(found.clock, reader, since), after: found };
  let clock = sealSecond(found.clock);
  let next = readerAfter(reader, read, clock.told);
  // The client would send the same `since` again, as if it had missed the answer, and get the same
  // rows in each sync. A client that sends the last timestamp that it got will not.
  const goesOn = reader !== undefined && since !== reader.asked && isEcho(since, reader.told);
  const isAhead = clock.stamp > clock.now + aheadMs;
  if (!goesOn && next.safe < next.told && isEcho(since, next.told) && !isAhead) {
    clock = sealAt(clock, since + 1);
    next = readerAfter(reader, read, clock.told);
  }
  return {
    answer: answerOf(clock, next, since),
    after: { clock, reader: next, known: Math.max(known, stampAfter(clock.told)) },
  };
}

/**
 * Whether a read may be a second delivery, or its client may have stopped waiting. It was sent
 * before the last read that moved something. Or it is old, and something was written since it was
 * sent, which the answer that the client may already have does not include.
 */
function isLate({ arrived, age }: Read, clock: Clock, reader: Reader): boolean {
  if (arrived <= reader.arrived && reader.arrived - arrived < deadMs) return true;
  return age > doubtfulMs && clock.stamp > clock.now - age;
}

function answerOf(clock: Clock, { told, safe }: Reader, since: number): ListAnswer {
  const initial = since > 0 && safe === 0;
  // This caps a client's own clock, and that of another server.
  const from = Math.min(since, initial ? clock.told : safe);
  const unchanged = !initial && isSealed(clock) && from >= clock.told;
  return { timestamp: told, since: from, initial, unchanged };
}

/** Returns K after a read was answered with a second. */
function readerAfter(reader: Reader | undefined, { since, arrived }: Read, told: number): Reader {
  if (reader?.asked !== since) return { asked: since, told, safe: reader?.told ?? 0, arrived };
  return reader.told === told ? reader : { ...reader, told, arrived };
}

/**
 * Returns the timestamp of the answer to a session's upload that moves nothing: the last second up
 * to which the session has everything. A lower one is safe, as rows come twice. At least 1, as some
 * clients take 0 for "never".
 *
 * @param known M; absent where it is not stored.
 */
export function uploadTimestamp(known: number | undefined): number {
  return known === undefined ? 1 : Math.max(1, Math.floor(known / 1_000) - 1);
}

/**
 * Answers an upload of subscriptions that wrote. If nobody else wrote since the session had
 * everything, it has everything now, and its next download leaves its own upload out.
 *
 * @param found the clock as the write left it.
 * @param before the stamp of the clock before the write.
 * @param again whether the next download has its own upload nevertheless.
 */
export function answerUpload(found: SyncState, before: number, again = false): { timestamp: number; after: SyncState } {
  const { clock, reader, known } = found;
  if (again || known === undefined || before > known) return { timestamp: uploadTimestamp(known), after: found };
  const sealed = sealSecond(clock);
  if (!isSealed(sealed)) return { timestamp: uploadTimestamp(clock.stamp), after: { ...found, known: clock.stamp } };
  const { told } = sealed;
  const later = reader && { ...reader, told, safe: told };
  return { timestamp: told, after: { clock: sealed, reader: later, known: sealed.stamp } };
}
