import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { podcastGuid } from '#contracts';
import {
  decodedUrls,
  differentUrls,
  equalUrls,
  inBothOrders,
} from '../../../libs/contracts/testing/url-vectors.js';
import {
  A,
  B,
  C,
  changedRow,
  type SubscriptionFixture,
  earlier,
  now,
  subscriptionSet,
  subscriptionSetWithQuotas,
  u,
  v,
  w,
} from '../testing/subscription-set.fixture.js';
import type { SubscriptionSet } from './subscription-set.js';
import { MergeBudget } from './merge-budget.js';
import type { RowCounts } from './remaining-quota.js';
import { applyBatch, validateEntry } from './subscribe.rules.js';

const none = { live: 0, pointers: 0, guidChanges: 0, guids: 0, urls: 0 };
const nothing = {
  rows: [],
  guids: [],
  urls: [],
  formerUrls: [],
  formerGuids: [],
  merges: [],
  added: none,
};
/** Returns the URL with another scheme, which has the same derived guid. */
const plain = (url: string) => url.replace('https', 'http');

function post(
  subscriptions: SubscriptionSet,
  ...entries: { feedUrl: string; guid?: string; timestamp?: string; title?: string }[]
) {
  return applyBatch(subscriptions, entries.map(validateEntry), new MergeBudget());
}

describe('validateEntry', () => {
  it.each([null, undefined])('treats %s as not sent', (sent) =>
    expect(validateEntry({ feedUrl: u, guid: sent, timestamp: sent })).toEqual({
      feedUrl: u,
      derivedGuid: podcastGuid(u),
    }),
  );

  it.each([5, [], {}, true])('rejects %j as a guid and as a timestamp', (sent) => {
    expect(validateEntry({ feedUrl: u, guid: sent })).toMatchObject({
      fault: { code: 'invalid_guid' },
    });
    expect(validateEntry({ feedUrl: u, timestamp: sent })).toMatchObject({
      fault: { code: 'invalid_value' },
    });
  });

  it.each([
    ['podnews.net/rss', 'No protocol present'],
    ['https://podnews.net/\0', 'The URL contains a NUL character'],
  ])('returns a message for an invalid feed_url: %j', (feedUrl, message) => {
    expect(validateEntry({ feedUrl })).toEqual({
      feedUrl,
      fault: { code: 'invalid_url', message },
    });
  });

  it.each(['', 'no uuid', `{${A}}`])('rejects a guid other than a UUID string: %j', (sent) => {
    const fault = { code: 'invalid_guid', message: 'The guid is not a valid UUID' };
    expect(validateEntry({ feedUrl: u, guid: sent })).toEqual({ feedUrl: u, fault });
  });

  it('accepts a guid of any version and case, and returns it in lower case', () => {
    expect(
      validateEntry({ feedUrl: u, guid: 'ABCDEF00-0000-9000-F000-00000000000F' }),
    ).toMatchObject({
      guid: 'abcdef00-0000-9000-f000-00000000000f',
    });
  });

  it.each([
    'HTTPS://User@Example.COM:443/%7Efeed/../x?q=ä#f',
    'https://feeds.example',
    'https://x.example/%zz?a+b&&',
  ])('keeps the URL as it was sent, except for surrounding white space: %s', (feedUrl) =>
    expect(validateEntry({ feedUrl: ` \t${feedUrl}\n` })).toMatchObject({ feedUrl }),
  );

  it.each([
    [' A\tB ', 'A B'],
    ['ä'.repeat(2_000), 'ä'.repeat(1_024)],
    ['', undefined],
    [' \n', undefined],
    [` ${u} `, undefined],
    [5, undefined],
    [null, undefined],
    [{}, undefined],
  ])('keeps a title, and ignores others and the URL itself: %j', (title, kept) => {
    expect(validateEntry({ feedUrl: u, title })).toMatchObject({ feedUrl: u, title: kept });
  });

  it('returns an invalid URL exactly as it was sent', () => {
    expect(validateEntry({ feedUrl: ' Nonsense\0 ☂ ' })).toMatchObject({
      feedUrl: ' Nonsense\0 ☂ ',
    });
  });
});

describe('a batch', () => {
  it('keeps the order of the request in both arrays', () => {
    const subscriptions = subscriptionSet();
    expect(post(subscriptions)).toEqual({ success: [], failure: [] });
    const answer = post(
      subscriptions,
      { feedUrl: v },
      { feedUrl: 'x' },
      { feedUrl: u },
      { feedUrl: 'y' },
      { feedUrl: w },
    );
    expect(answer.success.map((item) => item.feed_url)).toEqual([v, u, w]);
    expect(answer.failure.map((item) => item.feed_url)).toEqual(['x', 'y']);
  });

  it('creates one subscription for a feed that is sent twice', () => {
    const subscriptions = subscriptionSet();
    const { success } = post(subscriptions, { feedUrl: u }, { feedUrl: u });
    expect(success).toHaveLength(2);
    expect(success[0]).toEqual(success[1]);
    expect(subscriptions.changes().rows).toHaveLength(1);
  });

  it('shows the final guid of the batch in every success item', () => {
    const { success } = post(subscriptionSet(), { feedUrl: u }, { feedUrl: u, guid: A });
    expect(success.map((item) => item.guid)).toEqual([A, A]);
  });
});

