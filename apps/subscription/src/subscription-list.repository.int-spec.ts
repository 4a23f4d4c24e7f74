import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ListRequest, type Subscription, subscriptionSchema, updatedSchema } from '#contracts';
import { contentOf, freshUser } from '#testing';
import { call } from '../../../libs/transport/testing/handler-call.js';
import { sentBody } from '../testing/sent-entry.js';
import { openService, type ServiceContext } from '../testing/service-context.js';

const full = Boolean(process.env.TEST_FULL);
const epoch = '1970-01-01T00:00:00.000Z';

let context: ServiceContext;
let userId: string;

beforeAll(async () => {
  context = await openService();
});
afterAll(() => context.close());
beforeEach(() => {
  userId = freshUser();
});

const feed = (n: number) => `https://podcast.example/${n}`;

async function add(n: number, guid: string = randomUUID()): Promise<string> {
  await context.service.subscribe({ userId, body: sentBody([{ feedUrl: feed(n), guid }]) }, call());
  return guid;
}

const update = async (guid: string, patch: object) =>
  contentOf(await context.service.update({ userId, guid, ...patch }, call()), updatedSchema);

async function page(options: Partial<ListRequest> = {}) {
  const answer = await context.service.list({
    userId,
    perPage: 100,
    cursor: { from: 'page', page: 1 },
    ...options,
  });
  if (answer.unchanged) throw new Error('unchanged');
  return { ...answer, items: contentOf(answer.items, subscriptionSchema.array()) };
}

const list = async (since?: string): Promise<Subscription[]> => (await page({ since })).items;
const clock = async (): Promise<string> => (await page()).clock;

