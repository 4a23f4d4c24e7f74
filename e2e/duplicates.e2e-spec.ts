import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SubscribeAnswer } from './interface.js';
import { episode, newGuid } from './samples.js';
import { User } from './user.js';

const full = Boolean(process.env.TEST_FULL);

/** A feed that moves to https, and then to another host. */
const moves = ['http://old.example/feed', 'https://old.example/feed', 'https://new.example/feed'];
/** Three devices: true if the device knows the guid that the feed declares. */
const devices = [false, true, true];
const arrivals = moves.flatMap((feedUrl) =>
  devices.map((knowsGuid, device) => ({ feedUrl, knowsGuid, device })),
);

/**
 * Subscribes for each device at each address, in this order. Each device then uploads the same
 * episode with a later time.
 */
async function sync(order: typeof arrivals) {
  const ann = await User.fresh();
  const declared = newGuid();
  const known = new Set<string>();
  for (const [minute, { feedUrl, knowsGuid }] of order.entries()) {
    const entry = { feed_url: feedUrl, ...(knowsGuid && { guid: declared }) };
    const { body } = await ann.post<SubscribeAnswer>('/subscriptions', { subscriptions: [entry] });
    expect(body.failure).toEqual([]);
    const guid = String(body.success[0]?.guid);
    known.add(guid);
    await ann.uploaded(
      episode(guid, 1, {
        playback_position: { value: minute, timestamp: `2023-02-23T14:0${minute}` },
      }),
    );
  }
  return { ann, declared, known: [...known] };
}

test('three devices keep one subscription and one state through two moves', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray(arrivals, { minLength: arrivals.length }),
      async (order) => {
        const { ann, declared, known } = await sync(order);
        const { subscriptions } = await ann.subscriptions({ per_page: 100 });
        // Each pointer directly names the survivor.
        const [current, ...others] = new Set(
          subscriptions.map(({ guid, new_guid }) => new_guid ?? guid),
        );
        expect(others).toEqual([]);
        for (const guid of [declared, ...known]) {
          const shown = await ann.subscription(guid);
          expect([shown.new_guid ?? shown.guid, shown.is_subscribed]).toEqual([current, true]);
        }
        const { episodes } = await ann.episodes();
        expect(episodes).toHaveLength(1);
        expect(episodes[0]).toMatchObject({
          podcast_guid: current,
          playback_position: { value: order.length - 1 },
        });
      },
    ),
    { numRuns: full ? 150 : 10 },
  );
});
