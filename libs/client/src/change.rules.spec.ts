import { describe, expect, it } from 'vitest';
import { differentUrls, equalUrls } from '../../contracts/testing/url-vectors.js';
import { compactActions, isSameEpisode, serverTimeOf } from './change.rules.js';
import { guidOfFeed } from './outbox.js';
import { keys, type SubscriptionAction } from './records.js';
import { memoryStore } from './store.js';

describe('serverTimeOf', () => {
  const dayMs = 86_400_000;
  const seen = 1_000 * dayMs;
  const done = seen + 10_000;
  const now = seen + 60_000;

  it.each<
    [string, { at: number; offset: number; after: number }, offsetNow: number, expected: number]
  >([
    ['a correct clock', { at: done, offset: 0, after: seen }, 0, done],
    ['a clock with a constant error', { at: done - dayMs, offset: 0, after: seen }, dayMs, done],
    [
      'a clock that was behind and was corrected since',
      { at: done - dayMs, offset: dayMs, after: seen },
      0,
      done,
    ],
    [
      'a clock that was ahead and was corrected since',
      { at: done + dayMs, offset: -dayMs, after: seen },
      0,
      done,
    ],
    [
      'a clock that was corrected before the change',
      { at: done, offset: dayMs, after: seen },
      0,
      done,
    ],
    [
      'a clock that was behind by an unknown time',
      { at: done - dayMs, offset: 0, after: seen },
      0,
      seen + 1,
    ],
    [
      'a clock that was ahead by an unknown time',
      { at: done + dayMs, offset: 0, after: seen },
      0,
      now,
    ],
    [
      'a replaced value that another device dated ahead',
      { at: done, offset: 0, after: now + 5_000 },
      0,
      now + 5_001,
    ],
  ])('returns the time for %s', (_name, time, offset, expected) =>
    expect(serverTimeOf(time, now - offset, offset)).toBe(expected),
  );
});

describe('compactActions', () => {
  const action = (kind: SubscriptionAction['kind']) => (at: number) => ({
    kind,
    at,
    offset: 0,
    after: 0,
    feed_url: '',
    isDeclared: false,
  });
  const [subscribe, unsubscribe, remove] = [
    action('subscribe'),
    action('unsubscribe'),
    action('delete'),
  ];
  const setTitle = (at: number, title: string) => ({ ...action('setTitle')(at), title });

  it.each<[string, SubscriptionAction[], SubscriptionAction[]]>([
    [
      'keeps the last subscription and the action after it',
      [subscribe(1), unsubscribe(2), subscribe(3), unsubscribe(4)],
      [subscribe(3), unsubscribe(4)],
    ],
    [
      'drops actions that a later subscription undoes',
      [unsubscribe(1), remove(2), subscribe(3)],
      [subscribe(3)],
    ],
    ['keeps a deletion before an unsubscription', [remove(1), unsubscribe(2)], [remove(2)]],
    ['keeps a deletion after an unsubscription', [unsubscribe(1), remove(2)], [remove(2)]],
    [
      'keeps the last title, after the subscription',
      [setTitle(1, 'A'), setTitle(2, 'B'), subscribe(3), unsubscribe(4)],
      [subscribe(3), setTitle(2, 'B'), unsubscribe(4)],
    ],
    [
      'keeps the title of an earlier subscription',
      [{ ...subscribe(1), title: 'A' }, subscribe(2)],
      [subscribe(2), setTitle(1, 'A')],
    ],
    [
      'drops titles of a deleted subscription',
      [setTitle(1, 'A'), remove(2), setTitle(3, 'B')],
      [remove(2)],
    ],
    ['sorts actions by time', [unsubscribe(2), subscribe(1)], [subscribe(1), unsubscribe(2)]],
  ])('%s', (_name, actions, expected) => expect(compactActions(actions)).toEqual(expected));
});

describe('equal URLs', () => {
  it.each(equalUrls)('identify one subscription and one episode: %s, %s', async (one, other) => {
    const guid = '3f2504e0-4f89-41d3-9a0c-0305e82c3302';
    const row = { guid, feed_url: one, is_subscribed: true };
    const store = memoryStore(new Map([[keys.subscription(guid), row]]));
    expect(await guidOfFeed(store, other)).toBe(guid);
    expect(isSameEpisode({ enclosure_url: one }, { enclosure_url: other })).toBe(true);
  });

  it.each(differentUrls)('do not include %s and %s', (one, other) => {
    expect(isSameEpisode({ enclosure_url: one }, { enclosure_url: other })).toBe(false);
  });
});