describe('an entry with a stored guid', () => {
  it('matches its subscription and keeps a current URL', () => {
    const subscriptions = subscriptionSet({ id: 1, urls: [u], guids: [A] });
    expect(post(subscriptions, { feedUrl: u, guid: A }).success).toEqual([
      { feed_url: u, guid: A, is_subscribed: true, subscription_changed: now },
    ]);
    expect(changedRow(subscriptions, 1)).toMatchObject({
      feedUrl: u,
      guid: A,
      guidChanged: null,
      deletionId: null,
    });
  });

  it('matches its subscription and does not return to a former URL', () => {
    const subscriptions = subscriptionSet({ id: 1, urls: [u, v], guids: [A] });
    post(subscriptions, { feedUrl: v, guid: A });
    expect(changedRow(subscriptions, 1)).toMatchObject({ feedUrl: u });
  });

  it('moves its subscription to a new URL; the old one stays an alias', () => {
    const subscriptions = subscriptionSet({ id: 1, urls: [u], guids: [A] });
    expect(post(subscriptions, { feedUrl: v, guid: A }).success[0]).toMatchObject({
      feed_url: v,
      guid: A,
    });
    expect(changedRow(subscriptions, 1)).toMatchObject({
      feedUrl: v,
      subscriptionChanged: now,
      guidChanged: null,
    });
    expect([subscriptions.byUrl(u)?.id, subscriptions.byUrl(v)?.id]).toEqual([1, 1]);
  });

  it('moves its subscription to a former URL of another, which loses it', () => {
    const subscriptions = subscriptionSet(
      { id: 1, urls: [u], guids: [A] },
      { id: 2, urls: [w, v], guids: [B] },
    );
    post(subscriptions, { feedUrl: v, guid: A });
    expect(changedRow(subscriptions, 1)).toMatchObject({ feedUrl: v });
    expect(subscriptions.byUrl(v)?.id).toBe(1);
    // Clients that have stored the other subscription only by that URL receive it again.
    expect(changedRow(subscriptions, 2)).toMatchObject({
      feedUrl: w,
      isSubscribed: true,
      flippedAt: now,
    });
  });

  it('fails with feed_url_taken if another declared subscription has the URL', () => {
    const subscriptions = subscriptionSet(
      { id: 1, urls: [u], guids: [A] },
      { id: 2, urls: [v], guids: [B] },
    );
    const message = 'Another subscription has this feed_url';
    expect(post(subscriptions, { feedUrl: v, guid: A })).toEqual({
      success: [],
      failure: [{ feed_url: v, code: 'feed_url_taken', message, guid: B }],
    });
    expect(subscriptions.changes()).toEqual(nothing);
  });

  it('does not swap the URLs of two declared subscriptions in one batch', () => {
    const subscriptions = subscriptionSet(
      { id: 1, urls: [u], guids: [A] },
      { id: 2, urls: [v], guids: [B] },
    );
    const { failure } = post(subscriptions, { feedUrl: v, guid: A }, { feedUrl: u, guid: B });
    expect(failure.map(({ code }) => code)).toEqual(['feed_url_taken', 'feed_url_taken']);
    expect(subscriptions.changes()).toEqual(nothing);
  });

  it('merges the subscription with the URL if that only has derived guids', () => {
    const subscriptions = subscriptionSet(
      { id: 1, urls: [u], guids: [A] },
      { id: 2, urls: [v], guids: [podcastGuid(v)], declared: [] },
    );
    expect(post(subscriptions, { feedUrl: v, guid: A }).success).toEqual([
      { feed_url: v, guid: A, is_subscribed: true, subscription_changed: now },
    ]);
    expect(changedRow(subscriptions, 1)).toMatchObject({ feedUrl: v, guid: A });
    expect(changedRow(subscriptions, 2)).toMatchObject({ mergedInto: 1, mergedAt: now });
    expect([subscriptions.byUrl(v)?.id, subscriptions.byGuid(podcastGuid(v))?.id]).toEqual([1, 1]);
    expect(subscriptions.changes().merges).toEqual([
      { from: 2, into: 1, hasStates: true, survivor: 1 },
    ]);
  });

  it('also merges the subscription with the URL if a client sent its derived guid', () => {
    const derived = podcastGuid(v);
    const subscriptions = subscriptionSet(
      { id: 1, urls: [u], guids: [A] },
      { id: 2, urls: [v], guids: [derived], declared: [derived] },
    );
    expect(post(subscriptions, { feedUrl: v, guid: A }).failure).toEqual([]);
    expect(subscriptions.changes().merges).toHaveLength(1);
  });

  it('merges the subscription that the derived guid of a new URL matches', () => {
    const subscriptions = subscriptionSet(
      { id: 1, urls: [u], guids: [A] },
      { id: 2, urls: [plain(v)], guids: [podcastGuid(v)], declared: [] },
    );
    post(subscriptions, { feedUrl: v, guid: A });
    expect(changedRow(subscriptions, 1)).toMatchObject({ feedUrl: v });
    expect(changedRow(subscriptions, 2)).toMatchObject({ mergedInto: 1 });
  });

  it('gets a new URL, but not its derived guid if that is of a declared subscription', () => {
    const subscriptions = subscriptionSet(
      { id: 1, urls: [u], guids: [A] },
      { id: 2, urls: [plain(v)], guids: [B] },
    );
    post(subscriptions, { feedUrl: v, guid: A });
    expect(changedRow(subscriptions, 1)).toMatchObject({ feedUrl: v });
    expect(subscriptions.byGuid(podcastGuid(v))?.id).toBe(2);
    expect(subscriptions.changes().merges).toEqual([]);
  });

  it('matches by a former guid and answers with the current one', () => {
    const subscriptions = subscriptionSet({ id: 1, urls: [u], guids: [B, A] });
    expect(post(subscriptions, { feedUrl: u, guid: A }).success[0]?.guid).toBe(B);
    expect(changedRow(subscriptions, 1)).toMatchObject({ guid: B, guidChanged: null });
  });
});

