import { describe, expect, test } from 'vitest';
import { expectError, stampForm } from './http.js';
import { episode, feed, newGuid } from './samples.js';
import { User } from './user.js';

const [urlA, urlB] = [feed('a'), feed('b')];
const stamp = expect.stringMatching(stampForm);

async function userWithOne(): Promise<{ ann: User; guid: string }> {
  const ann = await User.fresh();
  return { ann, guid: await ann.subscribed(urlA) };
}

describe('PATCH answers with the fields that were sent, plus', () => {
  test('subscription_changed when is_subscribed was sent', async () => {
    const { ann, guid } = await userWithOne();
    expect(await ann.update(guid, { is_subscribed: false })).toEqual({
      is_subscribed: false,
      subscription_changed: stamp,
    });
  });

  test('subscription_changed when new_feed_url was sent', async () => {
    const { ann, guid } = await userWithOne();
    expect(await ann.update(guid, { new_feed_url: urlB })).toEqual({ new_feed_url: urlB, subscription_changed: stamp });
  });

  test('guid_changed when new_guid was sent', async () => {
    const { ann, guid } = await userWithOne();
    const new_guid = newGuid();
    expect(await ann.update(guid, { new_guid })).toEqual({ new_guid, guid_changed: stamp });
  });

  test('both, with one stamp, when all were sent', async () => {
    const { ann, guid } = await userWithOne();
    const sent = { new_feed_url: urlB, new_guid: newGuid(), is_subscribed: true };
    const { sync } = await ann.subscriptions();
    const answer = await ann.update(guid, sent);
    expect(answer).toEqual({ ...sent, subscription_changed: stamp, guid_changed: answer.subscription_changed });
    expect((answer.guid_changed ?? '') > sync).toBe(true);
  });
});

describe('PATCH', () => {
  test.each([true, false])('sets is_subscribed to %s from any state', async (is_subscribed) => {
    const { ann, guid } = await userWithOne();
    for (const before of [true, false]) {
      await ann.update(guid, { is_subscribed: before });
      const { subscription_changed } = await ann.update(guid, { is_subscribed });
      expect(await ann.subscription(guid)).toEqual({ guid, feed_url: urlA, is_subscribed, subscription_changed });
    }
  });

  test('stamps what was sent even when its value is the same', async () => {
    const { ann, guid } = await userWithOne();
    const { sync } = await ann.subscriptions();
    const same = await ann.update(guid, { is_subscribed: true });
    expect((same.subscription_changed ?? '') > sync).toBe(true);
    const moved = await ann.update(guid, { new_feed_url: urlA });
    expect((await ann.subscription(guid)).subscription_changed).toBe(moved.subscription_changed);
    const renamed = await ann.update(guid, { new_guid: guid });
    expect(renamed).toEqual({ new_guid: guid, guid_changed: stamp });
    expect((await ann.subscriptions({ since: moved.subscription_changed ?? '' })).subscriptions).toMatchObject([
      { guid },
    ]);
  });

  test('does not stamp what was not sent', async () => {
    const { ann, guid } = await userWithOne();
    const before = (await ann.subscription(guid)).subscription_changed;
    await ann.update(guid, { new_guid: newGuid() });
    expect((await ann.subscription(guid)).subscription_changed).toBe(before);
  });

  test('unsubscribing keeps all data, and POST subscribes again', async () => {
    const { ann, guid } = await userWithOne();
    await ann.uploaded(episode(guid, 1));
    await ann.update(guid, { is_subscribed: false });
    expect((await ann.episodes()).total).toBe(1);
    expect((await ann.subscriptions()).subscriptions).toMatchObject([{ guid, is_subscribed: false }]);
    expect(await ann.subscribed(urlA)).toBe(guid);
    expect((await ann.subscription(guid)).is_subscribed).toBe(true);
    expect((await ann.episodes()).total).toBe(1);
  });

  test('new_feed_url moves the subscription; the old URL stays an alias', async () => {
    const { ann, guid } = await userWithOne();
    await ann.update(guid, { new_feed_url: urlB });
    expect((await ann.subscription(guid)).feed_url).toBe(urlB);
    expect(await ann.subscribed(urlA)).toBe(guid);
    expect(await ann.subscribed(urlB)).toBe(guid);
    expect((await ann.subscriptions()).total).toBe(1);
  });

  test('new_feed_url is kept exactly as sent', async () => {
    const { ann, guid } = await userWithOne();
    const new_feed_url = 'HTTPS://Feeds.Example/%7eA/☂?#x';
    expect((await ann.update(guid, { new_feed_url })).new_feed_url).toBe(new_feed_url);
    expect((await ann.subscription(guid)).feed_url).toBe(new_feed_url);
  });

  test('new_feed_url may go back to a former URL of the same subscription', async () => {
    const { ann, guid } = await userWithOne();
    await ann.update(guid, { new_feed_url: urlB });
    await ann.update(guid, { new_feed_url: urlA });
    expect((await ann.subscription(guid)).feed_url).toBe(urlA);
    expect((await ann.subscriptions()).total).toBe(1);
  });

  test('new_guid in any case is printed in lower case', async () => {
    const { ann, guid } = await userWithOne();
    const new_guid = newGuid().toUpperCase();
    expect((await ann.update(guid, { new_guid })).new_guid).toBe(new_guid.toLowerCase());
    expect((await ann.subscription(new_guid)).guid).toBe(new_guid.toLowerCase());
  });

  test('ignores unknown fields beside a known one', async () => {
    const { ann, guid } = await userWithOne();
    const answer = await ann.patch(`/subscriptions/${guid}`, { is_subscribed: false, feed_url: 'x', color: null });
    expect(answer.body).toEqual({ is_subscribed: false, subscription_changed: stamp });
  });
});

