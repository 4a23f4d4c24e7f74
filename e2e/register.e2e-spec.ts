import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DeletionAccepted, SubscribeAnswer } from './interface.js';
import { feed } from './samples.js';
import { User } from './user.js';

const full = Boolean(process.env.TEST_FULL);

/** Returns a time in a past hour. */
const at = (minute: number) => `2026-01-15T10:${String(minute).padStart(2, '0')}:00Z`;
const post = (ann: User, ...subscriptions: object[]) =>
  ann.post<SubscribeAnswer>('/subscriptions', { subscriptions });
const isSubscribed = async (ann: User) =>
  (await ann.subscriptions()).subscriptions.map((row) => row.is_subscribed);

type Change =
  | { kind: 'post'; minute: number }
  | { kind: 'patch'; minute: number; value: boolean }
  | { kind: 'delete'; minute: number; thenWaits: boolean };

const minute = fc.integer({ min: 1, max: 9 });
const added = fc.record({ kind: fc.constant('post' as const), minute });
const patched = fc.record({ kind: fc.constant('patch' as const), minute, value: fc.boolean() });
const deleted = fc.record({
  kind: fc.constant('delete' as const),
  minute,
  thenWaits: fc.boolean(),
});

/** Returns the expected value: of the latest changes the one that subscribes, if any. */
function expected(changes: readonly Change[]): boolean {
  const subscribes = (change: Change) =>
    change.kind === 'post' || (change.kind === 'patch' && change.value);
  const last = Math.max(0, ...changes.map((change) => change.minute));
  const latest = changes.filter((change) => change.minute === last);
  return latest.length === 0 || latest.some(subscribes);
}

/** Returns the value after changes in this order, at a subscription of minute 0. */
async function outcome(changes: readonly Change[]): Promise<boolean[]> {
  const ann = await User.fresh();
  const entry = (time: number) => post(ann, { feed_url: feed('b'), timestamp: at(time) });
  const guid = (await entry(0)).body.success[0]?.guid;
  const deletions: number[] = [];
  for (const change of changes) {
    const timestamp = at(change.minute);
    if (change.kind === 'post') await entry(change.minute);
    else if (change.kind === 'patch')
      await ann.patch(`/subscriptions/${guid}`, { is_subscribed: change.value, timestamp });
    else {
      const { status, body } = await ann.delete<DeletionAccepted>(
        `/subscriptions/${guid}?timestamp=${timestamp}`,
      );
      if (status === 202) deletions.push(body.deletion_id);
      // The next changes arrive while some deletions are pending, and after the end of others.
      if (change.thenWaits) await Promise.all(deletions.map((id) => ann.ended(id)));
    }
  }
  await Promise.all(deletions.map((id) => ann.ended(id)));
  return isSubscribed(ann);
}

describe('any order of arrival of timed changes has the same is_subscribed:', () => {
  // Not all three together: a PATCH of a deleted subscription is 404.
  test.each([
    ['POST and PATCH', fc.oneof(added, patched)],
    ['POST and DELETE', fc.oneof(added, deleted)],
  ])('%s', async (_, change) => {
    const arrivals = fc
      .array(change as fc.Arbitrary<Change>, { minLength: 1, maxLength: 5 })
      .chain((changes) => fc.shuffledSubarray(changes, { minLength: changes.length }));
    await fc.assert(
      fc.asyncProperty(arrivals, async (changes) => {
        expect(await outcome(changes)).toEqual([expected(changes)]);
      }),
      { numRuns: full ? 200 : 20 },
    );
  });
});