describe('an entry with a new guid', () => {
  it('changes the guid of the subscription whose current URL was sent', () => {
    const subscriptions = subscriptionSet({ id: 1, urls: [u], guids: [A] });
    expect(post(subscriptions, { feedUrl: u, guid: B }).success[0]?.guid).toBe(B);
    expect(changedRow(subscriptions, 1)).toMatchObject({ guid: B, guidChanged: now });
    expect(subscriptions.changes().formerGuids).toEqual([[1, A]]);
    expect([subscriptions.byGuid(A)?.id, subscriptions.byGuid(B)?.id]).toEqual([1, 1]);
  });

  it('becomes an alias of the subscription whose former URL was sent', () => {
    const subscriptions = subscriptionSet({ id: 1, urls: [u, v], guids: [A] });
    expect(post(subscriptions, { feedUrl: v, guid: B }).success[0]).toMatchObject({
      feed_url: v,
      guid: A,
    });
    expect(subscriptions.byGuid(B)?.id).toBe(1);
    expect(changedRow(subscriptions, 1)).toMatchObject({ guid: A, feedUrl: u, guidChanged: null });
  });

  it('creates a subscription if the URL is new as well', () => {
    const subscriptions = subscriptionSet();
    expect(post(subscriptions, { feedUrl: u, guid: A }).success).toEqual([
      { feed_url: u, guid: A, is_subscribed: true, subscription_changed: now },
    ]);
    expect(changedRow(subscriptions, 100)).toMatchObject({
      feedUrl: u,
      guid: A,
      guidChanged: null,
      deleted: null,
    });
  });
});

describe('an entry without a guid', () => {
  it('matches by the exact URL, current or former, and moves nothing', () => {
    const subscriptions = subscriptionSet({ id: 1, urls: [u, v], guids: [A] });
    expect(
      post(subscriptions, { feedUrl: v }, { feedUrl: u }).success.map((item) => item.guid),
    ).toEqual([A, A]);
    expect(changedRow(subscriptions, 1)).toMatchObject({ feedUrl: u, guid: A });
  });

  it('prefers a match by the URL to one by its derived guid', () => {
    const subscriptions = subscriptionSet(
      { id: 1, urls: [v], guids: [podcastGuid(u)] },
      { id: 2, urls: [w, u], guids: [B] },
    );
    expect(post(subscriptions, { feedUrl: u }).success[0]?.guid).toBe(B);
  });

  it('matches by the derived guid and adds the URL as an alias', () => {
    const subscriptions = subscriptionSet({ id: 1, urls: [v], guids: [A, podcastGuid(u)] });
    const sent = u.replace('https', 'http');
    expect(post(subscriptions, { feedUrl: sent }).success[0]).toMatchObject({
      feed_url: sent,
      guid: A,
    });
    expect(changedRow(subscriptions, 1)).toMatchObject({ feedUrl: v, guid: A, guidChanged: null });
    expect(subscriptions.byUrl(sent)?.id).toBe(1);
  });

  it('creates a subscription with the derived guid', () => {
    const subscriptions = subscriptionSet();
    expect(post(subscriptions, { feedUrl: u }).success[0]?.guid).toBe(podcastGuid(u));
  });
});

describe('the guid derived from a URL', () => {
  it('matches the subscription in addition to the declared guid', () => {
    const subscriptions = subscriptionSet();
    post(subscriptions, { feedUrl: u, guid: A });
    expect(subscriptions.byGuid(podcastGuid(u))?.id).toBe(100);
    expect(post(subscriptions, { feedUrl: plain(u) }).success[0]).toMatchObject({ guid: A });
    expect(subscriptions.byUrl(plain(u))?.id).toBe(100);
  });

  it('matches the subscription for each of its URLs', () => {
    const subscriptions = subscriptionSet({ id: 1, urls: [u], guids: [A] });
    post(subscriptions, { feedUrl: v, guid: A });
    expect(subscriptions.byGuid(podcastGuid(v))?.id).toBe(1);
  });

  it('moves with its URL', () => {
    const subscriptions = subscriptionSet(
      { id: 1, urls: [u], guids: [A] },
      { id: 2, urls: [w, v], guids: [B] },
    );
    post(subscriptions, { feedUrl: v, guid: A });
    expect(subscriptions.byGuid(podcastGuid(v))?.id).toBe(1);
  });

  it('stays if it is the current guid, and counts as declared if a client sent it', () => {
    const derived = podcastGuid(v);
    const subscriptions = subscriptionSet(
      { id: 1, urls: [u], guids: [A] },
      { id: 2, urls: [w, v], guids: [derived] },
    );
    post(subscriptions, { feedUrl: v, guid: A });
    expect(subscriptions.byUrl(v)?.id).toBe(1);
    expect(subscriptions.byGuid(derived)?.id).toBe(2);
    expect(changedRow(subscriptions, 2)).toMatchObject({
      guid: derived,
      declaredGuids: 1,
      subscriptionChanged: now,
    });
  });

  it('lets a declared guid with a new URL become the current one', () => {
    const subscriptions = subscriptionSet({
      id: 1,
      urls: [plain(u)],
      guids: [podcastGuid(u)],
      declared: [],
    });
    expect(post(subscriptions, { feedUrl: u, guid: A }).success[0]).toMatchObject({
      feed_url: u,
      guid: A,
    });
    expect(changedRow(subscriptions, 1)).toMatchObject({
      guid: A,
      guidChanged: now,
      feedUrl: plain(u),
      declaredGuids: 1,
    });
    expect(subscriptions.byUrl(u)?.id).toBe(1);
  });

  it('is omitted above the quota of guids, and the entry is applied', () => {
    const subscriptions = subscriptionSetWithQuotas({ guids: 1 });
    expect(post(subscriptions, { feedUrl: u, guid: A }).failure).toEqual([]);
    expect(subscriptions.byGuid(podcastGuid(u))).toBeUndefined();
    expect(subscriptions.quota.isExceeded).toBe(false);
  });
});

