import { describe, expect, it } from 'vitest';
import { differentUrls, equalUrls } from '../../contracts/testing/url.vectors.js';
import { guidOf } from './changing.js';
import { type Act, isSame, keys, neededActs, timeOf } from './records.js';
import { memoryStore } from './store.js';

describe('the time of a change', () => {
  const day = 86_400_000;
  const seen = 1_000 * day;
  const done = seen + 10_000;
  const now = seen + 60_000;

  it.each<
    [string, { at: number; offset: number; after: number }, offsetNow: number, expected: number]
  >([
    ['a clock that is right', { at: done, offset: 0, after: seen }, 0, done],
    ['a clock that was always wrong', { at: done - day, offset: 0, after: seen }, day, done],
    [
      'a clock that was behind and is right now',
      { at: done - day, offset: day, after: seen },
      0,
      done,
    ],
    [
      'a clock that was ahead and is right now',
      { at: done + day, offset: -day, after: seen },
      0,
      done,
    ],
    [
      'a clock that was put right before the change',
      { at: done, offset: day, after: seen },
      0,
      done,
    ],
    [
      'a clock that was behind by an unknown time',
      { at: done - day, offset: 0, after: seen },
      0,
      seen + 1,
    ],
    [
      'a clock that was ahead by an unknown time',
      { at: done + day, offset: 0, after: seen },
      0,
      now,
    ],
    [
      'a value of a device that is ahead',
      { at: done, offset: 0, after: now + 5_000 },
      0,
      now + 5_001,
    ],
  ])('of %s', (_name, moment, offset, expected) =>
    expect(timeOf(moment, now - offset, offset)).toBe(expected),
  );
});

describe('what has to be sent of the acts of a listener', () => {
  const act = (kind: Act['kind']) => (at: number) => ({
    kind,
    at,
    offset: 0,
    after: 0,
    feed_url: '',
    declared: false,
  });
  const [subscribed, unsubscribed, deleted] = [
    act('subscribed'),
    act('unsubscribed'),
    act('deleted'),
  ];
  const titled = (at: number, title: string) => ({ ...act('titled')(at), title });

  it.each<[string, Act[], Act[]]>([
    [
      'the last time they subscribed and what followed',
      [subscribed(1), unsubscribed(2), subscribed(3), unsubscribed(4)],
      [subscribed(3), unsubscribed(4)],
    ],
    ['nothing that they took back', [unsubscribed(1), deleted(2), subscribed(3)], [subscribed(3)]],
    [
      'a deletion, which unsubscribing does not take back',
      [deleted(1), unsubscribed(2)],
      [deleted(2)],
    ],
    ['a deletion in place of unsubscribing', [unsubscribed(1), deleted(2)], [deleted(2)]],
    [
      'the last title, after the subscription',
      [titled(1, 'A'), titled(2, 'B'), subscribed(3), unsubscribed(4)],
      [subscribed(3), titled(2, 'B'), unsubscribed(4)],
    ],
    [
      'the title of an earlier subscription',
      [{ ...subscribed(1), title: 'A' }, subscribed(2)],
      [subscribed(2), titled(1, 'A')],
    ],
    ['no title of a deleted one', [titled(1, 'A'), deleted(2), titled(3, 'B')], [deleted(2)]],
    [
      'all by its time and not by its place',
      [unsubscribed(2), subscribed(1)],
      [subscribed(1), unsubscribed(2)],
    ],
  ])('is %s', (_name, acts, expected) => expect(neededActs(acts)).toEqual(expected));
});

describe('equal URLs', () => {
  it.each(equalUrls)('are one subscription and one episode: %s, %s', async (one, other) => {
    const guid = '3f2504e0-4f89-41d3-9a0c-0305e82c3302';
    const row = { guid, feed_url: one, is_subscribed: true };
    const store = memoryStore(new Map([[keys.subscription(guid), row]]));
    expect(await guidOf(store, other)).toBe(guid);
    expect(isSame({ enclosure_url: one }, { enclosure_url: other })).toBe(true);
  });

  it.each(differentUrls)('are not %s and %s', (one, other) => {
    expect(isSame({ enclosure_url: one }, { enclosure_url: other })).toBe(false);
  });
});
