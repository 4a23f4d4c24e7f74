/**
 * Rules of the gpodder API's timestamps (docs/design/adr/0024, README.md of this library): the
 * timestamp in a list's answer, and the second after which the list starts. The functions
 * are pure; sync-state.repository.ts locks the user's clock and stores the state.
 *
 * Clients receive and send whole seconds since 1970. Stamps are milliseconds since 1970.
 *
 * To seal a second means to move the clock to the end of the next second, so that all later rows
 * have later stamps. An answer with that second as timestamp then contains all rows up to it.
 */

/** A user's clock, and the last second that was sealed for any client. */
export interface Clock {
  /** Stamp of the user's latest write; 0 without a write. */
  readonly stamp: number;
  /** T: the last sealed second; 0 for none. No row has a stamp after T s and up to T + 1 s. */
  readonly answeredSecond: number;
  /** Current time of the database in milliseconds since 1970. */
  readonly now: number;
}

/** The last read of a list with one app password (K in README.md). */
export interface LastRead {
  /** The `since` of the read, in seconds. */
  readonly since: number;
  /** Latest timestamp that an answer to this `since` had. */
  readonly answeredSecond: number;
  /**
   * Second up to which the client has all rows: the timestamp of the answer before the first read
   * with this `since`; 0 for none.
   */
  readonly completeSecond: number;
  /** Time at which Redis received the read, in milliseconds since 1970. */
  readonly receivedAt: number;
}

/** The sync state of a client and one list. README.md explains T, K and M. */
export interface SyncState {
  /** T: the user's clock. */
  readonly clock: Clock;
  /** K: the last read with the client's app password; undefined if it is not stored. */
  readonly reader?: LastRead | undefined;
  /** M: the stamp up to which the client's session has all rows; undefined if it is not stored. */
  readonly sessionStamp?: number | undefined;
}

/** A client's read of a list. */
export interface ListRead {
  /** `since` of the client, in seconds; 0 if the client sent none. */
  readonly since: number;
  /**
   * Time at which Redis received the read, in milliseconds since 1970: the same in all deliveries.
   */
  readonly receivedAt: number;
  /** Milliseconds since {@link receivedAt}. */
  readonly ageMs: number;
}

/** The answer to a read of a list: its timestamp, and which rows it contains. */
export interface ListAnswer {
  /** The client's next `since`, in seconds; never 0. */
  readonly timestamp: number;
  /** The answer has the rows that changed after this second; see also {@link initial}. */
  readonly since: number;
  /**
   * True if the server does not know which rows the client has. The answer then contains all rows
   * that exist, and the removals after {@link since}.
   */
  readonly initial: boolean;
  /** True if no row changed after {@link since}, so the caller need not read the list. */
  readonly unchanged: boolean;
}

/**
 * Maximum lead of a user's clock over the time of the database, in milliseconds, with which a
 * second can still be sealed. Each seal moves the clock up to two seconds ahead.
 */
const maxLeadMs = 2_000;
/** Age in milliseconds after which the transport no longer delivers a message. */
const deliveryLimitMs = 60_000;
/** Age in ms above which a message can be a redelivery, or its client can have given up. */
const redeliveryAgeMs = 1_000;

/**
 * Returns the stamp of the clock after a second is sealed: the end of the next second, because the
 * app Kasts adds one to the timestamp.
 */
const computeSealedStamp = (second: number): number => (second + 1) * 1_000;

/** Returns true if nothing was written since the last second was sealed. */
const isSealed = ({ answeredSecond, stamp }: Clock): boolean =>
  answeredSecond > 0 && stamp <= computeSealedStamp(answeredSecond);

/**
 * Returns the clock after sealing the whole second at or after the latest stamp. Returns the same
 * object if nothing was written since the last seal, or the clock is too far ahead of the time of
 * the database.
 */
export function sealSecond(clock: Clock): Clock {
  const { stamp, answeredSecond, now } = clock;
  if (isSealed(clock) || (answeredSecond > 0 && stamp > now + maxLeadMs)) return clock;
  return sealAt(clock, Math.ceil((stamp > 0 ? stamp : now) / 1_000));
}

/** Returns the clock after this second is sealed. */
const sealAt = (clock: Clock, second: number): Clock => ({
  ...clock,
  answeredSecond: second,
  stamp: computeSealedStamp(second),
});

/** Returns true if `since` is `answeredSecond`, or one more, because the app Kasts adds one. */
const isEcho = (since: number, answeredSecond: number): boolean =>
  since === answeredSecond || since === answeredSecond + 1;

/** Answers a read by the user's clock (T) alone, without the state of the client (K and M). */
export function answerStateless(clock: Clock, since: number): ListAnswer {
  const from = Math.min(since, clock.answeredSecond);
  const unchanged = isSealed(clock) && from === clock.answeredSecond;
  return { timestamp: clock.answeredSecond, since: from, initial: false, unchanged };
}