describe('a guid counts as declared', () => {
  const declared = (...entries: Parameters<typeof post>[1][]) => {
    const subscriptions = subscriptionSet();
    post(subscriptions, ...entries);
    return changedRow(subscriptions, 100)?.declaredGuids;
  };

  it.each<[number, string, Parameters<typeof post>[1][]]>([
    [0, 'not if the server derived it', [{ feedUrl: u }]],
    [
      0,
      'not if it is derived from the URL, even if a client sent it',
      [{ feedUrl: u, guid: podcastGuid(u) }],
    ],
    [1, 'if a client sent it', [{ feedUrl: u, guid: A }]],
    [1, 'if a client sent it later', [{ feedUrl: u }, { feedUrl: u, guid: A }]],
    [
      2,
      'each separately',
      [
        { feedUrl: u, guid: A },
        { feedUrl: u, guid: B },
        { feedUrl: u, guid: A },
      ],
    ],
    [
      1,
      'if it is derived from a URL that the subscription does not have',
      [{ feedUrl: u, guid: podcastGuid(v) }],
    ],
    [
      0,
      'no longer once the subscription gets that URL',
      [{ feedUrl: u, guid: podcastGuid(v) }, { feedUrl: v }],
    ],
  ])('%i: %s', (count, _, entries) => expect(declared(...entries)).toBe(count));

  it('also after a merge', () => {
    const subscriptions = subscriptionSet(
      { id: 1, urls: [u], guids: [A] },
      { id: 2, urls: [v], guids: [podcastGuid(v)], declared: [] },
    );
    post(subscriptions, { feedUrl: v, guid: A });
    expect(changedRow(subscriptions, 1)?.declaredGuids).toBe(1);
    expect(changedRow(subscriptions, 2)?.declaredGuids).toBe(0);
  });
});

describe('a tombstone never blocks a live subscription', () => {
  const gone: SubscriptionFixture = {
    id: 2,
    urls: [v, w],
    guids: [B, C],
    deleted: earlier,
    isSubscribed: false,
  };
  const live: SubscriptionFixture = { id: 1, urls: [u], guids: [A] };

  it('loses its current URL to the subscription with the guid', () => {
    const subscriptions = subscriptionSet(live, gone);
    post(subscriptions, { feedUrl: v, guid: A });
    expect(changedRow(subscriptions, 1)).toMatchObject({ feedUrl: v });
    expect(subscriptions.byUrl(v)?.id).toBe(1);
    expect(subscriptions.byUrl(w)?.id).toBe(2);
    expect(changedRow(subscriptions, 2)).toMatchObject({ changed: earlier, hasLostUrl: true });
  });

  it('loses a former guid to the live subscription with the URL', () => {
    const subscriptions = subscriptionSet(live, gone);
    expect(post(subscriptions, { feedUrl: u, guid: C }).success).toEqual([
      { feed_url: u, guid: A, is_subscribed: true, subscription_changed: now },
    ]);
    expect(subscriptions.byGuid(C)?.id).toBe(1);
    expect(subscriptions.byGuid(B)?.id).toBe(2);
  });

  it('becomes a pointer to the new owner of its current guid', () => {
    const subscriptions = subscriptionSet(live, gone);
    post(subscriptions, { feedUrl: u, guid: B });
    expect(changedRow(subscriptions, 2)).toMatchObject({ mergedInto: 1, mergedAt: now, guid: B });
    expect([
      subscriptions.byGuid(B)?.id,
      subscriptions.byGuid(C)?.id,
      subscriptions.byUrl(v)?.id,
    ]).toEqual([1, 1, 1]);
    expect(subscriptions.changes().merges).toEqual([
      { from: 2, into: 1, hasStates: false, survivor: 1 },
    ]);
  });

  it('loses its URL to the live subscription with the derived guid', () => {
    const subscriptions = subscriptionSet(
      { ...gone, urls: [v], guids: [B] },
      { id: 1, urls: [plain(v)], guids: [A] },
    );
    post(subscriptions, { feedUrl: v });
    expect(subscriptions.byUrl(v)?.id).toBe(1);
    expect(changedRow(subscriptions, 2)).toMatchObject({ changed: earlier, hasLostUrl: true });
  });

  it('loses a guid to the live subscription with the derived guid of a new URL', () => {
    const subscriptions = subscriptionSet(
      { id: 1, urls: [plain(u)], guids: [A] },
      { ...gone, urls: [v] },
    );
    expect(post(subscriptions, { feedUrl: u, guid: C }).success[0]).toMatchObject({ guid: A });
    expect(subscriptions.byGuid(C)?.id).toBe(1);
  });

  it('is revived by its guid or URL if no live subscription matches', () => {
    for (const entry of [
      { feedUrl: v },
      { feedUrl: w },
      { feedUrl: 'https://new.example', guid: C },
    ]) {
      const subscriptions = subscriptionSet(live, gone);
      post(subscriptions, entry);
      expect(changedRow(subscriptions, 2)).toMatchObject({ deleted: null, isSubscribed: true });
    }
  });

  it('is revived by its URL with a new guid, which becomes the current one', () => {
    const subscriptions = subscriptionSet(gone);
    expect(post(subscriptions, { feedUrl: v, guid: A }).success[0]?.guid).toBe(A);
    expect(changedRow(subscriptions, 2)).toMatchObject({
      guid: A,
      guidChanged: now,
      deleted: null,
      isSubscribed: true,
    });
    expect(subscriptions.byGuid(B)?.id).toBe(2);
  });

  it('that lost its current URL is revived at the sent URL', () => {
    for (const sent of [undefined, B]) {
      const subscriptions = subscriptionSet(live, gone);
      post(subscriptions, { feedUrl: v, guid: A }, { feedUrl: w, guid: sent });
      expect(changedRow(subscriptions, 1)).toMatchObject({ feedUrl: v });
      expect(changedRow(subscriptions, 2)).toMatchObject({ feedUrl: w, deleted: null });
    }
  });

  it("passes on a guid that is derived from the new owner's URL as undeclared", () => {
    const subscriptions = subscriptionSet(
      { id: 1, urls: [u], guids: [A], declared: [] },
      { ...gone, guids: [B, podcastGuid(u)] },
    );
    post(subscriptions, { feedUrl: u, guid: podcastGuid(u) });
    expect(subscriptions.byGuid(podcastGuid(u))?.id).toBe(1);
    expect(changedRow(subscriptions, 1)).toMatchObject({ declaredGuids: 0 });
  });

  it('can become a pointer together with many others in one request', () => {
    const tombstones = Array.from({ length: 50 }, (_, index): SubscriptionFixture => {
      const url = `https://gone.example/${index}`;
      return {
        id: 200 + index,
        urls: [url],
        guids: [podcastGuid(url)],
        declared: [],
        deleted: earlier,
      };
    });
    const subscriptions = subscriptionSet(live, ...tombstones);
    const { success } = post(
      subscriptions,
      ...tombstones.map(({ guids }) => ({ feedUrl: u, guid: guids[0] })),
    );
    expect(success).toHaveLength(50);
    expect(subscriptions.changes().merges).toHaveLength(50);
  });
});

