import { describe, expect, test } from 'vitest';
import { expectError } from './http.js';
import { feed, newGuid } from './samples.js';
import { User } from './user.js';

// update.rules.spec.ts, subscription-list.repository.int-spec.ts and
// merge-subscription.int-spec.ts own the rules.

const [urlX, urlY] = [feed('x'), feed('y')];

/** Two subscriptions: X in the path of a PATCH, and Y, which is merged into it. */
async function userWithTwo() {
  const ann = await User.fresh();
  const [x, y] = [newGuid(), newGuid()];
  await ann.subscribe({ feed_url: urlX, guid: x }, { feed_url: urlY, guid: y });
  return { ann, x, y, sync: (await ann.subscriptions()).sync };
}

describe('PATCH merges into the subscription of its path', () => {
  test('the one with new_feed_url, which stays listed as a pointer', async () => {
    const { ann, x, y, sync } = await userWithTwo();
    const { subscription_changed } = await ann.update(x, { new_feed_url: urlY });
    const survivor = { feed_url: urlY, is_subscribed: true, subscription_changed };
    const pointer = { ...survivor, guid: y, new_guid: x, guid_changed: subscription_changed };
    const { total, subscriptions } = await ann.subscriptions({ since: sync });
    expect({ total, subscriptions }).toEqual({
      total: 2,
      subscriptions: [{ ...survivor, guid: x }, pointer],
    });
    expect(await ann.subscription(y)).toEqual(pointer);
    expect(await ann.subscribed(urlX)).toBe(x);
  });

  test('and a deletion turns both into tombstones, which one POST revives', async () => {
    const { ann, x, y } = await userWithTwo();
    await ann.update(x, { new_feed_url: urlY });
    await ann.deleted(y);
    for (const guid of [x, y]) expectError(await ann.get(`/subscriptions/${guid}`), 410);
    const { subscriptions } = await ann.subscriptions();
    const { deleted } = subscriptions[0] ?? {};
    const tombstone = { is_subscribed: false, deleted, subscription_changed: deleted };
    expect(subscriptions).toMatchObject([
      { ...tombstone, guid: x },
      { ...tombstone, guid: y, new_guid: x },
    ]);
    expect(await ann.subscribed(urlX)).toBe(x);
    expect((await ann.subscriptions()).subscriptions.some((row) => 'deleted' in row)).toBe(false);
  });
});
