import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changedRow, type Described, earlier, guid, now, world, worldWith } from '../testing/known.world.js';
import type { KnownSubscriptions, Remaining } from './known-subscriptions.js';
import { podcastGuid } from './podcast-guid.rule.js';
import { applyBatch, judgeEntry } from './subscribe.rule.js';

const [A, B, C] = ['a', 'b', 'c'].map(guid) as [string, string, string];
const [u, v, w] = ['https://u.example/feed', 'https://v.example/feed', 'https://w.example/feed'] as const;

function post(known: KnownSubscriptions, ...entries: { feedUrl: string; guid?: string }[]) {
  return applyBatch(known, entries.map(judgeEntry), now);
}

describe('judgeEntry', () => {
  it.each([
    ['podnews.net/rss', 'No protocol present'],
    ['ftp://podnews.net/rss', 'The URL is neither http nor https'],
    ['https://', 'The URL has no valid host'],
    ['https://podnews.net/r ss', 'The URL contains white space'],
    ['https://podnews.net/\0', 'The URL contains a NUL character'],
    [`https://podnews.net/${'x'.repeat(4_077)}`, 'The URL is longer than 4096 bytes'],
  ])('says what is wrong with a feed_url and echoes it: %j', (feedUrl, message) => {
    expect(judgeEntry({ feedUrl })).toEqual({ feedUrl, fault: { code: 'invalid_url', message } });
  });

  it.each(['', 'no uuid', `{${A}}`])('refuses a guid that is no valid UUID string: %j', (sent) => {
    const fault = { code: 'invalid_guid', message: 'The guid is not a valid UUID' };
    expect(judgeEntry({ feedUrl: u, guid: sent })).toEqual({ feedUrl: u, fault });
  });

  it('takes a guid of any version in any case and lowers it', () => {
    expect(judgeEntry({ feedUrl: u, guid: 'ABCDEF00-0000-9000-F000-00000000000F' })).toMatchObject({
      guid: 'abcdef00-0000-9000-f000-00000000000f',
    });
  });

  it('keeps the URL as it was sent', () => {
    const feedUrl = 'HTTPS://User@Example.COM:443/%7Efeed/../x?q=ä#f';
    expect(judgeEntry({ feedUrl })).toMatchObject({ feedUrl });
  });
});

describe('a batch', () => {
  it('keeps the order of the request in each array and always has both', () => {
    const known = world();
    expect(post(known)).toEqual({ success: [], failure: [] });
    const answer = post(known, { feedUrl: v }, { feedUrl: 'x' }, { feedUrl: u }, { feedUrl: 'y' }, { feedUrl: w });
    expect(answer.success.map((item) => item.feed_url)).toEqual([v, u, w]);
    expect(answer.failure.map((item) => item.feed_url)).toEqual(['x', 'y']);
  });

  it('makes one subscription and two success items of the same feed sent twice', () => {
    const known = world();
    const { success } = post(known, { feedUrl: u }, { feedUrl: u });
    expect(success).toHaveLength(2);
    expect(success[0]).toEqual(success[1]);
    expect(known.changes().rows).toHaveLength(1);
  });

  it('shows in every success item the current guid after the whole batch', () => {
    const { success } = post(world(), { feedUrl: u }, { feedUrl: u, guid: A });
    expect(success.map((item) => item.guid)).toEqual([A, A]);
  });
});