describe('the merges of one POST', () => {
  const N: SubscriptionFixture = { id: 1, urls: [u], guids: [A] };
  const others = Array.from({ length: 10 }, (_, index): SubscriptionFixture => {
    const url = `https://other.example/${index}`;
    return { id: 10 + index, urls: [url], guids: [podcastGuid(url)], declared: [] };
  });
  const entries = others.map(({ urls }) => ({ feedUrl: urls[0], guid: A }));
  const message =
    'Another subscription is the same podcast, but too large to merge here: ' +
    'send PATCH with new_feed_url';
  const counted = (states: Record<number, number>) =>
    new MergeBudget(new Map([N, ...others].map(({ id }) => [id, states[id] ?? 0])));

  it('are limited to 8 pairs; further entries fail with limit_reached', () => {
    const subscriptions = subscriptionSet(N, ...others);
    const { success, failure } = post(subscriptions, ...entries);
    expect(success).toHaveLength(8);
    expect(failure).toEqual(
      entries
        .slice(8)
        .map(({ feedUrl }) => ({ feed_url: feedUrl, code: 'limit_reached', message })),
    );
    expect(subscriptions.changes().merges).toHaveLength(8);
    expect([
      subscriptions.byUrl(entries[8]!.feedUrl)?.id,
      subscriptions.byUrl(entries[9]!.feedUrl)?.id,
    ]).toEqual([18, 19]);
  });

  it('are limited to 20,000 states, each subscription counted once', () => {
    const subscriptions = subscriptionSet(N, ...others);
    const judged = entries.slice(0, 4).map(validateEntry);
    const { success, failure } = applyBatch(
      subscriptions,
      judged,
      counted({ 1: 9_000, 10: 6_000, 11: 5_001, 12: 5_000 }),
    );
    expect(success.map((item) => item.feed_url)).toEqual(
      [0, 2, 3].map((index) => entries[index]?.feedUrl),
    );
    expect(failure).toEqual([{ feed_url: entries[1]?.feedUrl, code: 'limit_reached', message }]);
  });

  it('first collect the subscriptions to count', () => {
    const budget = new MergeBudget();
    applyBatch(subscriptionSet(N, ...others), entries.slice(0, 2).map(validateEntry), budget);
    expect([...budget.uncounted]).toEqual([10, 1, 11]);
  });
});

