import { describe, expect, it } from 'vitest';
import {
  answerRead,
  answerStateless,
  answerUpload,
  type Clock,
  type LastRead,
  sealSecond,
  type SyncState,
  uploadTimestamp,
} from './sync-state.rules.js';

const clock = (stamp: number, answeredSecond = 0, now = stamp): Clock => ({
  stamp,
  answeredSecond,
  now,
});
const reader = (since: number, answeredSecond: number, completeSecond: number): LastRead => ({
  since,
  answeredSecond,
  completeSecond,
  receivedAt: 1,
});
const freshRead = (since: number) => ({ since, receivedAt: 2, ageMs: 0 });
const stateOf = (of: Clock, stored?: LastRead): SyncState => ({ clock: of, reader: stored });

describe('sealSecond', () => {
  it.each([
    ['moves the clock to the end of the next second', clock(100_001), [101, 102_000]],
    ['starts at the current time for a user without writes', clock(0, 0, 7_500), [8, 9_000]],
    ['changes nothing without a write since the last seal', clock(102_000, 101), [101, 102_000]],
    ['seals a new second after the next write', clock(102_001, 101), [103, 104_000]],
    [
      'changes nothing if the clock is more than two seconds ahead',
      clock(110_000, 101, 107_999),
      [101, 110_000],
    ],
  ])('%s', (_name, before, [answeredSecond, stamp]) =>
    expect(sealSecond(before)).toMatchObject({ answeredSecond, stamp }),
  );
});

describe('a download', () => {
  it.each([
    ['since 0 returns all rows', 0, undefined, { timestamp: 101, since: 0, initial: false }],
    [
      'without K contains all rows, and the removals after since',
      50,
      undefined,
      { timestamp: 101, since: 50, initial: true },
    ],
    [
      'since the last answer returns the rows after it',
      90,
      reader(80, 90, 80),
      { timestamp: 101, since: 90 },
    ],
    [
      'since the last answer plus 1 returns the same rows',
      91,
      reader(80, 90, 80),
      { timestamp: 101, since: 90 },
    ],
    [
      'with a repeated since starts at the safe second',
      80,
      reader(80, 90, 70),
      { timestamp: 101, since: 70 },
    ],
    [
      'with a since from its own clock starts at the last answer',
      99_999,
      reader(80, 90, 80),
      { timestamp: 101, since: 90 },
    ],
    ['with an older since starts there', 5, reader(80, 90, 80), { timestamp: 101, since: 5 }],
  ])('%s', (_name, since, stored, expected) =>
    expect(answerRead(stateOf(clock(100_001), stored), freshRead(since)).answer).toMatchObject(
      expected,
    ),
  );

  it('without new rows changes no state', () => {
    const state = stateOf(clock(102_000, 101), reader(101, 101, 101));
    const { answer, after } = answerRead(state, freshRead(101));
    expect(answer).toEqual({ timestamp: 101, since: 101, initial: false, unchanged: true });
    expect([after.clock, after.reader]).toEqual([state.clock, state.reader]);
  });

  it.each([
    ['was received before the last one', { since: 80, receivedAt: 1, ageMs: 0 }],
    ['is older than a write', { since: 80, receivedAt: 2, ageMs: 3_000 }],
  ])('that %s changes no state', (_name, read) => {
    const state = stateOf(clock(100_001), reader(80, 90, 70));
    const { answer, after } = answerRead(state, read);
    expect(after).toBe(state);
    expect(answer).toEqual({ timestamp: 90, since: 70, initial: false, unchanged: false });
  });

  it('that is older than a write changes neither clock nor M, also without K', () => {
    const state = { ...stateOf(clock(102_500, 101)), sessionStamp: 90_000 };
    const { answer, after } = answerRead(state, { since: 80, receivedAt: 2, ageMs: 3_000 });
    expect(answer).toEqual({ timestamp: 101, since: 80, initial: true, unchanged: false });
    const stored = { since: 80, answeredSecond: 101, completeSecond: 0, receivedAt: 2 };
    expect(after).toEqual({ ...state, reader: stored });
  });

  it.each([101, 102])(
    'without K returns a timestamp above its since, so that a sync ends: %i',
    (since) => {
      const { answer } = answerRead(stateOf(clock(102_000, 101)), freshRead(since));
      expect(answer.timestamp).toBe(since + 1);
    },
  );
});

it('answerStateless starts at since, and at the latest at the last answered second', () => {
  expect(answerStateless(clock(102_000, 101), 50)).toMatchObject({
    timestamp: 101,
    since: 50,
    unchanged: false,
  });
  expect(answerStateless(clock(102_000, 101), 500)).toMatchObject({
    timestamp: 101,
    since: 101,
    unchanged: true,
  });
});

describe('an upload', () => {
  it.each([
    ['of a session without state returns 1', undefined, 1],
    ['returns the second up to which the session has all rows', 102_000, 101],
    ['never returns 0', 1_000, 1],
  ])('%s', (_name, sessionStamp, expected) => expect(uploadTimestamp(sessionStamp)).toBe(expected));

  it('of a session with all rows returns a new second', () => {
    const state = { ...stateOf(clock(103_500, 101), reader(90, 101, 90)), sessionStamp: 102_000 };
    const { timestamp, after } = answerUpload(state, 102_000);
    expect(timestamp).toBe(104);
    expect(after).toMatchObject({
      clock: { stamp: 105_000, answeredSecond: 104 },
      reader: { answeredSecond: 104, completeSecond: 104 },
      sessionStamp: 105_000,
    });
  });

  it.each([
    ['after a write of another client', 102_001, false],
    ['that the next download must repeat', 102_000, true],
  ])('%s returns the previous second', (_name, stampBefore, repeatsUpload) => {
    const state = { ...stateOf(clock(103_500, 101)), sessionStamp: 102_000 };
    expect(answerUpload(state, stampBefore, repeatsUpload)).toEqual({
      timestamp: 101,
      after: state,
    });
  });
});