describe('the list of subscriptions', () => {
  it('returns all rows without `since`, even unsubscribed ones, in order of creation', async () => {
    const guids = [await add(1), await add(2), await add(3)];
    await update(String(guids[0]), { isSubscribed: false });
    const { items, total } = await page();
    expect(items.map(({ guid }) => guid)).toEqual(guids);
    expect([items[0]?.is_subscribed, total]).toEqual([false, 3]);
  });

  it('returns rows with either stamp strictly after `since`', async () => {
    const [a, b, c] = [await add(1), await add(2), await add(3)];
    const before = await clock();
    expect(await list(before)).toEqual([]);
    const { guid_changed: guidChanged } = await update(a, { newGuid: randomUUID() });
    const { subscription_changed: subscriptionChanged } = await update(c, { isSubscribed: true });
    expect((await list(before)).map(({ guid }) => guid)).toEqual([a, c]);
    expect((await list(guidChanged)).map(({ guid }) => guid)).toEqual([c]);
    expect(await list(subscriptionChanged)).toEqual([]);
    expect((await list()).map(({ guid }) => guid)).toEqual([a, b, c]);
  });

  it('reads only the clock if that is not later than `since`', async () => {
    await add(1);
    const since = await clock();
    await context.owner.query('BEGIN; LOCK TABLE subscription.subscriptions');
    try {
      expect(await page({ since })).toMatchObject({ clock: since, items: [], total: 0 });
    } finally {
      await context.owner.query('ROLLBACK');
    }
  });

  it('shows the guid that a row had at `since`: A, then B at t1, then C at t2', async () => {
    const a = await add(1);
    const t0 = await clock();
    const [b, c] = [randomUUID(), randomUUID()];
    const t1 = (await update(a, { newGuid: b })).guid_changed;
    const t2 = (await update(b, { newGuid: c })).guid_changed;
    await update(c, { isSubscribed: false });
    const shown = async (since?: string) =>
      (await list(since)).map((item) => [item.guid, item.new_guid, item.guid_changed]);
    expect(await shown()).toEqual([[a, c, t2]]);
    expect(await shown(epoch)).toEqual([[a, c, t2]]);
    expect(await shown(t0)).toEqual([[a, c, t2]]);
    expect(await shown(t1)).toEqual([[b, c, t2]]);
    expect(await shown(t2)).toEqual([[c, undefined, undefined]]);
    const t3 = (await update(c, { newGuid: a })).guid_changed;
    expect(await shown()).toEqual([[a, undefined, undefined]]);
    expect(await shown(t1)).toEqual([[b, a, t3]]);
    expect(await shown(t2)).toEqual([[c, a, t3]]);
  });

  it('shows no former guid that became the guid of another subscription', async () => {
    const [alive, a] = [await add(1), await add(2)];
    const b = randomUUID();
    await update(a, { newGuid: b });
    await context.deleteSubscription(userId, b);
    // The guid of a tombstone moves to the live subscription whose URL is sent with it.
    await add(1, a);
    await update(alive, { newGuid: a });
    expect((await list()).map((item) => [item.guid, item.new_guid])).toEqual([
      [alive, a],
      [b, undefined],
    ]);
  });

  it('shows no new_guid for a guid that changed and was restored', async () => {
    const a = await add(1);
    const since = await clock();
    await update(a, { newGuid: randomUUID() });
    await update(a, { newGuid: a });
    expect(await list(since)).toMatchObject([{ guid: a }]);
    expect((await list(since))[0]).not.toHaveProperty('new_guid');
    expect((await list(since))[0]).not.toHaveProperty('guid_changed');
  });

  it('is unchanged for a client with the current clock, at the cost of one read', async () => {
    await add(1);
    const subscriptions = await clock();
    const ask = (knownClock: string) =>
      context.service.list({
        userId,
        perPage: 10,
        cursor: { from: 'page', page: 1 },
        knownClock,
      });
    const before = context.statements();
    expect(await ask(subscriptions)).toEqual({ unchanged: true, clock: subscriptions });
    expect(context.statements() - before).toBe(1);
    await add(2);
    expect(await ask(subscriptions)).toMatchObject({ unchanged: false, total: 2 });
  });

  it('returns pages after and before a row, with the given total', async () => {
    for (let n = 0; n < 5; n++) await add(n);
    const urls = async (options: Partial<ListRequest>) => {
      const { items, firstId, lastId, more, total } = await page({ perPage: 2, ...options });
      return { urls: items.map((item) => item.feed_url), firstId, lastId, more, total };
    };
    const first = await urls({});
    expect(first).toMatchObject({ urls: [feed(0), feed(1)], more: true, total: 5 });
    const second = await urls({ cursor: { from: 'after', id: Number(first.lastId) }, total: 77 });
    expect(second).toMatchObject({ urls: [feed(2), feed(3)], more: true, total: 77 });
    const last = await urls({ cursor: { from: 'after', id: Number(second.lastId) } });
    expect(last).toMatchObject({ urls: [feed(4)], more: false });
    const back = await urls({ cursor: { from: 'before', id: Number(last.firstId) } });
    expect(back).toMatchObject({ urls: [feed(2), feed(3)], more: true });
    expect(await urls({ cursor: { from: 'page', page: 3 } })).toEqual(last);
    expect(await urls({ perPage: 5 })).toMatchObject({ more: false });
  });

  it('returns the range of ids that changed after `since`, and pages within it', async () => {
    await add(0);
    const since = await clock();
    for (let n = 1; n < 6; n++) await add(n);
    const { items, total, span, lastId } = await page({ since, perPage: 2 });
    expect([items.map((item) => item.feed_url), total]).toEqual([[feed(1), feed(2)], 5]);
    await add(6);
    await update((await page()).items[0]!.guid, { isSubscribed: false });
    const walk = { since, total, span };
    const rest = await page({ ...walk, cursor: { from: 'after', id: Number(lastId) } });
    expect(rest).toMatchObject({
      items: [3, 4, 5].map((n) => ({ feed_url: feed(n) })),
      total: 5,
      more: false,
    });
    const back = await page({ ...walk, cursor: { from: 'before', id: Number(rest.firstId) } });
    expect(back).toMatchObject({ items: [1, 2].map((n) => ({ feed_url: feed(n) })), more: false });
    expect(await page({ since: rest.clock })).not.toHaveProperty('span');
  });

  it('is empty with the true total after the last page', async () => {
    await add(1);
    for (const number of [2, Number.MAX_SAFE_INTEGER])
      expect(await page({ cursor: { from: 'page', page: number } })).toMatchObject({
        items: [],
        total: 1,
        more: false,
      });
  });

  it('is one snapshot during writes, and a poller of its clock misses no change', async () => {
    let writing = true;
    const [subscriptions, torn] = [new Map<string, string>(), [] as unknown[]];
    const poll = async () => {
      let since: string | undefined;
      for (let last = false; !last;) {
        last = !writing;
        const { items, total, clock: seen } = await page({ since, perPage: 1_000 });
        const late = items.filter((item) => (item.subscription_changed ?? '') > seen);
        if (total !== items.length || late.length > 0)
          torn.push({ total, length: items.length, late });
        for (const item of items) subscriptions.set(item.guid, String(item.is_subscribed));
        since = seen;
      }
    };
    const polling = poll();
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let n = 0; n < (full ? 50 : 8); n++) {
        const guid = await add(writer * 1_000 + n);
        if (n % 2 === 0) await update(guid, { isSubscribed: false });
      }
    });
    await Promise.all(writers);
    writing = false;
    await polling;
    expect(torn).toEqual([]);
    const truth = (await page({ perPage: 1_000 })).items.map((item) => [
      item.guid,
      String(item.is_subscribed),
    ]);
    expect([...subscriptions].sort()).toEqual(truth.sort());
  });
});

