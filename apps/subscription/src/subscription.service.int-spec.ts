import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { podcastGuid, subscribedSchema, subscriptionSchema, updatedSchema } from '#contracts';
import { contentOf, freshUser } from '#testing';
import { decodedUrls, equalUrls } from '../../../libs/contracts/testing/url-vectors.js';
import { call } from '../../../libs/transport/testing/handler-call.js';
import { type Entry, sentBody } from '../testing/sent-entry.js';
import { openService, type ServiceContext } from '../testing/service-context.js';

let context: ServiceContext;
let userId: string;

beforeAll(async () => {
  context = await openService();
});
afterAll(() => context.close());
beforeEach(() => {
  userId = freshUser();
});

const feed = (n: number | string) => `https://podcast.example/${n}`;

async function subscribe(...entries: Entry[]) {
  return contentOf(
    await context.service.subscribe({ userId, body: sentBody(entries) }, call()),
    subscribedSchema,
  );
}

async function add(n: number | string, guid: string = randomUUID()): Promise<string> {
  await subscribe({ feedUrl: feed(n), guid });
  return guid;
}

const get = async (guid: string) =>
  contentOf(await context.service.get({ userId, guid }), subscriptionSchema);
const update = async (guid: string, patch: object) =>
  contentOf(await context.service.update({ userId, guid, ...patch }, call()), updatedSchema);

async function count(table: string): Promise<number> {
  const { rows } = await context.owner.query(
    `SELECT count(*)::int AS n FROM ${table} WHERE user_id = $1`,
    [userId],
  );
  return (rows[0] as { n: number }).n;
}

describe('POST', () => {
  it('stores a URL of 4,096 bytes, which exceeds an index entry, exactly as sent', async () => {
    const random = Array.from({ length: 507 }, () => randomUUID().slice(0, 8)).join('');
    const feedUrl = `https://podcast.example/${random}1234567ä😀%7E`;
    expect(Buffer.byteLength(feedUrl)).toBe(4_096);
    const [first, second] = (await subscribe({ feedUrl }, { feedUrl })).success;
    expect(second).toEqual(first);
    expect(await get(String(first?.guid))).toMatchObject({ feed_url: feedUrl });
    expect(await count('subscription.subscriptions')).toBe(1);
  });

  it('creates one subscription for 20 simultaneous requests with different guids', async () => {
    const guids = Array.from({ length: 20 }, () => randomUUID());
    await Promise.all(guids.map((guid) => subscribe({ feedUrl: feed(1), guid })));
    expect(await count('subscription.subscriptions')).toBe(1);
    const named = await Promise.all(guids.map(get));
    expect(new Set(named.map((read) => read.new_guid ?? read.guid)).size).toBe(1);
  });

  it.each([...equalUrls, ...decodedUrls])(
    'creates one subscription for concurrent requests with %s and %s',
    async (one, other) => {
      const sent = [one, other, one, other].map((feedUrl) => ({ feedUrl }));
      await Promise.all(sent.map((entry) => subscribe(entry)));
      expect(await count('subscription.subscriptions')).toBe(1);
      expect(await count('subscription.feed_urls')).toBe(1);
    },
  );

  it('gives a revived tombstone the URL of the entry if its own moved to another', async () => {
    const [first, guid] = [randomUUID(), randomUUID()];
    await subscribe({ feedUrl: feed('a'), guid: first }, { feedUrl: feed('b'), guid });
    await context.deleteSubscription(userId, first);
    await subscribe({ feedUrl: 'https://PODCAST.example/a', guid });
    await subscribe({ feedUrl: feed('c'), guid: first });
    expect(await get(first)).toMatchObject({ feed_url: feed('c') });
    expect(await get(guid)).toMatchObject({ feed_url: 'https://PODCAST.example/a' });
  });

  it('merges existing subscriptions into one that the same request creates', async () => {
    const older = (await subscribe({ feedUrl: feed('old') })).success[0]?.guid as string;
    const guid = randomUUID();
    const { success } = await subscribe(
      { feedUrl: feed('new'), guid },
      { feedUrl: feed('old'), guid },
    );
    expect(success.map((item) => item.guid)).toEqual([guid, guid]);
    expect(await get(older)).toMatchObject({ guid: older, new_guid: guid, feed_url: feed('old') });
    const deleted = await add('deleted');
    await context.deleteSubscription(userId, deleted);
    const another = randomUUID();
    await subscribe(
      { feedUrl: feed('another'), guid: another },
      { feedUrl: feed('another'), guid: deleted },
    );
    expect(await get(deleted)).toMatchObject({ guid: deleted, new_guid: another });
  });

  it('runs as many statements for 1,000 entries as for one', async () => {
    const statementsOf = async (entries: Entry[]) => {
      const before = context.statements();
      await subscribe(...entries);
      return context.statements() - before;
    };
    const one = await statementsOf([{ feedUrl: feed('one') }]);
    const many = Array.from({ length: 1_000 }, (_, n) => ({ feedUrl: feed(n) }));
    expect(await statementsOf(many)).toBe(one);
    const renamed = many.map((entry) => ({ ...entry, guid: randomUUID() }));
    expect(await statementsOf(renamed)).toBe(one);
    expect(one).toBeLessThanOrEqual(8);
    expect(await count('subscription.subscriptions')).toBe(1_001);
    expect(await count('subscription.former_guids')).toBe(1_000);
  });
});

