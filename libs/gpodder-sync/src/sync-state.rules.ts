/**
 * Rules of the gpodder API's timestamps (docs/design/adr/0024, README.md of this library): the
 * timestamp in a list's answer, and the second after which the list starts. They are pure
 * functions: sync-state.repository.ts locks the user's clock and stores the state.
 *
 * Clients receive and send whole seconds since 1970. Stamps are milliseconds since 1970.
 *
 * To seal a second means to move the clock to the end of the next second. All later rows then have
 * stamps after that.
 */

/** A user's clock, and the last second that was sealed for any client. */
export interface Clock {
  /** The stamp of the latest write; 0 for a user without writes. */
  readonly stamp: number;
  /** T: the sealed second; 0 for none. No row has a stamp after T s and up to T + 1 s. */
  readonly answered: number;
  /** Current time of the database in milliseconds since 1970. */
  readonly now: number;
}

/** The last read of a list with one app password (K in README.md). */
export interface LastRead {
  /** The `since` of the read, in seconds. */
  readonly since: number;
  /** The latest timestamp that was returned for this `since`. */
  readonly answered: number;
  /**
   * The second up to which the client has all rows: the timestamp that was returned before the
   * client first sent this `since`. 0 for none.
   */
  readonly safe: number;
  /** Time at which the transport received the read, by Redis' clock, in milliseconds since 1970. */
  readonly receivedAt: number;
}

/** The stored state that answers a client's request about one list. README.md explains T, K, M. */
export interface SyncState {
  /** T: the user's clock. */
  readonly clock: Clock;
  /** K: the last read with the app password of the request. */
  readonly reader?: LastRead | undefined;
  /** M: the stamp up to which the session of the request has all rows. */
  readonly sessionStamp?: number | undefined;
}

/** A read of a list. */
export interface Read {
  /** `since` from the client in whole seconds; 0 if absent. */
  readonly since: number;
  /**
   * Time at which the transport received the read, in milliseconds since 1970. A redelivery has the
   * same time.
   */
  readonly receivedAt: number;
  /** Milliseconds since {@link receivedAt}. */
  readonly ageMs: number;
}

/** The answer to a read. */
export interface ListAnswer {
  /** The second that the client sends as `since` of its next read. Never 0. */
  readonly timestamp: number;
  /** The second after which the rows of the answer changed; see {@link initial}. */
  readonly since: number;
  /**
   * True if the server does not know which rows the client has. The answer then contains all rows
   * that exist, and the removals after {@link since}.
   */
  readonly initial: boolean;
  /** True if no row changed after {@link since}, so that the list need not be read. */
  readonly unchanged: boolean;
}

/**
 * Maximum time in milliseconds by which a clock can be ahead of the database's time to be sealed.
 * Each seal moves it up to two seconds ahead.
 */
const maxLeadMs = 2_000;
/** Time after which the transport no longer delivers a message, in milliseconds. */
const deliveryLimitMs = 60_000;
/** Age in milliseconds above which a message can be a redelivery, or its client gone. */
const redeliveryAgeMs = 1_000;

/**
 * Returns the clock after sealing a second: the end of the next second, because the app Kasts adds
 * one to the timestamp.
 */
const stampAfter = (second: number): number => (second + 1) * 1_000;

/** Returns true if a second was sealed and nothing was written since. */
const isSealed = ({ answered, stamp }: Clock): boolean =>
  answered > 0 && stamp <= stampAfter(answered);

/**
 * Returns the clock after sealing the whole second at or after the latest stamp. Returns the same
 * object if nothing was written since the last seal, or the clock is too far ahead of the time of
 * the database.
 */
export function sealSecond(clock: Clock): Clock {
  const { stamp, answered, now } = clock;
  if (isSealed(clock) || (answered > 0 && stamp > now + maxLeadMs)) return clock;
  return sealAt(clock, Math.ceil((stamp > 0 ? stamp : now) / 1_000));
}