describe('a timestamp', () => {
  const at = (minute: number) => `2026-01-15T00:${String(minute).padStart(2, '0')}:00.000000Z`;
  const sent = (minute: number) => `2026-01-15T01:${String(minute).padStart(2, '0')}:00+01:00`;
  const current = (row: Partial<SubscriptionFixture> = {}): SubscriptionFixture => ({
    id: 1,
    urls: [u],
    guids: [A],
    subscribedAt: at(10),
    ...row,
  });
  const message = 'The subscription was unsubscribed or deleted after the timestamp';

  it('becomes the time of a new subscription', () => {
    const subscriptions = subscriptionSet();
    post(subscriptions, { feedUrl: u, timestamp: sent(5) });
    expect(changedRow(subscriptions, 100)?.subscribedAt).toBe(at(5));
  });

  it('defaults to the time of the database, not to the stamp', () => {
    const subscriptions = subscriptionSet();
    post(subscriptions, { feedUrl: u });
    expect(changedRow(subscriptions, 100)?.subscribedAt).toBe(`${now.slice(0, 23)}000Z`);
  });

  it('is not needed to subscribe again if the current time is in the future', () => {
    const subscriptions = subscriptionSet(
      current({ isSubscribed: false, subscribedAt: '2026-02-02T00:04:00.000000Z' }),
    );
    expect(post(subscriptions, { feedUrl: u }).failure).toEqual([]);
    expect(changedRow(subscriptions, 1)).toMatchObject({
      isSubscribed: true,
      subscribedAt: '2026-02-02T00:04:00.000000Z',
    });
  });

  it('that is later subscribes and becomes the current time', () => {
    const subscriptions = subscriptionSet(current({ isSubscribed: false }));
    expect(post(subscriptions, { feedUrl: u, timestamp: sent(11) }).success).toHaveLength(1);
    expect(changedRow(subscriptions, 1)).toMatchObject({
      isSubscribed: true,
      subscribedAt: at(11),
      subscriptionChanged: now,
    });
  });

  it('that is earlier than an unsubscription is superseded and changes nothing', () => {
    const subscriptions = subscriptionSet(current({ isSubscribed: false }));
    expect(post(subscriptions, { feedUrl: u, timestamp: sent(9) }).failure).toEqual([
      { feed_url: u, code: 'superseded', message },
    ]);
    expect(subscriptions.changes()).toEqual(nothing);
  });

  it('that is earlier leaves a subscribed row unchanged, with success', () => {
    const subscriptions = subscriptionSet(current());
    expect(post(subscriptions, { feedUrl: u, timestamp: sent(9) }).success).toEqual([
      { feed_url: u, guid: A, is_subscribed: true, subscription_changed: earlier },
    ]);
    expect(subscriptions.changes()).toEqual(nothing);
  });

  it('that is earlier moves nothing, but adds the guid and URL as aliases', () => {
    const subscriptions = subscriptionSet(current());
    post(
      subscriptions,
      { feedUrl: v, guid: A, timestamp: sent(9) },
      { feedUrl: u, guid: B, timestamp: sent(9) },
    );
    expect(changedRow(subscriptions, 1)).toMatchObject({
      feedUrl: u,
      guid: A,
      subscriptionChanged: earlier,
      guidChanged: null,
    });
    expect([subscriptions.byUrl(v)?.id, subscriptions.byGuid(B)?.id]).toEqual([1, 1]);
  });

  it('that is earlier moves no guid or URL of a live subscription and merges nothing', () => {
    const other: SubscriptionFixture = {
      id: 2,
      urls: [v, w],
      guids: [podcastGuid(v)],
      declared: [],
    };
    const subscriptions = subscriptionSet(current(), other);
    const { success } = post(
      subscriptions,
      { feedUrl: v, guid: A, timestamp: sent(9) },
      { feedUrl: w, guid: A, timestamp: sent(9) },
    );
    expect(success).toHaveLength(2);
    expect(subscriptions.changes()).toEqual(nothing);
  });

  it('that is earlier than the DELETE of a tombstone is superseded and adds no alias', () => {
    const subscriptions = subscriptionSet(current({ deleted: earlier }));
    const entries = [{ feedUrl: u }, { feedUrl: v, guid: A }].map((entry) => ({
      ...entry,
      timestamp: sent(9),
    }));
    expect(post(subscriptions, ...entries).failure.map(({ code }) => code)).toEqual([
      'superseded',
      'superseded',
    ]);
    expect(subscriptions.changes()).toEqual(nothing);
  });

  it('that is not earlier than the DELETE revives a tombstone', () => {
    const subscriptions = subscriptionSet(current({ deleted: earlier }));
    post(subscriptions, { feedUrl: u, timestamp: sent(10) });
    expect(changedRow(subscriptions, 1)).toMatchObject({
      deleted: null,
      isSubscribed: true,
      subscribedAt: at(10),
    });
  });

  it('that is earlier than a pending DELETE is superseded', () => {
    const subscriptions = subscriptionSet(current({ deletionId: 7 }));
    expect(post(subscriptions, { feedUrl: u, timestamp: sent(9) }).failure).toEqual([
      { feed_url: u, code: 'superseded', message },
    ]);
    expect(subscriptions.changes()).toEqual(nothing);
  });

  it.each([{ isSubscribed: false }, { deletionId: 7 }])(
    'that is earlier than the state of a mergeable row merges nothing: %o',
    (newer) => {
      const old: SubscriptionFixture = { id: 1, urls: [u], guids: [A], isSubscribed: false };
      const derived: SubscriptionFixture = {
        id: 2,
        urls: [v],
        guids: [podcastGuid(v)],
        subscribedAt: at(10),
        ...newer,
      };
      const subscriptions = subscriptionSet(old, derived);
      expect(
        post(subscriptions, { feedUrl: v, guid: A, timestamp: sent(9) }).failure[0],
      ).toMatchObject({
        code: 'superseded',
      });
      expect(subscriptions.changes()).toMatchObject({ rows: [], merges: [] });
      post(subscriptions, { feedUrl: v, guid: A, timestamp: sent(11) });
      expect(subscriptions.byUrl(v)).toMatchObject({ id: 1, isSubscribed: true });
    },
  );

  it.each([sent(10), sent(11), undefined])(
    'that is not earlier than a pending DELETE cancels it: %s',
    (timestamp) => {
      const subscriptions = subscriptionSet(current({ deletionId: 7 }));
      post(subscriptions, { feedUrl: u, timestamp });
      expect(changedRow(subscriptions, 1)).toMatchObject({ deletionId: null, isSubscribed: true });
    },
  );

  it('more than 5 minutes ahead of the arrival counts as the arrival', () => {
    const subscriptions = subscriptionSet(current({ isSubscribed: false }));
    post(subscriptions, { feedUrl: u, timestamp: '2026-02-02T00:05:00.001Z' });
    expect(changedRow(subscriptions, 1)?.subscribedAt).toBe('2026-02-02T00:00:00.000000Z');
  });

  it.each([sent(9), sent(10), '2027-01-01T00:00:00Z'])(
    'that is not later or clamped leaves a subscribed row unchanged: %s',
    (timestamp) => {
      const subscriptions = subscriptionSet(current());
      expect(post(subscriptions, { feedUrl: u, timestamp }).success).toHaveLength(1);
      expect(subscriptions.changes()).toEqual(nothing);
    },
  );

  it('before 1970 counts as 1970 for a feed without a subscription', () => {
    const subscriptions = subscriptionSet();
    expect(
      post(subscriptions, { feedUrl: u, timestamp: '1960-01-01T00:00:00Z' }).success,
    ).toHaveLength(1);
    expect(changedRow(subscriptions, 100)?.subscribedAt).toBe('1970-01-01T00:00:00.000000Z');
  });

  it.each(['', '2026-01-15T00:00'])('other than RFC 3339 is invalid_value: %j', (timestamp) => {
    const fault = {
      code: 'invalid_value',
      message: 'The timestamp is not a date and time (RFC 3339)',
    };
    expect(validateEntry({ feedUrl: u, timestamp })).toEqual({ feedUrl: u, fault });
  });
});