describe('an entry with a guid that is known', () => {
  it('finds its subscription; a URL that is current there moves nothing', () => {
    const known = world({ id: 1, urls: [u], guids: [A] });
    expect(post(known, { feedUrl: u, guid: A }).success).toEqual([
      { feed_url: u, guid: A, is_subscribed: true, subscription_changed: now },
    ]);
    expect(changedRow(known, 1)).toMatchObject({ feedUrl: u, guid: A, guidChanged: null, added: now });
  });

  it('finds its subscription; a URL that is a former one there moves nothing', () => {
    const known = world({ id: 1, urls: [u, v], guids: [A] });
    post(known, { feedUrl: v, guid: A });
    expect(changedRow(known, 1)).toMatchObject({ feedUrl: u });
  });

  it('moves its subscription to a URL never seen, the old one stays an alias', () => {
    const known = world({ id: 1, urls: [u], guids: [A] });
    expect(post(known, { feedUrl: v, guid: A }).success[0]).toMatchObject({ feed_url: v, guid: A });
    expect(changedRow(known, 1)).toMatchObject({ feedUrl: v, subscriptionChanged: now, guidChanged: null });
    expect([known.byUrl(u)?.id, known.byUrl(v)?.id]).toEqual([1, 1]);
  });

  it('moves its subscription to a URL that is a former one of another, which passes over', () => {
    const known = world({ id: 1, urls: [u], guids: [A] }, { id: 2, urls: [w, v], guids: [B] });
    post(known, { feedUrl: v, guid: A });
    expect(changedRow(known, 1)).toMatchObject({ feedUrl: v });
    expect(known.byUrl(v)?.id).toBe(1);
    expect(changedRow(known, 2)).toBeUndefined();
  });

  it('leaves a URL that is current at another one there: nothing moves, nothing merges', () => {
    const known = world({ id: 1, urls: [u], guids: [A] }, { id: 2, urls: [v], guids: [B] });
    expect(post(known, { feedUrl: v, guid: A }).success[0]).toMatchObject({ feed_url: v, guid: A });
    expect(changedRow(known, 1)).toMatchObject({ feedUrl: u, subscriptionChanged: now });
    expect(known.byUrl(v)?.id).toBe(2);
    expect(known.changes()).toMatchObject({ merges: [], guids: [], urls: [] });
  });

  it('finds its subscription by a former guid and answers with the current one', () => {
    const known = world({ id: 1, urls: [u], guids: [B, A] });
    expect(post(known, { feedUrl: u, guid: A }).success[0]?.guid).toBe(B);
    expect(changedRow(known, 1)).toMatchObject({ guid: B, guidChanged: null });
  });
});

describe('an entry with a guid that is unknown', () => {
  it('makes it the current guid of the subscription whose current URL was sent, as PATCH new_guid does', () => {
    const known = world({ id: 1, urls: [u], guids: [A] });
    expect(post(known, { feedUrl: u, guid: B }).success[0]?.guid).toBe(B);
    expect(changedRow(known, 1)).toMatchObject({ guid: B, guidChanged: now });
    expect(known.changes().formerGuids).toEqual([[1, A]]);
    expect([known.byGuid(A)?.id, known.byGuid(B)?.id]).toEqual([1, 1]);
  });

  it('becomes an alias of the subscription whose former URL was sent', () => {
    const known = world({ id: 1, urls: [u, v], guids: [A] });
    expect(post(known, { feedUrl: v, guid: B }).success[0]).toMatchObject({ feed_url: v, guid: A });
    expect(known.byGuid(B)?.id).toBe(1);
    expect(changedRow(known, 1)).toMatchObject({ guid: A, feedUrl: u, guidChanged: null });
  });

  it('creates a subscription with a URL that is unknown too', () => {
    const known = world();
    expect(post(known, { feedUrl: u, guid: A }).success).toEqual([
      { feed_url: u, guid: A, is_subscribed: true, subscription_changed: now },
    ]);
    expect(changedRow(known, 100)).toMatchObject({ feedUrl: u, guid: A, guidChanged: null, deleted: null });
  });
});

describe('an entry without a guid', () => {
  it('finds by the exact URL, current or former, and moves nothing', () => {
    const known = world({ id: 1, urls: [u, v], guids: [A] });
    expect(post(known, { feedUrl: v }, { feedUrl: u }).success.map((item) => item.guid)).toEqual([A, A]);
    expect(changedRow(known, 1)).toMatchObject({ feedUrl: u, guid: A });
  });

  it('goes by the URL before the guid derived from it', () => {
    const known = world({ id: 1, urls: [v], guids: [podcastGuid(u)] }, { id: 2, urls: [w, u], guids: [B] });
    expect(post(known, { feedUrl: u }).success[0]?.guid).toBe(B);
  });

  it('finds by the derived guid; the hit only adds the URL as an alias', () => {
    const known = world({ id: 1, urls: [v], guids: [A, podcastGuid(u)] });
    const sent = u.replace('https', 'http');
    expect(post(known, { feedUrl: sent }).success[0]).toMatchObject({ feed_url: sent, guid: A });
    expect(changedRow(known, 1)).toMatchObject({ feedUrl: v, guid: A, guidChanged: null });
    expect(known.byUrl(sent)?.id).toBe(1);
  });

  it('creates a subscription under the derived guid', () => {
    const known = world();
    expect(post(known, { feedUrl: u }).success[0]?.guid).toBe(podcastGuid(u));
  });
});