describe('a merged subscription', () => {
  it('stays listed as a pointer with its own guid and the fields of its survivor', async () => {
    const [a, b] = [await add(1), await add(2)];
    const since = await clock();
    const { subscription_changed: subscriptionChanged } = await update(a, { newFeedUrl: feed(2) });
    const survivor = {
      feed_url: feed(2),
      is_subscribed: true,
      subscription_changed: subscriptionChanged,
    };
    const both = [
      { ...survivor, guid: a },
      { ...survivor, guid: b, new_guid: a, guid_changed: subscriptionChanged },
    ];
    expect(await page()).toMatchObject({ items: both, total: 2 });
    expect(await list(since)).toEqual(both);
  });

  it('is listed if the merge is after `since`', async () => {
    const [a, b] = [await add(1), await add(2)];
    const { subscription_changed: merged } = await update(a, { newFeedUrl: feed(2) });
    await update(b, { isSubscribed: false });
    expect((await list(merged)).map(({ guid }) => guid)).toEqual([a]);
    expect((await list()).map(({ guid }) => guid)).toEqual([a, b]);
  });

  it('is omitted, also from the total, if its survivor has its guid', async () => {
    const [a, b] = [await add(1), await add(2)];
    const { guid_changed: guidChanged } = await update(a, { newGuid: b });
    expect(await page()).toMatchObject({
      items: [{ guid: a, new_guid: b, guid_changed: guidChanged }],
      total: 1,
    });
    await update(b, { newGuid: a });
    expect(await page()).toMatchObject({
      items: [{ guid: a }, { guid: b, new_guid: a }],
      total: 2,
    });
  });

  it('shows its guid at `since`, and the later time of merge and guid change', async () => {
    const [a, b] = [await add(1), await add(2)];
    const c = randomUUID();
    const t1 = (await update(b, { newGuid: c })).guid_changed;
    await update(a, { newFeedUrl: feed(2) });
    const d = randomUUID();
    const { guid_changed: guidChanged } = await update(a, { newGuid: d });
    expect((await list()).at(1)).toMatchObject({ guid: b, new_guid: d, guid_changed: guidChanged });
    expect((await list(t1)).at(1)).toMatchObject({
      guid: c,
      new_guid: d,
      guid_changed: guidChanged,
    });
  });

  it('points to the last survivor of a chain of merges', async () => {
    const [a, b, c] = [await add(1), await add(2), await add(3)];
    await update(b, { newFeedUrl: feed(1) });
    await update(c, { newFeedUrl: feed(1) });
    expect((await list()).map((item) => [item.guid, item.new_guid])).toEqual([
      [a, c],
      [b, c],
      [c, undefined],
    ]);
    expect(
      contentOf(await context.service.get({ userId, guid: a }), subscriptionSchema),
    ).toMatchObject({
      guid: a,
      new_guid: c,
    });
  });

  it('is omitted, also from the total, if another subscription took its guid', async () => {
    const [survivor, merged, alive] = [await add(1), await add(2), await add(3)];
    await update(survivor, { newFeedUrl: feed(2) });
    await context.deleteSubscription(userId, survivor);
    await add(3, merged);
    await update(alive, { newGuid: merged });
    const { items, total } = await page();
    expect(items.map((item) => [item.guid, item.new_guid])).toEqual([
      [survivor, undefined],
      [alive, merged],
    ]);
    expect(total).toBe(2);
  });

  it('shows its survivor without `deleted` if it was a tombstone', async () => {
    const [a, b] = [await add(1), await add(2)];
    await context.deleteSubscription(userId, b);
    expect((await list()).at(1)).toHaveProperty('deleted');
    await update(a, { newFeedUrl: feed(2) });
    expect((await list()).at(1)).toMatchObject({ guid: b, new_guid: a, is_subscribed: true });
    expect((await list()).at(1)).not.toHaveProperty('deleted');
  });
});
