import { instantOf, podcastGuid, urlKey } from '#contracts';
import {
  type SubscriptionChanges,
  SubscriptionSet,
  type Snapshot,
} from '../src/subscription-set.js';
import type { SubscriptionRow } from '../src/subscription-row.js';
import type { RowCounts } from '../src/remaining-quota.js';

/** `earlier` is the stamp of stored rows, `now` the stamp of the write and its arrival. */
export const earlier = '2026-01-01T00:00:00.000Z';
export const now = '2026-02-02T00:00:00.000Z';

/** Returns a UUID that repeats one hexadecimal digit. */
function guid(digit: string): string {
  return '00000000-0000-4000-8000-000000000000'.replaceAll('0', digit);
}

/** Guids and feed URLs of tests. */
export const [A, B, C, D] = ['a', 'b', 'c', 'd'].map(guid) as [string, string, string, string];
export const [u, v, w] = [
  'https://u.example/feed',
  'https://v.example/feed',
  'https://w.example/feed',
] as const;

/** A stored subscription of a test. The first URL and guid are current, all others former. */
export interface SubscriptionFixture extends Partial<Omit<SubscriptionRow, 'feedUrl' | 'guid'>> {
  id: number;
  urls: [current: string, ...former: string[]];
  guids: [current: string, ...former: string[]];
  /** The guids that a client or feed sent; by default all. */
  declared?: string[];
}

/** Returns the state of a write that has read these subscriptions. */
export function subscriptionSet(...described: SubscriptionFixture[]): SubscriptionSet {
  return subscriptionSetWithQuotas({}, ...described);
}

/** Like {@link subscriptionSet}. @param left remaining quota by kind of row, by default 1,000. */
export function subscriptionSetWithQuotas(
  left: Partial<RowCounts>,
  ...described: SubscriptionFixture[]
): SubscriptionSet {
  const rows = described.map(({ urls, guids, declared = guids, ...row }) => ({
    feedUrl: urls[0],
    guid: guids[0],
    isSubscribed: row.deleted == null,
    subscriptionChanged: earlier,
    subscribedAt: instantOf(Date.parse(earlier)),
    declaredGuids: declared.filter((name) => !urls.map(podcastGuid).includes(name)).length,
    deletionId: null,
    flippedAt: earlier,
    guidChanged: null,
    deleted: null,
    mergedInto: null,
    mergedAt: null,
    title: null,
    titleAt: null,
    hasLostUrl: false,
    ...row,
  }));
  const names = <Name>(of: (subscription: SubscriptionFixture) => Name[]) =>
    described.flatMap((subscription) =>
      of(subscription).map((name): [Name, number] => [name, subscription.id]),
    );
  return new SubscriptionSet(
    {
      rows,
      guids: described.flatMap(({ id, urls, guids, declared = guids }) =>
        [...new Set([...guids, ...urls.map(podcastGuid)])].map(
          (name): Snapshot['guids'][number] => [
            name,
            id,
            declared.includes(name),
            urls.map(podcastGuid).includes(name),
          ],
        ),
      ),
      urls: names(({ urls }) => urls.map(urlKey)),
      newIds: Array.from({ length: 20 }, (_, index) => 100 + index),
      now: instantOf(Date.parse(now)),
      remaining: {
        live: 1_000,
        pointers: 1_000,
        guidChanges: 1_000,
        guids: 1_000,
        urls: 1_000,
        ...left,
      },
    },
    now,
    Date.parse(now),
  );
}

/** Returns a row as the write changes it; `undefined` if the write does not change it. */
export function changedRow(
  subscriptions: SubscriptionSet,
  id: number,
): SubscriptionChanges['rows'][number] | undefined {
  return subscriptions.changes().rows.find((row) => row.id === id);
}