describe('a matched subscription', () => {
  it('is subscribed again, stamped, and no longer a tombstone', () => {
    const subscriptions = subscriptionSet({
      id: 1,
      urls: [u],
      guids: [A],
      deleted: earlier,
      isSubscribed: false,
    });
    post(subscriptions, { feedUrl: u });
    expect(changedRow(subscriptions, 1)).toMatchObject({
      isSubscribed: true,
      deleted: null,
      subscriptionChanged: now,
      changed: now,
    });
  });

  it('is matched by later entries in its changed state', () => {
    const subscriptions = subscriptionSet();
    const { success } = post(
      subscriptions,
      { feedUrl: u, guid: A },
      { feedUrl: v, guid: A },
      { feedUrl: u },
      { feedUrl: v, guid: C },
    );
    expect(success.map((item) => item.guid)).toEqual([C, C, C, C]);
    expect(subscriptions.changes().rows).toHaveLength(1);
    expect(changedRow(subscriptions, 100)).toMatchObject({ feedUrl: v, guid: C });
  });

  it('gets one former guid per request: the guid before the request', () => {
    const subscriptions = subscriptionSet({ id: 1, urls: [u], guids: [A] });
    post(subscriptions, { feedUrl: u, guid: B }, { feedUrl: u, guid: C });
    expect(subscriptions.changes().formerGuids).toEqual([[1, A]]);
  });
});

describe('an exceeded quota', () => {
  const X: SubscriptionFixture = { id: 1, urls: [u, w], guids: [A] };
  const gone: SubscriptionFixture = {
    id: 2,
    urls: [v],
    guids: [B],
    deleted: earlier,
    isSubscribed: false,
  };

  it.each<[string, Partial<RowCounts>, { feedUrl: string; guid?: string }]>([
    ['a new subscription', { live: 0 }, { feedUrl: 'https://new.example' }],
    ['a new subscription without a guid', { guids: 0 }, { feedUrl: 'https://new.example' }],
    ['a new subscription without a URL', { urls: 0 }, { feedUrl: 'https://new.example', guid: C }],
    ['the revival of a tombstone', { live: 0 }, { feedUrl: v }],
    ['a move to a new URL', { urls: 0 }, { feedUrl: 'https://new.example', guid: A }],
    ['a new current guid', { guids: 0 }, { feedUrl: u, guid: C }],
    ['a change of the guid', { guidChanges: 0 }, { feedUrl: u, guid: C }],
    ['a guid as an alias', { guids: 0 }, { feedUrl: w, guid: C }],
  ])('rejects %s and changes nothing', (_, left, entry) => {
    const subscriptions = subscriptionSetWithQuotas(left, X, gone);
    expect(post(subscriptions, entry)).toMatchObject({
      success: [],
      failure: [{ feed_url: entry.feedUrl, code: 'limit_reached' }],
    });
    expect(subscriptions.changes()).toEqual(nothing);
  });

  it('does not affect existing subscriptions and names', () => {
    const subscriptions = subscriptionSetWithQuotas(none, X, { id: 2, urls: [v], guids: [B] });
    const entries = [
      { feedUrl: u },
      { feedUrl: w, guid: A },
      { feedUrl: w, guid: B },
      { feedUrl: v },
    ];
    expect(post(subscriptions, ...entries).success).toHaveLength(4);
    expect(subscriptions.quota.isExceeded).toBe(false);
  });

  it('rejects the later entries of a batch', () => {
    const feeds = ['a', 'b', 'c'].map((name) => ({ feedUrl: `https://${name}.example` }));
    const { success, failure } = post(
      subscriptionSetWithQuotas({ live: 2 }, X),
      ...feeds,
      { feedUrl: u },
      feeds[0] as { feedUrl: string },
    );
    expect(success.map((item) => item.feed_url)).toEqual([
      'https://a.example',
      'https://b.example',
      u,
      'https://a.example',
    ]);
    expect(failure.map((item) => item.feed_url)).toEqual(['https://c.example']);
  });
});

it('keeps every name at exactly one subscription for any batches', () => {
  const entry = fc.record(
    {
      feedUrl: fc.constantFrom(u, v, w, 'https://x.example/feed', 'http://u.example/feed'),
      guid: fc.constantFrom(A, B, C, podcastGuid(u)),
    },
    { requiredKeys: ['feedUrl'] },
  );
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 12 }), (entries) => {
      const subscriptions = subscriptionSet(
        { id: 1, urls: [u], guids: [A] },
        { id: 2, urls: [w, v], guids: [B] },
      );
      const { success, failure } = post(subscriptions, ...entries);
      expect(success.length + failure.length).toBe(entries.length);
      expect(failure.every(({ code }) => code === 'feed_url_taken')).toBe(true);
      for (const row of subscriptions.changes().rows) {
        const [byGuid, byUrl] = [subscriptions.byGuid(row.guid), subscriptions.byUrl(row.feedUrl)];
        // Guids and URLs of a pointer belong to its survivor, and can move on from there.
        const isPointer = row.mergedInto !== null;
        expect(
          [byGuid, byUrl].every((named) =>
            isPointer ? named?.deleted === null : named?.id === row.id,
          ),
        ).toBe(true);
        expect(row.isSubscribed && row.deleted === null).toBe(true);
      }
      expect(entries.every(({ feedUrl }) => subscriptions.byUrl(feedUrl))).toBe(true);
      expect(
        entries.every((sent) => sent.guid === undefined || subscriptions.byGuid(sent.guid)),
      ).toBe(true);
      expect([u, w, v].map((url) => subscriptions.byUrl(url)?.deleted)).toEqual([null, null, null]);
      const survivors = new Set(
        subscriptions.changes().merges.map(({ survivor }) => subscriptions.byId(survivor).id),
      );
      expect(subscriptions.changes().merges.every(({ from }) => !survivors.has(from))).toBe(true);
    }),
  );
});

