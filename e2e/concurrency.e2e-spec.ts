import { describe, expect, test } from 'vitest';
import { expectError } from './http.js';
import { episode, feed, newGuid, numbers } from './samples.js';
import { User } from './user.js';

// Integration tests of a service have races within it. These races involve several services.

const rounds = process.env.TEST_FULL ? 20 : 3;

test('of two concurrent operations with one Idempotency-Key the second is 405', async () => {
  const key = { 'idempotency-key': 'once' };
  const ann = await User.fresh();
  const guid = await ann.subscribed();
  const [patch, remove] = await Promise.all([
    ann.patch(`/subscriptions/${guid}`, { is_subscribed: false }, key),
    ann.delete(`/subscriptions/${guid}`, key),
  ]);
  const [first, second] = patch.status === 405 ? [remove, patch] : [patch, remove];
  expect([200, 202]).toContain(first.status);
  expectError(second, 405);
});

describe('concurrent writes', () => {
  /** Two subscriptions with declared guids. */
  async function userWithTwo() {
    const ann = await User.fresh();
    return {
      ann,
      x: await ann.subscribed(feed('x'), newGuid()),
      y: await ann.subscribed(feed('y'), newGuid()),
    };
  }

  test('merge two subscriptions into each other, and one owns everything', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const { ann, x, y } = await userWithTwo();
      await ann.upload(episode(x, 1), episode(y, 1), episode(y, 2));
      await Promise.all([
        ann.update(x, { new_feed_url: feed('y') }),
        ann.update(y, { new_feed_url: feed('x') }),
      ]);
      const [ofX, ofY] = [await ann.subscription(x), await ann.subscription(y)];
      expect(ofX.new_guid ?? ofX.guid).toBe(ofY.new_guid ?? ofY.guid);
      expect((await ann.episodes()).total).toBe(2);
    }
  });

  test('a merge before the end of a deletion keeps the subscription', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const { ann, x, y } = await userWithTwo();
      await ann.upload(episode(x, 1), episode(y, 2));
      const id = await ann.requestDeletion(y);
      await ann.update(x, { new_feed_url: feed('y') });
      const { status } = await ann.ended(id);
      expect(await ann.subscription(x)).toMatchObject({
        guid: x,
        feed_url: feed('y'),
        is_subscribed: true,
      });
      expect((await ann.episodes()).total).toBe(status === 'SUCCESS' ? 1 : 2);
    }
  });

  test('uploads during a merge are not lost', async () => {
    const { ann, x, y } = await userWithTwo();
    const uploads = Promise.all(
      numbers(20).map((n) => ann.uploaded(episode(n % 2 === 0 ? x : y, n))),
    );
    await ann.update(x, { new_feed_url: feed('y') });
    await uploads;
    const { total, episodes } = await ann.episodes();
    expect(total).toBe(20);
    expect(new Set(episodes.map((row) => row.podcast_guid))).toEqual(new Set([x]));
  });
});
