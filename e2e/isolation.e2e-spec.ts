import { expect, test } from 'vitest';
import { episode, feed, newGuid } from './samples.js';
import { User } from './user.js';

/** Two users with the same guids, feeds and sync_ids. */
async function twins() {
  const [ann, bob] = [await User.fresh(), await User.fresh()];
  const [guid, sync_id] = [newGuid(), newGuid()];
  for (const user of [ann, bob]) {
    await user.subscribed(feed(1), guid);
    await user.uploaded(episode(guid, 1, { sync_id }));
  }
  const state = async (user: User) => ({
    ...(await user.subscriptions()),
    ...(await user.episodes()),
  });
  return { ann, bob, guid, sync_id, state, before: await state(bob) };
}

type Twins = Awaited<ReturnType<typeof twins>>;
const played_status = { value: true, timestamp: '2023-02-23T14:00' };

test.each<[string, (of: Twins) => Promise<unknown>]>([
  [
    'updates',
    ({ ann, guid }) =>
      ann.update(guid, { is_subscribed: false, new_feed_url: feed(2), new_guid: newGuid() }),
  ],
  ['deletes', ({ ann, guid }) => ann.deleted(guid)],
  [
    'deletes and adds again',
    async ({ ann, guid }) => [await ann.deleted(guid), await ann.subscribed(feed(1))],
  ],
  [
    'merges',
    async ({ ann, guid }) => [
      await ann.subscribed(feed(2), newGuid()),
      await ann.update(guid, { new_feed_url: feed(2) }),
    ],
  ],
  [
    'uploads',
    ({ ann, guid, sync_id }) =>
      ann.uploaded({ podcast_guid: guid, sync_id, title: 'new', played_status }),
  ],
])('one user %s without effect on another with equal guids, feeds and sync_ids', async (_, act) => {
  const of = await twins();
  await act(of);
  expect(await of.state(of.bob)).toEqual(of.before);
});

test('guids of another user merge nothing', async () => {
  const { ann, bob, state, before } = await twins();
  const theirs = (await bob.subscriptions()).subscriptions[0]?.guid ?? '';
  const own = await ann.subscribed(feed(3));
  await ann.update(own, { new_guid: newGuid() });
  await ann.deleted(theirs);
  expect(await state(bob)).toEqual(before);
});