describe('a title', () => {
  const at = (day: number) => `2026-01-0${day}T00:00:00.000000Z`;
  const row = { id: 1, urls: [u], guids: [A], subscribedAt: at(5) } satisfies SubscriptionFixture;
  const titled = { ...row, title: 'Old', titleAt: at(5) };

  it('belongs to a new subscription', () => {
    const subscriptions = subscriptionSet();
    post(subscriptions, { feedUrl: u, title: 'New', timestamp: at(3) });
    expect(subscriptions.changes().rows).toMatchObject([
      { title: 'New', titleAt: at(3), changed: now },
    ]);
  });

  it.each([
    ['replaces an older one', titled, at(6), 'New'],
    ['replaces one of the same time', titled, at(5), 'New'],
    ['replaces an older removal', { ...titled, title: null }, at(6), 'New'],
    ['is added, whatever the time of the subscription', row, at(1), 'New'],
    ['is added to an unsubscribed one', { ...row, isSubscribed: false }, at(1), 'New'],
  ])('%s, which is a change', (_, stored, timestamp, title) => {
    const subscriptions = subscriptionSet(stored);
    post(subscriptions, { feedUrl: u, title: 'New', timestamp });
    expect(changedRow(subscriptions, 1)).toMatchObject({
      title,
      titleAt: timestamp,
      subscriptionChanged: now,
      changed: now,
      flippedAt: earlier,
    });
  });

  it.each([
    ['older', titled, { title: 'New', timestamp: at(4) }],
    ['older than a removal', { ...titled, title: null }, { title: 'New', timestamp: at(4) }],
    ['equal', titled, { title: 'Old', timestamp: at(5) }],
    ['not sent', titled, { timestamp: at(5) }],
    ['of a deleted subscription', { ...row, deleted: earlier }, { title: 'A', timestamp: at(4) }],
  ])('that is %s changes nothing', (_, stored, entry) => {
    const subscriptions = subscriptionSet(stored);
    post(subscriptions, { feedUrl: u, ...entry });
    expect(subscriptions.changes()).toEqual(nothing);
  });

  it('that is equal but later stores its time without a stamp', () => {
    const subscriptions = subscriptionSet({ ...titled, subscribedAt: at(9) });
    post(subscriptions, { feedUrl: u, title: 'Old', timestamp: at(7) });
    expect(changedRow(subscriptions, 1)).toMatchObject({ titleAt: at(7), changed: earlier });
  });

  it.each([
    ['the later one', 'Old', at(6), at(5), 'Old'],
    ['the only one', 'Old', at(4), null, 'Old'],
    ['none if it was removed later', 'Old', at(4), at(5), null],
  ])('survives a merge: %s', (_, title, titleAt, removedAt, kept) => {
    const subscriptions = subscriptionSet(
      { id: 1, urls: [u], guids: [A], declared: [], title, titleAt },
      { id: 2, urls: [v], guids: [B], titleAt: removedAt },
    );
    post(subscriptions, { feedUrl: u, guid: B });
    expect(changedRow(subscriptions, 1)).toMatchObject({
      mergedInto: 2,
      title: null,
      titleAt: null,
    });
    expect(changedRow(subscriptions, 2)).toMatchObject({ title: kept });
  });
});

describe('equal URLs', () => {
  const pairs = inBothOrders([...equalUrls, ...decodedUrls]);

  it.each(pairs)('make one subscription, shown as first sent: %s, %s', (first, second) => {
    const subscriptions = subscriptionSet();
    const { success } = post(subscriptions, { feedUrl: first }, { feedUrl: second });
    expect(success.map((item) => item.feed_url)).toEqual([first, second]);
    expect(success.map((item) => item.guid)).toEqual([podcastGuid(first), podcastGuid(first)]);
    expect(subscriptions.changes()).toMatchObject({
      rows: [{ feedUrl: first }],
      added: { urls: 1 },
    });
  });

  it.each(pairs)(
    'are the same URL of a subscription, so nothing moves: %s, %s',
    (first, second) => {
      const subscriptions = subscriptionSet({ id: 1, urls: [first], guids: [A] });
      post(subscriptions, { feedUrl: second, guid: A });
      expect(subscriptions.changes()).toMatchObject({
        rows: [{ id: 1, feedUrl: first }],
        urls: [],
      });
    },
  );

  it.each(pairs)('are the current URL of another podcast: %s, %s', (first, second) => {
    const subscriptions = subscriptionSet(
      { id: 1, urls: [first], guids: [A] },
      { id: 2, urls: [v], guids: [B] },
    );
    expect(post(subscriptions, { feedUrl: second, guid: B }).failure).toMatchObject([
      { feed_url: second, code: 'feed_url_taken', guid: A },
    ]);
  });

  it.each(pairs)('move from a tombstone, which has lost its URL: %s, %s', (first, second) => {
    const tombstone = {
      id: 1,
      urls: [first],
      guids: [A],
      deleted: earlier,
    } satisfies SubscriptionFixture;
    const subscriptions = subscriptionSet(tombstone, { id: 2, urls: [v], guids: [B] });
    post(subscriptions, { feedUrl: second, guid: B });
    expect(changedRow(subscriptions, 1)).toMatchObject({ feedUrl: first, hasLostUrl: true });
    expect(changedRow(subscriptions, 2)).toMatchObject({ feedUrl: second });
  });

  it.each(inBothOrders(differentUrls))('are not %s and %s', (first, second) => {
    const { success } = post(subscriptionSet(), { feedUrl: first }, { feedUrl: second });
    expect(new Set(success.map((item) => item.guid)).size).toBe(2);
  });
});