/** Returns the clock after sealing a second. */
const sealAt = (clock: Clock, second: number): Clock => ({
  ...clock,
  answered: second,
  stamp: stampAfter(second),
});

/** Returns true if a client can send this `since` because it received the second `answered`. */
const isEcho = (since: number, answered: number): boolean =>
  since === answered || since === answered + 1;

/** Answers a read by T alone, without K and M of its client. */
export function answerStateless(clock: Clock, since: number): ListAnswer {
  const from = Math.min(since, clock.answered);
  const unchanged = isSealed(clock) && from === clock.answered;
  return { timestamp: clock.answered, since: from, initial: false, unchanged };
}

/**
 * Answers a read of a list, and returns the state to store.
 *
 * - A `since` other than that of the last read shows that the client received the last answer. With
 *   the same `since`, that answer can have been lost, so its rows are returned again.
 * - A late read ({@link isLate}) does not change the state, except that it creates an absent K.
 *
 * @returns `after`, the new state. Unchanged parts are the same objects.
 */
export function answerRead(state: SyncState, read: Read): { answer: ListAnswer; after: SyncState } {
  const { reader, sessionStamp = 0 } = state;
  const { since, receivedAt } = read;
  if (isLate(read, state.clock, reader)) {
    if (reader) return { answer: answerOf(state.clock, reader, since), after: state };
    // It neither seals a second nor sets M, because the client possibly does not get this answer.
    const first = { since, answered: Math.max(1, state.clock.answered), safe: 0, receivedAt };
    return { answer: answerOf(state.clock, first, since), after: { ...state, reader: first } };
  }
  let clock = sealSecond(state.clock);
  let next = lastReadAfter(reader, read, clock.answered);
  // If the timestamp of this answer equaled `since`, the client would repeat that `since`, as after
  // a lost answer, and get the same rows in each sync. So another second is sealed. A client whose
  // `since` is the last timestamp has confirmed it and needs no new second.
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
 * Returns true if a read can be a redelivery, or its client can have stopped waiting:
 * - it was received at or before the last read that changed K, within the delivery limit; or
 * - it is older than a second and the clock advanced since: an answer that the client already has
 *   does not include that write.
 */
function isLate({ receivedAt, ageMs }: Read, clock: Clock, reader?: LastRead): boolean {
  const newest = reader?.receivedAt ?? -Infinity;
  if (receivedAt <= newest && newest - receivedAt < deliveryLimitMs) return true;
  return ageMs > redeliveryAgeMs && clock.stamp > clock.now - ageMs;
}

function answerOf(clock: Clock, { answered, safe }: LastRead, since: number): ListAnswer {
  const initial = since > 0 && safe === 0;
  // Limits a `since` that is too late because it is from the client's own clock or another server.
  const from = Math.min(since, initial ? clock.answered : safe);
  const unchanged = !initial && isSealed(clock) && from >= clock.answered;
  return { timestamp: answered, since: from, initial, unchanged };
}

/** Returns K after a read was answered with the timestamp `answered`. */
function lastReadAfter(
  reader: LastRead | undefined,
  { since, receivedAt }: Read,
  answered: number,
): LastRead {
  if (reader?.since !== since) return { since, answered, safe: reader?.answered ?? 0, receivedAt };
  return reader.answered === answered ? reader : { ...reader, answered, receivedAt };
}

/**
 * Returns the timestamp in the answer to an upload that seals no second: the last second up to
 * which the session has all rows. Too low a timestamp is safe, because it only repeats rows. It is
 * at least 1, because some clients take 0 for "never".
 *
 * @param sessionStamp M; undefined if it is not stored.
 */
export function uploadTimestamp(sessionStamp: number | undefined): number {
  return sessionStamp === undefined ? 1 : Math.max(1, Math.floor(sessionStamp / 1_000) - 1);
}

/**
 * Answers an upload of subscriptions that changed rows. If no other client wrote after M, the
 * session has all rows now, and its next download omits its own upload.
 *
 * @param state T, K and M after the write.
 * @param stampBefore the stamp of the clock before the write, in milliseconds.
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
