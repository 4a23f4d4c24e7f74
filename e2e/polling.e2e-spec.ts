import { describe, expect, test } from 'vitest';
import type { SubscriptionPage } from './interface.js';
import { episode, feed, newGuid, numbers } from './samples.js';
import { User } from './user.js';

const full = Boolean(process.env.TEST_FULL);

// subscription-list.repository.int-spec.ts and episode.service.int-spec.ts test a poller of
// Sync-Timestamp during writes.

describe('a walk through all pages visits every row', () => {
  const rows = full ? 250 : 60;

  test('by links, during writes, deletions and merges', async () => {
    const ann = await User.fresh();
    const made = await ann.subscribe(
      ...numbers(rows).map((n) => ({ feed_url: feed(n), guid: newGuid() })),
    );
    const guids = made.map((entry) => entry.guid);
    const disturb = [
      (n: number) => ann.subscribe(feed(`new ${n}`.replace(' ', '-'))),
      (n: number) => ann.update(guids[n] ?? '', { is_subscribed: false }),
      (n: number) => ann.deleted(guids[n] ?? ''),
      (n: number) => ann.update(guids[n] ?? '', { new_feed_url: feed(n + 2) }),
      (n: number) => ann.update(guids[n] ?? '', { new_guid: newGuid() }),
    ];
    const disturbed = (async () => {
      for (let n = 0; n < rows - 5; n += 5)
        await Promise.all(disturb.map((write, index) => write(n + index)));
    })();
    // A list without since shows the first guid of each subscription.
    const seen: string[] = [];
    for (let link: string | undefined = '/subscriptions?per_page=4'; link !== undefined;) {
      const { body }: { body: SubscriptionPage } = await ann.get<SubscriptionPage>(link);
      seen.push(...body.subscriptions.map((row) => row.guid));
      link = body.next;
    }
    await disturbed;
    expect(new Set(seen).size).toBe(seen.length);
    expect(guids.filter((guid) => !seen.includes(guid))).toEqual([]);
  });

  test('by numbers, during uploads', async () => {
    const ann = await User.fresh();
    const podcast = await ann.subscribed();
    const made = await ann.upload(...numbers(rows).map((n) => episode(podcast, n)));
    const uploads = (async () => {
      for (const n of numbers(rows / 4)) {
        const played_status = { value: true, timestamp: '2023-02-23T14:00' };
        await ann.upload(episode(podcast, n, { played_status }), episode(podcast, rows + n));
      }
    })();
    const seen = new Set<string>();
    for (let page = 1, total = 1; (page - 1) * 7 < total; page += 1) {
      const answer = await ann.episodes({ page, per_page: 7 });
      for (const row of answer.episodes) seen.add(row.sync_id);
      total = answer.total;
    }
    await uploads;
    expect(made.filter((row) => !seen.has(row.sync_id))).toEqual([]);
  });
});
