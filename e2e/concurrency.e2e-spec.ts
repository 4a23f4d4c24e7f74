import { expect, test } from 'vitest';
import { expectError } from './http.js';
import { episode, feed, newGuid, numbers } from './samples.js';
import { User } from './user.js';

// Integration tests of a service have races within it. These races involve several services.

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

test('uploads during a merge are not lost', async () => {
  const ann = await User.fresh();
  const x = await ann.subscribed(feed('x'), newGuid());
  const y = await ann.subscribed(feed('y'), newGuid());
  const uploads = Promise.all(
    numbers(20).map((n) => ann.uploaded(episode(n % 2 === 0 ? x : y, n))),
  );
  await ann.update(x, { new_feed_url: feed('y') });
  await uploads;
  const { total, episodes } = await ann.episodes();
  expect(total).toBe(20);
  expect(new Set(episodes.map((row) => row.podcast_guid))).toEqual(new Set([x]));
});