/**
 * Answers a read of a list, and returns the state to store.
 *
 * - A `since` other than that of the last read shows that the client received the last answer. With
 *   the same `since`, the last answer can be lost, so this answer repeats its rows.
 * - A late read ({@link isLate}) does not change the state, except that it creates an absent K.
 *
 * @returns `after`, the new state. Unchanged parts are the same objects.
 */
export function answerRead(
  state: SyncState,
  read: ListRead,
): { answer: ListAnswer; after: SyncState } {
  const { reader, sessionStamp = 0 } = state;
  const { since, receivedAt } = read;
  if (isLate(read, state.clock, reader)) {
    if (reader) return { answer: toAnswer(state.clock, reader, since), after: state };
    // Neither seals a second nor sets M, because the client possibly does not get this answer.
    const firstRead = {
      since,
      answeredSecond: Math.max(1, state.clock.answeredSecond),
      completeSecond: 0,
      receivedAt,
    };
    return {
      answer: toAnswer(state.clock, firstRead, since),
      after: { ...state, reader: firstRead },
    };
  }
  let clock = sealSecond(state.clock);
  let newRead = computeLastRead(reader, read, clock.answeredSecond);
  // If this answer's timestamp equaled `since`, the client would repeat that `since`. The server
  // would then assume a lost answer, and send the same rows in each sync. So this seals another
  // second. Exceptions:
  // - The client sends the previous answer's timestamp for the first time, which confirms that
  //   answer.
  // - The clock is more than `maxLeadMs` ahead of the database.
  const confirmsLastAnswer =
    reader !== undefined && since !== reader.since && isEcho(since, reader.answeredSecond);
  const isClockAhead = clock.stamp > clock.now + maxLeadMs;
  if (
    !confirmsLastAnswer &&
    newRead.completeSecond < newRead.answeredSecond &&
    isEcho(since, newRead.answeredSecond) &&
    !isClockAhead
  ) {
    clock = sealAt(clock, since + 1);
    newRead = computeLastRead(reader, read, clock.answeredSecond);
  }
  return {
    answer: toAnswer(clock, newRead, since),
    after: {
      clock,
      reader: newRead,
      sessionStamp: Math.max(sessionStamp, computeSealedStamp(clock.answeredSecond)),
    },
  };
}

/**
 * Returns true if a read can be a redelivery, or its client can have stopped waiting:
 * - Redis received it at or before the last read that changed K, within the delivery limit; or
 * - it is older than a second and the clock advanced meanwhile, so an earlier answer to the same
 *   read can lack the new rows.
 */
function isLate({ receivedAt, ageMs }: ListRead, clock: Clock, reader?: LastRead): boolean {
  const newest = reader?.receivedAt ?? -Infinity;
  if (receivedAt <= newest && newest - receivedAt < deliveryLimitMs) return true;
  return ageMs > redeliveryAgeMs && clock.stamp > clock.now - ageMs;
}

/** Returns the answer that follows from T and K. */
function toAnswer(
  clock: Clock,
  { answeredSecond, completeSecond }: LastRead,
  since: number,
): ListAnswer {
  const initial = since > 0 && completeSecond === 0;
  // Limits a `since` that is too late, because it is from the client's own clock or another server.
  const from = Math.min(since, initial ? clock.answeredSecond : completeSecond);
  const unchanged = !initial && isSealed(clock) && from >= clock.answeredSecond;
  return { timestamp: answeredSecond, since: from, initial, unchanged };
}

/** Returns the new K after a read that was answered with the timestamp `answeredSecond`. */
function computeLastRead(
  reader: LastRead | undefined,
  { since, receivedAt }: ListRead,
  answeredSecond: number,
): LastRead {
  if (reader?.since !== since)
    return { since, answeredSecond, completeSecond: reader?.answeredSecond ?? 0, receivedAt };
  return reader.answeredSecond === answeredSecond
    ? reader
    : { ...reader, answeredSecond, receivedAt };
}

/**
 * Returns the timestamp in the answer to an upload that seals no second: the last second up to
 * which the session has all rows. A lower timestamp would be correct too, but repeat rows. The
 * timestamp is at least 1, because 0 means "never" to some clients.
 *
 * @param sessionStamp M; undefined if it is not stored.
 */
export function uploadTimestamp(sessionStamp: number | undefined): number {
  return sessionStamp === undefined ? 1 : Math.max(1, Math.floor(sessionStamp / 1_000) - 1);
}

/**
 * Answers an upload of subscriptions that changed rows. If no other client wrote after M, the
 * session now has all rows, and its next download omits its own upload.
 *
 * @param state T, K and M after the write.
 * @param stampBefore stamp of the user's clock before the write, in milliseconds.
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
  const { answeredSecond, stamp } = sealed;
  const readerAfterUpload = reader && { ...reader, answeredSecond, completeSecond: answeredSecond };
  return {
    timestamp: answeredSecond,
    after: { clock: sealed, reader: readerAfterUpload, sessionStamp: stamp },
  };
}