describe('a title', () => {
  it('is stored, read, merged and deleted with its subscription', async () => {
    const [a, b] = [randomUUID(), randomUUID()];
    await subscribe({ feedUrl: feed(1), guid: a, title: 'One' }, { feedUrl: feed(2), guid: b });
    const { subscription_changed: stamp } = await get(a);
    expect(await get(a)).toMatchObject({ title: 'One' });
    expect(await get(b)).not.toHaveProperty('title');
    expect(await update(a, { title: 'One' })).toMatchObject({ subscription_changed: stamp });
    expect(await update(a, { title: 'Two' })).toMatchObject({ title: 'Two' });
    await update(b, { newGuid: a });
    expect(await get(b)).toMatchObject({ title: 'Two' });
    await context.deleteSubscription(userId, a);
    await subscribe({ feedUrl: feed(2) });
    expect(await get(a)).not.toHaveProperty('title');
  });

  it('can be the only change, and changes nothing if title and time are equal', async () => {
    const timestamp = '2026-01-01T00:00:00Z';
    await subscribe({ feedUrl: feed(1), timestamp, title: 'One' });
    const read = () => get(podcastGuid(feed(1)));
    const first = await read();
    await subscribe({ feedUrl: feed(1), timestamp, title: 'One' });
    expect(await read()).toEqual(first);
    await subscribe({ feedUrl: feed(1), timestamp, title: 'Two' });
    const second = await read();
    expect(second).toMatchObject({ title: 'Two' });
    expect(String(second.subscription_changed) > String(first.subscription_changed)).toBe(true);
  });

  it('of the latest time wins for simultaneous changes', async () => {
    const guid = await add(1);
    const days = Array.from({ length: 20 }, (_, n) => String(n + 1).padStart(2, '0'));
    await Promise.all(
      days.map((day) => update(guid, { title: day, timestamp: `2026-01-${day}T00:00:00Z` })),
    );
    expect(await get(guid)).toMatchObject({ title: '20' });
  });
});

