import { describe, expect, test } from 'vitest';
import { expectError, stampForm } from './http.js';
import { feed, newGuid } from './samples.js';
import { User } from './user.js';

// update.rules.spec.ts of the subscription app and update-schema.spec.ts of the gateway own the
// rules.

const [urlA, urlB] = [feed('a'), feed('b')];
const stamp = expect.stringMatching(stampForm);

async function userWithOne(): Promise<{ ann: User; guid: string }> {
  const ann = await User.fresh();
  return { ann, guid: await ann.subscribed(urlA) };
}

describe('PATCH', () => {
  test('answers with the sent fields and the stamps of their changes', async () => {
    const { ann, guid } = await userWithOne();
    const unsubscribed = await ann.update(guid, { is_subscribed: false });
    expect(unsubscribed).toEqual({ is_subscribed: false, subscription_changed: stamp });
    const moved = await ann.patch(`/subscriptions/${guid}`, {
      new_feed_url: `\t${urlB} `,
      color: null,
    });
    expect([moved.status, moved.body]).toEqual([
      200,
      { new_feed_url: urlB, subscription_changed: stamp },
    ]);
    const new_guid = newGuid();
    expect(await ann.update(guid, { new_guid: new_guid.toUpperCase() })).toEqual({
      new_guid,
      guid_changed: stamp,
    });
    const title = 'Mind & Matter';
    const sent = { new_feed_url: urlA, new_guid: newGuid(), is_subscribed: true, title };
    const all = await ann.update(guid, sent);
    expect(all).toEqual({
      ...sent,
      subscription_changed: stamp,
      guid_changed: all.subscription_changed,
    });
    const { subscription_changed } = all;
    const shown = {
      guid: sent.new_guid,
      feed_url: urlA,
      is_subscribed: true,
      subscription_changed,
      title,
    };
    expect(await ann.subscription(sent.new_guid)).toEqual(shown);
  });

  test.each([
    ['only unknown fields', { feed_url: urlB }],
    ['a list', []],
    [
      'one bad field among good ones',
      { is_subscribed: false, new_guid: newGuid(), new_feed_url: '' },
    ],
  ])('with %s is 405 and applies nothing', async (_, patch) => {
    const { ann, guid } = await userWithOne();
    const before = await ann.subscriptions();
    expectError(await ann.patch(`/subscriptions/${guid}`, patch), 405);
    expect(await ann.subscriptions()).toEqual(before);
  });
});

describe('a guid in a path', () => {
  test('can be in any case and percent-encoded', async () => {
    const { ann, guid } = await userWithOne();
    expect((await ann.subscription(guid.toUpperCase())).guid).toBe(guid);
    expect((await ann.get(`/subscriptions/${guid.replaceAll('-', '%2D')}`)).body).toMatchObject({
      guid,
    });
  });
});
