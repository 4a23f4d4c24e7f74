import { describe, expect, test } from 'vitest';
import { expectError } from './http.js';
import type { DeletionAccepted, Episode, SubscribeAnswer } from './interface.js';
import { episode, feed, newGuid, numbers, shuffled } from './samples.js';
import { User } from './user.js';

const full = Boolean(process.env.TEST_FULL);

const rounds = full ? 20 : 3;

/** Runs a task for each item at the same time. */
function atOnce<Item, Result>(items: readonly Item[], task: (item: Item) => Promise<Result>): Promise<Result[]> {
  return Promise.all(items.map(task));
}

describe('20 equal requests at once', () => {
  test('POSTs of one feed make one subscription', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const ann = await User.fresh();
      const guids = await atOnce(numbers(20), () => ann.subscribed(feed(1)));
      expect(new Set(guids).size).toBe(1);
      expect((await ann.subscriptions()).total).toBe(1);
    }
  });

  test('POSTs of one feed under different guids make one subscription that owns them all', async () => {
    const ann = await User.fresh();
    const guids = numbers(20).map(() => newGuid());
    await atOnce(guids, (guid) => ann.subscribed(feed(1), guid));
    const { total, subscriptions } = await ann.subscriptions();
    expect(total).toBe(1);
    const current = subscriptions[0]?.new_guid ?? subscriptions[0]?.guid;
    for (const guid of guids) {
      const read = await ann.subscription(guid);
      expect(read.new_guid ?? read.guid).toBe(current);
    }
  });

  test('DELETEs make one deletion', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const ann = await User.fresh();
      const guid = await ann.subscribed();
      const answers = await atOnce(numbers(20), () => ann.delete<Partial<DeletionAccepted>>(`/subscriptions/${guid}`));
      const accepted = answers.filter(({ status }) => status === 202);
      // Whoever came after the cascade finds nothing to delete.
      expect(answers.every(({ status }) => status === 202 || status === 404)).toBe(true);
      const ids = new Set(accepted.map(({ body }) => body.deletion_id));
      expect(ids.size).toBe(1);
      expect((await ann.ended([...ids][0] ?? 0)).status).toBe('SUCCESS');
    }
  });

  test('uploads of one episode make one episode', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed();
    const made = await atOnce(numbers(20), () => ann.uploaded(episode(guid, 1)));
    expect(new Set(made.map((row) => row.sync_id)).size).toBe(1);
    expect((await ann.episodes()).total).toBe(1);
  });

  test('PATCHes that change the guid leave one chain that any of the guids leads through', async () => {
    const ann = await User.fresh();
    const first = await ann.subscribed();
    const guids = numbers(20).map(() => newGuid());
    const changes = await atOnce(guids, (new_guid) => ann.update(first, { new_guid }));
    const last = changes.toSorted((a, b) => ((a.guid_changed ?? '') < (b.guid_changed ?? '') ? 1 : -1))[0];
    expect(new Set(changes.map((change) => change.guid_changed)).size).toBe(20);
    for (const guid of [first, ...guids]) {
      const read = await ann.subscription(guid);
      expect(read.new_guid ?? read.guid).toBe(last?.new_guid);
    }
  });
});

test('500 requests at once run 500 times: each has a stamp of its own, and the clock stands at the last', async () => {
  const users = await atOnce(numbers(10), () => User.fresh());
  await atOnce(users, async (ann) => {
    const stamps = await atOnce(numbers(50), async () => (await ann.subscribe(feed(1)))[0]?.subscription_changed ?? '');
    expect(new Set(stamps).size).toBe(50);
    expect((await ann.subscriptions()).sync).toBe(stamps.sort().at(-1));
  });
});

