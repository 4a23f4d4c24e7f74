/**
 * Rules of the gpodder API's timestamps (docs/design/adr/0024, README.md of this library): the
 * timestamp of a list's answer, and the second after which the list starts. Pure functions:
 * sync-state.repository.ts holds the lock of the user's clock and stores the state.
 *
 * Clients receive and send whole seconds. Stamps are milliseconds since 1970.
 */

/** A user's clock, and the latest timestamp that the server has returned to any client. */
export interface Clock {
  /** The stamp of the latest write; 0 for a user without writes. */
  readonly stamp: number;
  /** T: that timestamp in seconds; 0 for none. No row has a stamp after T s and up to T + 1 s. */
  readonly answered: number;
  /** Current time of the database. */
  readonly now: number;
}

/** The last read of a list with one app password (K in README.md). */
export interface LastRead {
  /** The `since` of that read. */
  readonly since: number;
  /** The latest timestamp in an answer to this `since`. */
  readonly answered: number;
  /** The second up to which the client has all rows, because it then sent another `since`. */
  readonly safe: number;
  /** Time at which the transport received the read: Redis' clock, in milliseconds. */
  readonly receivedAt: number;
}

/** The stored state for a message of one client about one list. */
export interface SyncState {
  readonly clock: Clock;
  /** K of the app password of the message. */
  readonly reader?: LastRead | undefined;
  /** M: the stamp up to which the session of the message has all rows. */
  readonly sessionStamp?: number | undefined;
}

/** A read of a list. */
export interface Read {
  /** Whole seconds from the client; 0 if absent. */
  readonly since: number;
  /** Time at which the transport received it, in milliseconds; the same for each delivery. */
  readonly receivedAt: number;
  /** Time since {@link receivedAt} in milliseconds. */
  readonly ageMs: number;
}

/** The answer to a read. */
export interface ListAnswer {
  /** The `since` of the client's next read. Never 0. */
  readonly timestamp: number;
  /** The answer has the rows with later stamps; all rows if it is {@link initial}. */
  readonly since: number;
  /**
   * True if the server cannot determine which part of the list the client has. The answer then adds
   * everything, and removes the rows that were removed after {@link since}.
   */
  readonly initial: boolean;
  /** True if no row is later than {@link since}, so that the list need not be read. */
  readonly unchanged: boolean;
}

/** Maximum lead of a sealable clock over the database's time, in milliseconds. */
const maxLeadMs = 2_000;
/** Time after which a message is no longer delivered, in milliseconds. */
const deliveryLimitMs = 60_000;
/** Age in milliseconds from which a message can be a redelivery, or its caller gone. */
const redeliveryAgeMs = 1_000;

/** Returns the clock after an answer with a second: the end of the next one, as Kasts adds 1. */
const stampAfter = (second: number): number => (second + 1) * 1_000;

/** Returns true if nothing was written since the last second was sealed. */
const isSealed = ({ answered, stamp }: Clock): boolean =>
  answered > 0 && stamp <= stampAfter(answered);

/**
 * Seals the whole second at or after the latest stamp, unless nothing was written since the last
 * one, or the clock is too far ahead.
 */
export function sealSecond(clock: Clock): Clock {
  const { stamp, answered, now } = clock;
  if (isSealed(clock) || (answered > 0 && stamp > now + maxLeadMs)) return clock;
  return sealAt(clock, Math.ceil((stamp > 0 ? stamp : now) / 1_000));
}

/** Seals a second: all later writes get stamps after {@link stampAfter} it. */
const sealAt = (clock: Clock, second: number): Clock => ({
  ...clock,
  answered: second,
  stamp: stampAfter(second),
});

/** Returns true if a client that received a second sends this `since` next. */
const isEcho = (since: number, answered: number): boolean =>
  since === answered || since === answered + 1;

/** Answers a read without reading or changing the state of its client, from a sealed clock. */
export function answerStateless(clock: Clock, since: number): ListAnswer {
  const from = Math.min(since, clock.answered);
  const unchanged = isSealed(clock) && from === clock.answered;
  return { timestamp: clock.answered, since: from, initial: false, unchanged };
}

/**
 * Answers a read of a list, which then has all rows later than {@link ListAnswer.since}.
 *
 * Another `since` than before confirms that the client received the last answer. The same `since`
 * confirms only the answer before it. A late read changes nothing but an absent K.
 *
 * @returns the state afterwards, with the same objects if they are unchanged.
 */
