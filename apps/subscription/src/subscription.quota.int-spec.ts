import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { subscribedSchema, subscriptionSchema } from '#contracts';
import { contentOf, freshUser } from '#testing';
import { call } from '../../../libs/transport/testing/handler.call.js';
import { openService, type ServiceContext } from '../testing/service.context.js';

type Entry = { feedUrl: string; guid?: string };

let context: ServiceContext;
let userId: string;

beforeAll(async () => {
  context = await openService({ QUOTA_LIVE_SUBSCRIPTIONS: 3, QUOTA_SUBSCRIPTION_NAMES: 5 });
});
afterAll(() => context.close());
beforeEach(() => {
  userId = freshUser();
});

const feed = (n: number) => `https://podcast.example/${n}`;
const subscribe = async (...entries: Entry[]) =>
  contentOf(await context.service.subscribe({ userId, entries }, call()), subscribedSchema);

describe('beyond a quota', () => {
  it('an entry of POST is a failure item limit_reached, and the others are applied', async () => {
    const { success, failure } = await subscribe(...[1, 2, 3, 4, 5].map((n) => ({ feedUrl: feed(n) })));
    expect(success.map((item) => item.feed_url)).toEqual([1, 2, 3].map(feed));
    expect(failure).toEqual(
      [4, 5].map((n) => ({ feed_url: feed(n), code: 'limit_reached', message: expect.any(String) })),
    );
    expect((await subscribe({ feedUrl: feed(3) }, { feedUrl: feed(9) })).success).toHaveLength(1);
  });

  it('a PATCH is invalid and changes nothing', async () => {
    const guid = randomUUID();
    await subscribe({ feedUrl: feed(0), guid });
    for (let n = 1; n < 5; n += 1) await context.service.update({ userId, guid, newFeedUrl: feed(n) }, call());
    const before = String(await context.service.get({ userId, guid }));
    const more = { userId, guid, newFeedUrl: feed(5), isSubscribed: false };
    await expect(context.service.update(more, call())).rejects.toMatchObject({ code: 'invalid' });
    expect(String(await context.service.get({ userId, guid }))).toBe(before);
    await context.service.update({ userId, guid, newFeedUrl: feed(2), isSubscribed: false }, call());
    const after = contentOf(await context.service.get({ userId, guid }), subscriptionSchema);
    expect(after).toMatchObject({ feed_url: feed(2), is_subscribed: false });
  });
});
