import { describe, expect, test } from 'vitest';
import { expectError, stampForm } from './http.js';
import type { SubscribeAnswer } from './interface.js';
import { feed, newGuid } from './samples.js';
import { User } from './user.js';

const [urlA, urlB, urlC] = [feed('a'), feed('b'), feed('c')];

async function post(ann: User, ...subscriptions: unknown[]): Promise<SubscribeAnswer> {
  return (await ann.post<SubscribeAnswer>('/subscriptions', { subscriptions })).body;
}

describe('POST /subscriptions', () => {
  test('answers an accepted entry with feed_url, guid, is_subscribed and subscription_changed', async () => {
    const guid = newGuid();
    const { success, failure: failures } = await post(await User.fresh(), { feed_url: urlA, guid });
    expect(failures).toEqual([]);
    expect(success).toEqual([
      { feed_url: urlA, guid, is_subscribed: true, subscription_changed: expect.stringMatching(stampForm) },
    ]);
  });

  test('judges each entry separately and keeps the order of the request', async () => {
    const ann = await User.fresh();
    const entries = [urlB, 'a.example/feed', urlA, 'ftp://a.example/', urlC].map((feed_url) => ({ feed_url }));
    const { success, failure: failures } = await post(ann, ...entries);
    expect(success.map((entry) => entry.feed_url)).toEqual([urlB, urlA, urlC]);
    expect(failures.map((entry) => entry.feed_url)).toEqual(['a.example/feed', 'ftp://a.example/']);
    expect((await ann.subscriptions()).total).toBe(3);
  });

  test('the same feed twice in one batch is one subscription and two success items', async () => {
    const ann = await User.fresh();
    const { success } = await post(ann, { feed_url: urlA }, { feed_url: urlA });
    expect(success).toHaveLength(2);
    expect(success[0]).toEqual(success[1]);
    expect((await ann.subscriptions()).total).toBe(1);
  });

  test.each([
    ['an entry that is no object', ['https://a.example/']],
    ['an entry that is null', [null]],
    ['an entry that is a list', [[]]],
    ['a missing feed_url', [{}]],
    ['a feed_url that is no string', [{ feed_url: 1 }]],
    ['a feed_url that is null', [{ feed_url: null }]],
  ])('with %s is 405 and applies nothing', async (_, bad) => {
    const ann = await User.fresh();
    expectError(await ann.post('/subscriptions', { subscriptions: [{ feed_url: urlA }, ...bad] }), 405);
    expect((await ann.subscriptions()).total).toBe(0);
  });
});

describe('a guid that was sent and is known names its subscription, and', () => {
  test('its current URL moves nothing', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed(urlA, newGuid());
    expect(await ann.subscribed(urlA, guid)).toBe(guid);
    expect((await ann.subscriptions()).total).toBe(1);
  });

  test('a former URL of it moves nothing', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed(urlA, newGuid());
    await ann.update(guid, { new_feed_url: urlB });
    expect(await ann.subscribed(urlA, guid)).toBe(guid);
    expect((await ann.subscription(guid)).feed_url).toBe(urlB);
  });

  test('a URL never seen becomes the current one, the old one an alias', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed(urlA, newGuid());
    await ann.subscribed(urlB, guid);
    expect(await ann.subscription(guid)).toMatchObject({ guid, feed_url: urlB });
    expect(await ann.subscribed(urlA)).toBe(guid);
    expect((await ann.subscription(guid)).feed_url).toBe(urlB);
    expect((await ann.subscriptions()).total).toBe(1);
  });

  test('a former URL of another one passes over, as a move', async () => {
    const ann = await User.fresh();
    const [one, two] = [await ann.subscribed(urlA, newGuid()), await ann.subscribed(urlB, newGuid())];
    await ann.update(one, { new_feed_url: urlC });
    expect(await ann.subscribed(urlA, two)).toBe(two);
    expect((await ann.subscription(two)).feed_url).toBe(urlA);
    expect((await ann.subscription(one)).feed_url).toBe(urlC);
    expect(await ann.subscribed(urlA)).toBe(two);
    expect(await ann.subscribed(urlB)).toBe(two);
  });

  test('a URL current at another one with a declared guid is feed_url_taken: nothing moves or merges', async () => {
    const ann = await User.fresh();
    const [one, two] = [await ann.subscribed(urlA, newGuid()), await ann.subscribed(urlB, newGuid())];
    const { success, failure } = await post(ann, { feed_url: urlA, guid: two });
    expect([success, failure]).toMatchObject([[], [{ feed_url: urlA, code: 'feed_url_taken', guid: one }]]);
    expect((await ann.subscription(one)).feed_url).toBe(urlA);
    expect((await ann.subscription(two)).feed_url).toBe(urlB);
    expect(await ann.subscribed(urlA)).toBe(one);
  });

  test('a former guid names it as well, and the answer has its current guid', async () => {
    const ann = await User.fresh();
    const [old, current] = [await ann.subscribed(urlA, newGuid()), newGuid()];
    await ann.update(old, { new_guid: current });
    expect(await ann.subscribed(urlB, old)).toBe(current);
    expect(await ann.subscription(current)).toEqual(expect.objectContaining({ guid: current, feed_url: urlB }));
  });
});