describe('the same request with the same Idempotency-Key, sent twice at once, has one effect and one answer', () => {
  const key = { 'idempotency-key': 'once' };

  test('POST', async () => {
    const ann = await User.fresh();
    const subscriptions = numbers(10).map((n) => ({ feed_url: feed(n) }));
    const answers = await atOnce([1, 2], () => ann.post<SubscribeAnswer>('/subscriptions', { subscriptions }, key));
    expect(answers[0]?.status).toBe(200);
    expect(answers[1]?.body).toEqual(answers[0]?.body);
    expect((await ann.subscriptions()).sync).toBe(answers[0]?.body.success[0]?.subscription_changed);
  });

  test('PATCH', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed();
    const patch = { new_guid: newGuid(), is_subscribed: false };
    const answers = await atOnce([1, 2], () =>
      ann.patch<{ guid_changed: string }>(`/subscriptions/${guid}`, patch, key),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers[1]?.body).toEqual(answers[0]?.body);
    expect((await ann.subscriptions()).sync).toBe(answers[0]?.body.guid_changed);
  });

  test('DELETE', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed();
    const answers = await atOnce([1, 2], () => ann.delete(`/subscriptions/${guid}`, key));
    expect(answers[0]?.status).toBe(202);
    expect([answers[1]?.status, answers[1]?.body]).toEqual([202, answers[0]?.body]);
  });

  test('but of two different operations the second is 405', async () => {
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
});

describe('40 shuffled writes of one status', () => {
  test.each([
    ['one after the other', 1],
    ['at once', 40],
  ])('end at the newest: %s', async (_, parallel) => {
    const ann = await User.fresh();
    const podcast_guid = await ann.subscribed();
    const { sync_id } = await ann.uploaded(episode(podcast_guid, 1));
    const write = (n: number): Promise<Episode> => {
      const timestamp = `2023-02-23T14:${String(n).padStart(2, '0')}:30Z`;
      return ann.uploaded({ podcast_guid, sync_id, playback_position: { value: n, timestamp } });
    };
    const order = shuffled(numbers(40));
    while (order.length > 0) await atOnce(order.splice(0, parallel), write);
    expect((await ann.episodes()).episodes[0]?.playback_position).toEqual({ value: 40, timestamp: '2023-02-23T14:40' });
  });
});

describe('crossing writes', () => {
  test('merges of two subscriptions into each other leave one that owns everything', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const ann = await User.fresh();
      const [x, y] = [await ann.subscribed(feed('x'), newGuid()), await ann.subscribed(feed('y'), newGuid())];
      await ann.upload(episode(x, 1), episode(y, 1), episode(y, 2));
      await Promise.all([ann.update(x, { new_feed_url: feed('y') }), ann.update(y, { new_feed_url: feed('x') })]);
      const [ofX, ofY] = [await ann.subscription(x), await ann.subscription(y)];
      expect(ofX.new_guid ?? ofX.guid).toBe(ofY.new_guid ?? ofY.guid);
      expect((await ann.episodes()).total).toBe(2);
    }
  });

  test('a deletion ends at the row it was made for: a merge that comes first saves it, the survivor stays', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const ann = await User.fresh();
      const [x, y] = [await ann.subscribed(feed('x'), newGuid()), await ann.subscribed(feed('y'), newGuid())];
      await ann.upload(episode(x, 1), episode(y, 2));
      const id = await ann.requestDeletion(y);
      await ann.update(x, { new_feed_url: feed('y') });
      const { status } = await ann.ended(id);
      expect(await ann.subscription(x)).toMatchObject({ guid: x, feed_url: feed('y'), is_subscribed: true });
      expect((await ann.episodes()).total).toBe(status === 'SUCCESS' ? 1 : 2);
    }
  });

  test('uploads during a merge are never lost', async () => {
    const ann = await User.fresh();
    const [x, y] = [await ann.subscribed(feed('x'), newGuid()), await ann.subscribed(feed('y'), newGuid())];
    const uploads = atOnce(numbers(20), (n) => ann.uploaded(episode(n % 2 === 0 ? x : y, n)));
    await ann.update(x, { new_feed_url: feed('y') });
    await uploads;
    const { total, episodes } = await ann.episodes();
    expect(total).toBe(20);
    expect(new Set(episodes.map((row) => row.podcast_guid))).toEqual(new Set([x]));
  });
});