describe('null counts as not sent', () => {
  test.each([
    [
      { is_subscribed: false, new_feed_url: null, new_guid: null },
      { is_subscribed: false, subscription_changed: stamp },
    ],
    [
      { is_subscribed: null, new_feed_url: urlB, new_guid: null },
      { new_feed_url: urlB, subscription_changed: stamp },
    ],
  ])('PATCH %j', async (patch, answer) => {
    const { ann, guid } = await userWithOne();
    expect((await ann.patch(`/subscriptions/${guid}`, patch)).body).toEqual(answer);
  });
});

describe('PATCH is 405 and applies nothing', () => {
  test.each([
    ['no field', {}],
    ['only unknown fields', { feed_url: urlB, guid: newGuid() }],
    ['a list', []],
    ['a string', 'is_subscribed'],
    ['a string for is_subscribed', { is_subscribed: 'true' }],
    ['a number for is_subscribed', { is_subscribed: 1 }],
    ['a URL without a scheme', { new_feed_url: 'a.example/feed' }],
    ['a URL of another scheme', { new_feed_url: 'ftp://a.example/feed' }],
    ['a URL that is too long', { new_feed_url: `https://feeds.example/${'x'.repeat(4_075)}` }],
    ['a URL with a NUL', { new_feed_url: 'https://a.example/\u0000' }],
    ['a URL with a tab', { new_feed_url: 'https://a.example/\ta' }],
    ['a URL with a line break', { new_feed_url: 'https://a.example/a\nb' }],
    ['a URL with a lone surrogate', { new_feed_url: 'https://a.example/\ud800' }],
    ['no UUID', { new_guid: 'x' }],
    ['null in every field, which counts as not sent', { is_subscribed: null, new_feed_url: null, new_guid: null }],
    ['a number for new_guid', { new_guid: 7 }],
  ])('with %s', async (_, patch) => {
    const { ann, guid } = await userWithOne();
    const before = await ann.subscriptions();
    expectError(await ann.patch(`/subscriptions/${guid}`, patch), 405);
    expect(await ann.subscriptions()).toEqual(before);
  });

  test.each([
    { is_subscribed: false, new_guid: 'x' },
    { is_subscribed: false, new_feed_url: 'x' },
    { new_feed_url: urlB, is_subscribed: 'no' },
    { new_guid: newGuid(), new_feed_url: '' },
  ])('with one bad field among good ones: %j', async (patch) => {
    const { ann, guid } = await userWithOne();
    const before = await ann.subscriptions();
    expectError(await ann.patch(`/subscriptions/${guid}`, patch), 405);
    expect(await ann.subscriptions()).toEqual(before);
  });
});

describe('a guid in a path', () => {
  const methods = ['GET', 'PATCH', 'DELETE'];
  const ask = async (ann: User, method: string, guid: string) =>
    ann.send(method, `/subscriptions/${guid}`, method === 'PATCH' ? { body: { is_subscribed: true } } : {});

  test.each(methods)('that names nothing is 404: %s', async (method) => {
    expectError(await ask(await User.fresh(), method, newGuid()), 404);
  });

  test.each(methods)("that is another user's is 404: %s", async (method) => {
    const { guid } = await userWithOne();
    expectError(await ask(await User.fresh(), method, guid), 404);
  });

  test.each(methods)('that is no UUID is 405: %s', async (method) => {
    const ann = await User.fresh();
    const long = 'a'.repeat(4_000);
    for (const guid of ['x', '1', '%20', 'null', '9b024349ccf05f69a6096b82873eab3c', `${newGuid()}x`, '%00', '☂', long])
      expectError(await ask(ann, method, guid), 405);
  });

  test('may be in any case and percent-encoded', async () => {
    const { ann, guid } = await userWithOne();
    expect((await ann.subscription(guid.toUpperCase())).guid).toBe(guid);
    expect((await ann.get(`/subscriptions/${guid.replaceAll('-', '%2D')}`)).body).toMatchObject({ guid });
  });
});