export function answerRead(state: SyncState, read: Read): { answer: ListAnswer; after: SyncState } {
  const { reader, sessionStamp = 0 } = state;
  const { since, receivedAt } = read;
  if (isLate(read, state.clock, reader)) {
    if (reader) return { answer: answerOf(state.clock, reader, since), after: state };
    // Without a later timestamp or M: nobody may receive this answer.
    const first = { since, answered: Math.max(1, state.clock.answered), safe: 0, receivedAt };
    return { answer: answerOf(state.clock, first, since), after: { ...state, reader: first } };
  }
  let clock = sealSecond(state.clock);
  let next = lastReadAfter(reader, read, clock.answered);
  // Without a new second, the client would repeat this `since` as if the answer was lost, and get
  // the same rows in each sync. A client that echoes the last timestamp does not.
  const continues =
    reader !== undefined && since !== reader.since && isEcho(since, reader.answered);
  const isAhead = clock.stamp > clock.now + maxLeadMs;
  if (!continues && next.safe < next.answered && isEcho(since, next.answered) && !isAhead) {
    clock = sealAt(clock, since + 1);
    next = lastReadAfter(reader, read, clock.answered);
  }
  return {
    answer: answerOf(clock, next, since),
    after: {
      clock,
      reader: next,
      sessionStamp: Math.max(sessionStamp, stampAfter(clock.answered)),
    },
  };
}

/**
 * Returns true if a read can be a redelivery, or its client can have stopped waiting: it was
 * received before the last read that changed the state, or it is old and a write happened since. An
 * answer that the client already has does not include that write.
 */
function isLate({ receivedAt, ageMs }: Read, clock: Clock, reader?: LastRead): boolean {
  const newest = reader?.receivedAt ?? -Infinity;
  if (receivedAt <= newest && newest - receivedAt < deliveryLimitMs) return true;
  return ageMs > redeliveryAgeMs && clock.stamp > clock.now - ageMs;
}

function answerOf(clock: Clock, { answered, safe }: LastRead, since: number): ListAnswer {
  const initial = since > 0 && safe === 0;
  // Bounds a `since` from the client's own clock or from another server.
  const from = Math.min(since, initial ? clock.answered : safe);
  const unchanged = !initial && isSealed(clock) && from >= clock.answered;
  return { timestamp: answered, since: from, initial, unchanged };
}

/** Returns K after the answer to a read with a second. */
function lastReadAfter(
  reader: LastRead | undefined,
  { since, receivedAt }: Read,
  answered: number,
): LastRead {
  if (reader?.since !== since) return { since, answered, safe: reader?.answered ?? 0, receivedAt };
  return reader.answered === answered ? reader : { ...reader, answered, receivedAt };
}

/**
 * Returns the timestamp for a session's upload that changes no state: the last second up to which
 * the session has all rows. A lower one is safe, as it only repeats rows. At least 1, as some
 * clients take 0 for "never".
 *
 * @param sessionStamp M; absent if it is not stored.
 */
export function uploadTimestamp(sessionStamp: number | undefined): number {
  return sessionStamp === undefined ? 1 : Math.max(1, Math.floor(sessionStamp / 1_000) - 1);
}

/**
 * Answers an upload of subscriptions that wrote. If no other client wrote since the session had all
 * rows, it has all rows now, and its next download omits its own upload.
 *
 * @param state the state after the write.
 * @param stampBefore the stamp of the clock before the write.
 * @param repeatsUpload true if the next download must include the client's own upload.
 */
export function answerUpload(
  state: SyncState,
  stampBefore: number,
  repeatsUpload = false,
): { timestamp: number; after: SyncState } {
  const { clock, reader, sessionStamp } = state;
  if (repeatsUpload || sessionStamp === undefined || stampBefore > sessionStamp)
    return { timestamp: uploadTimestamp(sessionStamp), after: state };
  const sealed = sealSecond(clock);
  if (!isSealed(sealed)) {
    const after = { ...state, sessionStamp: clock.stamp };
    return { timestamp: uploadTimestamp(clock.stamp), after };
  }
  const { answered, stamp } = sealed;
  const readerAfterUpload = reader && { ...reader, answered, safe: answered };
  return {
    timestamp: answered,
    after: { clock: sealed, reader: readerAfterUpload, sessionStamp: stamp },
  };
}
