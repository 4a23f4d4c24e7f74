/**
 * Rules of the gpodder API's timestamps (docs/design/adr/0024, README.md of this library): the
 * timestamp of a list's answer, and the second after which the list starts. Pure functions:
 * sync-state.store.ts holds the lock of the user's clock and stores the state.
 *
 * Clients receive and send whole seconds. Stamps are milliseconds since 1970.
 */

/** A user's clock with the last second that clients received. */
export interface Clock {
  /** The stamp of the latest write; 0 for a user without writes. */
  readonly stamp: number;
  /** T: the last second that any client got; 0 for none. No row has a stamp in (T, T + 1]. */
  readonly told: number;
  /** Current time of the database. */
  readonly now: number;
}

/** K: the last read of a list with an app password. */
export interface Reader {
  /** The `since` of that read. */
  readonly asked: number;
  /** The last timestamp that the answers to this `since` had. */
  readonly told: number;
  /** The second up to which the client has all rows, as it has since sent another `since`. */
  readonly safe: number;
  /** Time at which the read was sent, in milliseconds of the transport's clock. */
  readonly arrived: number;
}

/** The stored state for a message of one client about one list. */
export interface SyncState {
  readonly clock: Clock;
  /** K of the app password of the message. */
  readonly reader?: Reader | undefined;
  /** M: the stamp up to which the session of the message has everything. */
  readonly known?: number | undefined;
}

/** A read of a list. */
export interface Read {
  /** Whole seconds from the client; 0 if absent. */
  readonly since: number;
  /** Time at which it was sent; the same for each delivery. */
  readonly arrived: number;
  /** Time since {@link arrived} in milliseconds. */
  readonly age: number;
}

/** The answer to a read. */
export interface ListAnswer {
  /** The `since` of the client's next read. Never 0. */
  readonly timestamp: number;
  /** The answer has the rows with later stamps; all rows if it is {@link initial}. */
  readonly since: number;
  /**
   * True if the server can't tell which part of the list the client has. The answer then adds
   * everything, and removes the rows that were removed after {@link since}.
   */
  readonly initial: boolean;
  /** True if no row is later than {@link since}, so that the list need not be read. */
  readonly unchanged: boolean;
}

/** Maximum lead of a sealable clock over the database's time, in milliseconds. */
const aheadMs = 2_000;
/** Time after which a message is no longer delivered, in milliseconds. */
const deadMs = 60_000;
/** Age in milliseconds from which a message can be a second delivery, or its caller gone. */
const doubtfulMs = 1_000;

/** Returns the clock after a client got a second: the end of the next second, as Kasts adds 1. */
const stampAfter = (second: number): number => (second + 1) * 1_000;

/** Returns true if nothing was written since the last second was sealed. */
const isSealed = ({ told, stamp }: Clock): boolean => told > 0 && stamp <= stampAfter(told);

/**
 * Seals the whole second at or after the latest stamp, unless nothing was written since the last
 * one, or the clock is too far ahead.
 */
export function sealSecond(clock: Clock): Clock {
  const { stamp, told, now } = clock;
  if (isSealed(clock) || (told > 0 && stamp > now + aheadMs)) return clock;
  return sealAt(clock, Math.ceil((stamp > 0 ? stamp : now) / 1_000));
}

/** Seals a second: all later writes get stamps after {@link stampAfter} it. */
const sealAt = (clock: Clock, second: number): Clock => ({
  ...clock,
  told: second,
  stamp: stampAfter(second),
});

/** Returns true if a client that got a second sends this `since` next. */
const isEcho = (since: number, told: number): boolean => since === told || since === told + 1;

/** Answers a read that is not stored, from a sealed clock. */
export function answerOnce(clock: Clock, since: number): ListAnswer {
  const from = Math.min(since, clock.told);
  const unchanged = isSealed(clock) && from === clock.told;
  return { timestamp: clock.told, since: from, initial: false, unchanged };
}

/**
 * Answers a read of a list, which then has all rows later than {@link ListAnswer.since}.
 *
 * A client that sends another `since` than before has received the last answer. With the same one,
 * it may have missed it, and has what it had before. A late read changes nothing.
 *
 * @returns the state afterwards, with the same objects if they are unchanged.
 */
export function answerReader(
  found: SyncState,
  read: Read,
): { answer: ListAnswer; after: SyncState } {
  const { reader, known = 0 } = found;
  const { since } = read;
  if (reader && isLate(read, found.clock, reader))
    return { answer: answerOf(found.clock, reader, since), after: found };
  let clock = sealSecond(found.clock);
  let next = readerAfter(reader, read, clock.told);
  // Otherwise, the client would send the same `since` again, as if it had missed the answer. It
  // would get the same rows in each sync. A client that echoes the last timestamp does not.
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
 * Returns true if a read can be a second delivery, or its client can have stopped waiting: it was
 * sent before the last read that changed the state, or it is old and a write happened since. An
 * answer that the client already has does not include that write.
 */
function isLate({ arrived, age }: Read, clock: Clock, reader: Reader): boolean {
  if (arrived <= reader.arrived && reader.arrived - arrived < deadMs) return true;
  return age > doubtfulMs && clock.stamp > clock.now - age;
}

function answerOf(clock: Clock, { told, safe }: Reader, since: number): ListAnswer {
  const initial = since > 0 && safe === 0;
  // Limits the own clock of a client, or of another server.
  const from = Math.min(since, initial ? clock.told : safe);
  const unchanged = !initial && isSealed(clock) && from >= clock.told;
  return { timestamp: told, since: from, initial, unchanged };
}

/** Returns K after the answer to a read with a second. */
function readerAfter(reader: Reader | undefined, { since, arrived }: Read, told: number): Reader {
  if (reader?.asked !== since) return { asked: since, told, safe: reader?.told ?? 0, arrived };
  return reader.told === told ? reader : { ...reader, told, arrived };
}

/**
 * Returns the timestamp for a session's upload that changes no state: the last second up to which
 * the session has everything. A lower one is safe, as it only repeats rows. At least 1, as some
 * clients take 0 for "never".
 *
 * @param known M; absent if it is not stored.
 */
export function uploadTimestamp(known: number | undefined): number {
  return known === undefined ? 1 : Math.max(1, Math.floor(known / 1_000) - 1);
}

/**
 * Answers an upload of subscriptions that wrote. If no other client wrote since the session had
 * everything, it has everything now. Its next download then leaves out its own upload.
 *
 * @param found the clock after the write.
 * @param before the stamp of the clock before the write.
 * @param again true if the next download includes the own upload anyway.
 */
export function answerUpload(
  found: SyncState,
  before: number,
  again = false,
): { timestamp: number; after: SyncState } {
  const { clock, reader, known } = found;
  if (again || known === undefined || before > known)
    return { timestamp: uploadTimestamp(known), after: found };
  const sealed = sealSecond(clock);
  if (!isSealed(sealed))
    return { timestamp: uploadTimestamp(clock.stamp), after: { ...found, known: clock.stamp } };
  const { told } = sealed;
  const later = reader && { ...reader, told, safe: told };
  return { timestamp: told, after: { clock: sealed, reader: later, known: sealed.stamp } };
}