describe('GET by guid', () => {
  it('returns the requested guid, the current one and the time of the change', async () => {
    const [a, b, c] = [await add(1), randomUUID(), randomUUID()];
    await update(a, { newGuid: b });
    const { guid_changed: guidChanged } = await update(b, { newGuid: c });
    for (const guid of [a, b])
      expect(await get(guid)).toMatchObject({ guid, new_guid: c, guid_changed: guidChanged });
    const { guid_changed: returned } = await update(c, { newGuid: a });
    for (const guid of [b, c])
      expect(await get(guid)).toMatchObject({ guid, new_guid: a, guid_changed: returned });
    expect(Object.keys(await get(a)).sort()).toEqual([
      'feed_url',
      'guid',
      'is_subscribed',
      'subscription_changed',
    ]);
  });

  it('returns guid_changed for an alias that never was the current guid', async () => {
    const guid = await add(1);
    await update(guid, { newFeedUrl: feed(2) });
    const [alias, since] = [randomUUID(), (await get(guid)).subscription_changed];
    await subscribe({ feedUrl: feed(1), guid: alias });
    const named = await get(alias);
    expect(named).toMatchObject({ guid: alias, new_guid: guid });
    expect(String(named.guid_changed) > String(since)).toBe(true);
  });

  it("fails with not_found for another user's guid and for an unknown guid", async () => {
    const guid = await add(1);
    await expect(get(randomUUID())).rejects.toMatchObject({ code: 'not_found' });
    userId = freshUser();
    await expect(get(guid)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('PATCH', () => {
  it.each([{}, { newFeedUrl: 'no protocol' }, { newFeedUrl: 'ftp://x', isSubscribed: false }])(
    'fails with invalid and changes nothing for %j',
    async (patch) => {
      const guid = await add(1);
      const before = await get(guid);
      await expect(update(guid, patch)).rejects.toMatchObject({ code: 'invalid' });
      expect(await get(guid)).toEqual(before);
    },
  );

  it('keeps every name at one subscription after simultaneous opposite merges', async () => {
    const [a, b] = [await add(1), await add(2)];
    await Promise.allSettled([
      update(a, { newGuid: b }),
      update(b, { newGuid: a }),
      update(a, { newFeedUrl: feed(2) }),
    ]);
    const [byA, byB] = await Promise.all([get(a), get(b)]);
    expect([byA.new_guid ?? byA.guid, byA.feed_url]).toEqual([
      byB.new_guid ?? byB.guid,
      byB.feed_url,
    ]);
    const { rows } = await context.owner.query(
      `SELECT count(*) FILTER (WHERE merged_into IS NULL)::int AS live
       FROM subscription.subscriptions WHERE user_id = $1`,
      [userId],
    );
    expect(rows).toEqual([{ live: 1 }]);
  });

  it('creates one chain of guids for 20 simultaneous changes', async () => {
    const [first, ...guids] = [
      await add(1),
      ...Array.from({ length: 20 }, () => randomUUID()),
    ] as const;
    const changes = await Promise.all(guids.map((newGuid) => update(first, { newGuid })));
    const stamps = changes.map((change) => String(change.guid_changed)).sort();
    expect(new Set(stamps).size).toBe(20);
    const last = changes.find((change) => change.guid_changed === stamps.at(-1));
    for (const guid of [first, ...guids]) {
      const read = await get(guid);
      expect(read.new_guid ?? read.guid).toBe(last?.new_guid);
    }
  });

  it('takes URLs, guids and state of the merged subscription, with one stamp', async () => {
    const [a, b] = [await add(1), await add(2)];
    await update(a, { isSubscribed: false });
    const { guid_changed: guidChanged } = await update(a, { newGuid: b });
    expect(await get(b)).toEqual({
      feed_url: feed(1),
      guid: b,
      is_subscribed: true,
      subscription_changed: guidChanged,
    });
    expect(await get(a)).toMatchObject({ guid: a, new_guid: b, guid_changed: guidChanged });
    expect((await subscribe({ feedUrl: feed(2) })).success[0]?.guid).toBe(b);
  });

  it('reports the later of merge and guid change for an absorbed guid', async () => {
    const [a, b] = [await add(1), await add(2)];
    const merge = await update(a, { newFeedUrl: feed(2) });
    expect(await get(b)).toMatchObject({
      guid: b,
      new_guid: a,
      guid_changed: merge.subscription_changed,
    });
    const { guid_changed: guidChanged } = await update(a, { newGuid: randomUUID() });
    expect(await get(b)).toMatchObject({ guid_changed: guidChanged });
  });
});