describe('a subscription that is found', () => {
  it('is subscribed again, its tombstone cleared, and stamped as added', () => {
    const known = world({ id: 1, urls: [u], guids: [A], deleted: earlier, isSubscribed: false });
    post(known, { feedUrl: u });
    expect(changedRow(known, 1)).toMatchObject({
      isSubscribed: true,
      deleted: null,
      subscriptionChanged: now,
      added: now,
      changed: now,
    });
  });

  it('is seen by later entries as earlier ones left it', () => {
    const known = world();
    const { success } = post(
      known,
      { feedUrl: u, guid: A },
      { feedUrl: v, guid: A },
      { feedUrl: u },
      { feedUrl: v, guid: C },
    );
    expect(success.map((item) => item.guid)).toEqual([C, C, C, C]);
    expect(known.changes().rows).toHaveLength(1);
    expect(changedRow(known, 100)).toMatchObject({ feedUrl: v, guid: C });
  });

  it('has one former guid for one request: the one that was seen before it', () => {
    const known = world({ id: 1, urls: [u], guids: [A] });
    post(known, { feedUrl: u, guid: B }, { feedUrl: u, guid: C });
    expect(known.changes().formerGuids).toEqual([[1, A]]);
  });
});

describe('what a quota does not allow', () => {
  const X: Described = { id: 1, urls: [u, w], guids: [A] };
  const gone: Described = { id: 2, urls: [v], guids: [B], deleted: earlier, isSubscribed: false };

  it.each<[string, Partial<Remaining>, { feedUrl: string; guid?: string }]>([
    ['a new subscription', { live: 0 }, { feedUrl: 'https://new.example' }],
    ['a new subscription for want of guids', { guids: 0 }, { feedUrl: 'https://new.example' }],
    ['a new subscription for want of URLs', { urls: 0 }, { feedUrl: 'https://new.example', guid: C }],
    ['a tombstone that would come back', { live: 0 }, { feedUrl: v }],
    ['a move to a new URL', { urls: 0 }, { feedUrl: 'https://new.example', guid: A }],
    ['a new current guid', { guids: 0 }, { feedUrl: u, guid: C }],
    ['a change to remember', { guidChanges: 0 }, { feedUrl: u, guid: C }],
    ['a guid as one more name', { guids: 0 }, { feedUrl: w, guid: C }],
  ])('is refused and leaves everything as it was: %s', (_, left, entry) => {
    const known = worldWith(left, X, gone);
    expect(post(known, entry)).toMatchObject({
      success: [],
      failure: [{ feed_url: entry.feedUrl, code: 'limit_reached' }],
    });
    expect(known.changes()).toEqual({ rows: [], guids: [], urls: [], formerGuids: [], merges: [] });
  });

  it('is only what is more than before: what the user has goes on', () => {
    const none = { live: 0, pointers: 0, guidChanges: 0, guids: 0, urls: 0 };
    const known = worldWith(none, X, { id: 2, urls: [v], guids: [B] });
    const entries = [{ feedUrl: u }, { feedUrl: w, guid: A }, { feedUrl: w, guid: B }, { feedUrl: v }];
    expect(post(known, ...entries).success).toHaveLength(4);
    expect(known.quota.isExceeded).toBe(false);
  });

  it('is judged entry by entry, in the order of the request', () => {
    const feeds = ['a', 'b', 'c'].map((name) => ({ feedUrl: `https://${name}.example` }));
    const { success, failure } = post(
      worldWith({ live: 2 }, X),
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

it('keeps every name at exactly one subscription and loses none, whatever batches come', () => {
  const entry = fc.record(
    {
      feedUrl: fc.constantFrom(u, v, w, 'https://x.example/feed', 'http://u.example/feed'),
      guid: fc.constantFrom(A, B, C, podcastGuid(u)),
    },
    { requiredKeys: ['feedUrl'] },
  );
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 12 }), (entries) => {
      const known = world({ id: 1, urls: [u], guids: [A] }, { id: 2, urls: [w, v], guids: [B] });
      const { success } = post(known, ...entries);
      expect(success).toHaveLength(entries.length);
      for (const row of known.changes().rows) {
        expect(known.byGuid(row.guid)?.id).toBe(row.id);
        expect(known.byUrl(row.feedUrl)?.id).toBe(row.id);
        expect(row.isSubscribed && row.deleted === null && row.changed === now).toBe(true);
      }
      expect(entries.every(({ feedUrl }) => known.byUrl(feedUrl))).toBe(true);
      expect(entries.every((sent) => sent.guid === undefined || known.byGuid(sent.guid))).toBe(true);
      expect(known.changes().merges).toEqual([]);
    }),
  );
});
