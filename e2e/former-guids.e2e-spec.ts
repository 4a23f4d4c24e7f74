import { describe, expect, test } from 'vitest';
import { expectError } from './http.js';
import { episode, feed, newGuid } from './samples.js';
import { User } from './user.js';

/** A subscription with the guids A, then B at t1, then C at t2. */
async function renamedTwice() {
  const ann = await User.fresh();
  const [a, b, c] = [newGuid(), newGuid(), newGuid()];
  await ann.subscribed(feed(1), a);
  const created = (await ann.subscriptions()).sync;
  const { guid_changed: t1 = '' } = await ann.update(a, { new_guid: b });
  const { guid_changed: t2 = '' } = await ann.update(b, { new_guid: c });
  return { ann, a, b, c, created, t1, t2 };
}

const names = ({ guid, new_guid, guid_changed }: { guid: string; new_guid?: string; guid_changed?: string }) => ({
  guid,
  new_guid,
  guid_changed,
});

describe('any guid a subscription ever had names it', () => {
  test('GET by the current guid has neither new_guid nor guid_changed', async () => {
    const { ann, c } = await renamedTwice();
    expect(Object.keys(await ann.subscription(c)).sort()).toEqual([
      'feed_url',
      'guid',
      'is_subscribed',
      'subscription_changed',
    ]);
  });

  test('GET by an old guid has it as guid, the current one as new_guid, and guid_changed', async () => {
    const { ann, a, b, c, t2 } = await renamedTwice();
    const rest = await ann.subscription(c);
    expect(await ann.subscription(a)).toEqual({ ...rest, guid: a, new_guid: c, guid_changed: t2 });
    expect(await ann.subscription(b)).toEqual({ ...rest, guid: b, new_guid: c, guid_changed: t2 });
  });

  test('PATCH by an old guid acts on it', async () => {
    const { ann, a, c } = await renamedTwice();
    await ann.update(a, { is_subscribed: false });
    expect((await ann.subscription(c)).is_subscribed).toBe(false);
  });

  test('DELETE by an old guid acts on it', async () => {
    const { ann, b, c } = await renamedTwice();
    await ann.deleted(b);
    expectError(await ann.get(`/subscriptions/${c}`), 410);
  });

  test('episodes can be uploaded by an old guid and show the current one', async () => {
    const { ann, a, c } = await renamedTwice();
    expect((await ann.uploaded(episode(a, 1))).podcast_guid).toBe(c);
    expect((await ann.episodes()).episodes).toMatchObject([{ podcast_guid: c }]);
  });

  test('a chain may return to an earlier guid', async () => {
    const { ann, a, b, c } = await renamedTwice();
    const { guid_changed } = await ann.update(c, { new_guid: a });
    expect(names(await ann.subscription(a))).toEqual({ guid: a });
    for (const old of [b, c])
      expect(names(await ann.subscription(old))).toEqual({ guid: old, new_guid: a, guid_changed });
    await ann.update(b, { new_guid: c });
    expect(names(await ann.subscription(c))).toEqual({ guid: c });
  });
});

describe('in a list a subscription is one row whose guid is', () => {
  const listed = async (ann: User, since?: string) =>
    (await ann.subscriptions(since === undefined ? {} : { since })).subscriptions.map(names);

  test('the first it ever had when since is omitted: A/C/t2', async () => {
    const { ann, a, c, t2 } = await renamedTwice();
    expect(await listed(ann)).toEqual([{ guid: a, new_guid: c, guid_changed: t2 }]);
  });

  test('the first it ever had when it was created after since: A/C/t2', async () => {
    const { ann, a, c, t2 } = await renamedTwice();
    expect(await listed(ann, '2020-01-01T00:00:00Z')).toEqual([{ guid: a, new_guid: c, guid_changed: t2 }]);
  });

  test('the one it had at since: A/C/t2 before t1, B/C/t2 between t1 and t2', async () => {
    const { ann, a, b, c, created, t1, t2 } = await renamedTwice();
    expect(await listed(ann, created)).toEqual([{ guid: a, new_guid: c, guid_changed: t2 }]);
    expect(await listed(ann, t1)).toEqual([{ guid: b, new_guid: c, guid_changed: t2 }]);
  });

  test('the current one alone after t2, when it changed otherwise', async () => {
    const { ann, c, t2 } = await renamedTwice();
    expect(await listed(ann, t2)).toEqual([]);
    await ann.update(c, { is_subscribed: false });
    expect(await listed(ann, t2)).toEqual([{ guid: c }]);
  });

  test('alone when the current one is that guid again', async () => {
    const { ann, a, b, c, t1, t2 } = await renamedTwice();
    const { guid_changed } = await ann.update(c, { new_guid: a });
    expect(await listed(ann)).toEqual([{ guid: a }]);
    expect(await listed(ann, t1)).toEqual([{ guid: b, new_guid: a, guid_changed }]);
    expect(await listed(ann, t2)).toEqual([{ guid: c, new_guid: a, guid_changed }]);
  });

  test('followed with Sync-Timestamp leads a client through every change', async () => {
    const { ann, c } = await renamedTwice();
    let { sync } = await ann.subscriptions();
    let known = c;
    for (const next of [newGuid(), newGuid(), newGuid()]) {
      await ann.update(known, { new_guid: next });
      const poll = await ann.subscriptions({ since: sync });
      expect(poll.subscriptions).toMatchObject([{ guid: known, new_guid: next }]);
      [sync, known] = [poll.sync, next];
    }
  });
});

describe('a guid change', () => {
  test('stamps the subscription, not its episodes', async () => {
    const ann = await User.fresh();
    const [old, current] = [await ann.subscribed(), newGuid()];
    await ann.uploaded(episode(old, 1));
    const { sync } = await ann.episodes();
    await ann.update(old, { new_guid: current });
    expect((await ann.episodes({ since: sync })).total).toBe(0);
    expect((await ann.subscriptions({ since: sync })).total).toBe(1);
    expect((await ann.episodes()).episodes).toMatchObject([{ podcast_guid: current }]);
  });
});