describe('a guid that was sent and is unknown', () => {
  test('becomes the current guid of the subscription whose current URL was sent, exactly as PATCH new_guid', async () => {
    const ann = await User.fresh();
    const [old, declared] = [await ann.subscribed(urlA), newGuid()];
    expect(await ann.subscribed(urlA, declared)).toBe(declared);
    const seen = await ann.subscription(old);
    expect(seen).toMatchObject({ guid: old, new_guid: declared, guid_changed: seen.subscription_changed });
    expect((await ann.subscriptions()).total).toBe(1);
  });

  test('becomes an alias of the subscription of which the URL is only a former one', async () => {
    const ann = await User.fresh();
    const [guid, alias] = [await ann.subscribed(urlA, newGuid()), newGuid()];
    await ann.update(guid, { new_feed_url: urlB });
    expect(await ann.subscribed(urlA, alias)).toBe(guid);
    expect(await ann.subscription(guid)).toMatchObject({ feed_url: urlB });
    expect(await ann.subscription(alias)).toMatchObject({ guid: alias, new_guid: guid });
    expect((await ann.subscriptions()).subscriptions).toMatchObject([{ guid, feed_url: urlB }]);
  });

  test('with a URL never seen makes a subscription', async () => {
    const ann = await User.fresh();
    await ann.subscribed(urlA);
    await ann.subscribed(urlB, newGuid());
    expect((await ann.subscriptions()).total).toBe(2);
  });
});

describe('without a guid a subscription is found', () => {
  test('by its exact current URL, even when the derived guid is that of another', async () => {
    const ann = await User.fresh();
    const other = await ann.subscribed(`${urlA}/`);
    const own = await ann.subscribed(urlA, newGuid());
    expect(other).not.toBe(own);
    expect(await ann.subscribed(urlA)).toBe(own);
  });

  test('by a former URL', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed(urlA, newGuid());
    await ann.update(guid, { new_feed_url: urlB });
    expect(await ann.subscribed(urlA)).toBe(guid);
    expect((await ann.subscription(guid)).feed_url).toBe(urlB);
  });

  test('by the derived guid, which adds the URL as an alias only', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed('https://podnews.net/rss');
    const [echo] = await ann.subscribe('http://podnews.net/rss/');
    expect(echo).toMatchObject({ feed_url: 'http://podnews.net/rss/', guid });
    expect((await ann.subscription(guid)).feed_url).toBe('https://podnews.net/rss');
    await ann.update(guid, { new_guid: newGuid() });
    expect((await ann.subscribe('http://podnews.net/rss/'))[0]?.guid).toBe((await ann.subscription(guid)).new_guid);
    expect((await ann.subscriptions()).total).toBe(1);
  });

  test('by the derived guid when that is a former one', async () => {
    const ann = await User.fresh();
    const [derived, current] = [await ann.subscribed('https://podnews.net/rss'), newGuid()];
    await ann.update(derived, { new_guid: current, new_feed_url: urlA });
    expect(await ann.subscribed('https://podnews.net/rss//')).toBe(current);
    expect((await ann.subscription(current)).feed_url).toBe(urlA);
  });
});

describe('a subscription that was found', () => {
  test('is subscribed and stamped, also when it was before', async () => {
    const ann = await User.fresh();
    const [first] = await ann.subscribe(urlA);
    await ann.update(first?.guid ?? '', { is_subscribed: false });
    const [second] = await ann.subscribe(urlA);
    const [third] = await ann.subscribe(urlA);
    expect(await ann.subscription(first?.guid ?? '')).toEqual({
      feed_url: urlA,
      guid: first?.guid,
      is_subscribed: true,
      subscription_changed: third?.subscription_changed,
    });
    const stamps = [first, second, third].map((entry) => entry?.subscription_changed ?? '');
    expect(stamps).toEqual([...new Set(stamps)].sort());
  });

  test('is the live one where a guid of a deleted one comes with its URL: the deleted one becomes a pointer to it', async () => {
    const ann = await User.fresh();
    const [one, two] = [await ann.subscribed(urlA, newGuid()), await ann.subscribed(urlB, newGuid())];
    await ann.deleted(one);
    expect(await ann.subscribed(urlB, one)).toBe(two);
    expect(await ann.subscription(one)).toMatchObject({ new_guid: two, feed_url: urlB, is_subscribed: true });
    expect(await ann.subscription(two)).toMatchObject({ guid: two, feed_url: urlB, is_subscribed: true });
  });

  test('when it is deleted comes back under an unknown guid that was sent with its URL', async () => {
    const ann = await User.fresh();
    const [old, declared] = [await ann.subscribed(urlA, newGuid()), newGuid()];
    await ann.deleted(old);
    expect(await ann.subscribed(urlA, declared)).toBe(declared);
    expect(await ann.subscription(old)).toMatchObject({ new_guid: declared, is_subscribed: true });
    expect((await ann.subscriptions()).total).toBe(1);
  });

  test('does not swap URLs with another one in one batch', async () => {
    const ann = await User.fresh();
    const [one, two] = [await ann.subscribed(urlA, newGuid()), await ann.subscribed(urlB, newGuid())];
    const { failure } = await post(ann, { feed_url: urlB, guid: one }, { feed_url: urlA, guid: two });
    expect(failure.map(({ code }) => code)).toEqual(['feed_url_taken', 'feed_url_taken']);
    expect((await ann.subscription(one)).feed_url).toBe(urlA);
    expect((await ann.subscription(two)).feed_url).toBe(urlB);
  });

  test('entries of one batch see what earlier ones did', async () => {
    const ann = await User.fresh();
    const guid = newGuid();
    const { success } = await post(ann, { feed_url: urlA, guid }, { feed_url: urlB, guid }, { feed_url: urlA });
    expect(success.map((entry) => [entry.feed_url, entry.guid])).toEqual([urlA, urlB, urlA].map((url) => [url, guid]));
    expect((await ann.subscriptions()).subscriptions).toMatchObject([{ feed_url: urlB, guid }]);
  });
});
