import { describe, expect, it } from 'vitest';
import {
  type Clock,
  answerReader,
  answerOnce,
  type SyncState,
  type Reader,
  sealSecond,
  answerUpload,
  uploadTimestamp,
} from './sync-state.rule.js';

const clock = (stamp: number, told = 0, now = stamp): Clock => ({ stamp, told, now });
const reader = (asked: number, told: number, safe: number): Reader => ({
  asked,
  told,
  safe,
  arrived: 1,
});
const fresh = (since: number) => ({ since, arrived: 2, age: 0 });
const at = (of: Clock, known?: Reader): SyncState => ({ clock: of, reader: known });

describe('a clock of which a second is sealed', () => {
  it.each([
    ['is moved behind the second after its own', clock(100_001), { told: 101, stamp: 102_000 }],
    ['of a user who never wrote takes the time', clock(0, 0, 7_500), { told: 8, stamp: 9_000 }],
    ['stays where nothing was written since', clock(102_000, 101), { told: 101, stamp: 102_000 }],
    ['moves on after the next write', clock(102_001, 101), { told: 103, stamp: 104_000 }],
    [
      'stays where it is more than two seconds ahead',
      clock(110_000, 101, 107_999),
      { told: 101, stamp: 110_000 },
    ],
  ])('%s', (_name, of, expected) => expect(sealSecond(of)).toMatchObject(expected));
});

describe('a download', () => {
  it.each([
    ['of who asks for all has all', 0, undefined, { timestamp: 101, since: 0, initial: false }],
    [
      'of who is not known adds all, and removes from there',
      50,
      undefined,
      { timestamp: 101, since: 50, initial: true },
    ],
    ['goes on from what was told', 90, reader(80, 90, 80), { timestamp: 101, since: 90 }],
    [
      'takes what was told plus one for the same',
      91,
      reader(80, 90, 80),
      { timestamp: 101, since: 90 },
    ],
    ['again starts where the last one did', 80, reader(80, 90, 70), { timestamp: 101, since: 70 }],
    [
      'by a clock of its own starts at what was told',
      99_999,
      reader(80, 90, 80),
      { timestamp: 101, since: 90 },
    ],
    [
      'is never told 0, nor more than it asked from',
      5,
      reader(80, 90, 80),
      { timestamp: 101, since: 5 },
    ],
  ])('%s', (_name, since, known, expected) =>
    expect(answerReader(at(clock(100_001), known), fresh(since)).answer).toMatchObject(expected),
  );

  it('with nothing new leaves everything as it is', () => {
    const found = at(clock(102_000, 101), reader(101, 101, 101));
    const { answer, after } = answerReader(found, fresh(101));
    expect(answer).toEqual({ timestamp: 101, since: 101, initial: false, unchanged: true });
    expect([after.clock, after.reader]).toEqual([found.clock, found.reader]);
  });

  it.each([
    ['was sent before the last', { since: 80, arrived: 1, age: 0 }],
    ['took long while something was written', { since: 80, arrived: 2, age: 3_000 }],
  ])('that %s moves nothing', (_name, read) => {
    const found = at(clock(100_001), reader(80, 90, 70));
    const { answer, after } = answerReader(found, read);
    expect(after).toBe(found);
    expect(answer).toEqual({ timestamp: 90, since: 70, initial: false, unchanged: false });
  });

  it.each([101, 102])(
    'of who is not known is told more than it asked from, so that it goes on: %i',
    (since) => {
      expect(answerReader(at(clock(102_000, 101)), fresh(since)).answer.timestamp).toBe(since + 1);
    },
  );
});

it('a read that is not remembered is answered from what it asks, or from now', () => {
  expect(answerOnce(clock(102_000, 101), 50)).toMatchObject({
    timestamp: 101,
    since: 50,
    unchanged: false,
  });
  expect(answerOnce(clock(102_000, 101), 500)).toMatchObject({
    timestamp: 101,
    since: 101,
    unchanged: true,
  });
});

describe('an upload', () => {
  it.each([
    ['of an unknown session', undefined, 1],
    ['of one that has everything up to a second', 102_000, 101],
    ['never 0', 1_000, 1],
  ])('%s is answered what the session has', (_name, known, expected) =>
    expect(uploadTimestamp(known)).toBe(expected),
  );

  it('of who has everything is told all, with its own', () => {
    const found = { ...at(clock(103_500, 101), reader(90, 101, 90)), known: 102_000 };
    const { timestamp, after } = answerUpload(found, 102_000);
    expect(timestamp).toBe(104);
    expect(after).toMatchObject({
      clock: { stamp: 105_000, told: 104 },
      reader: { told: 104, safe: 104 },
      known: 105_000,
    });
  });

  it('after what another client wrote is told no more than before', () => {
    const found = { ...at(clock(103_500, 101)), known: 102_000 };
    expect(answerUpload(found, 102_001)).toEqual({ timestamp: 101, after: found });
  });

  it('that it is to be answered itself is told no more than before', () => {
    const found = { ...at(clock(103_500, 101)), known: 102_000 };
    expect(answerUpload(found, 102_000, true)).toEqual({ timestamp: 101, after: found });
  });
});
