import {
  type Changes,
  KnownSubscriptions,
  type Remaining,
  type SubscriptionRow,
  urlKey,
} from '../src/known-subscriptions.js';

/** A stamp before every other, and the stamp of the write. */
export const earlier = '2026-01-01T00:00:00.000Z';
export const now = '2026-02-02T00:00:00.000Z';

/** A guid that is easy to read: every digit the same. */
export function guid(digit: string): string {
  return '00000000-0000-4000-8000-000000000000'.replaceAll('0', digit);
}

/** A subscription as a test describes it: its first URL and guid are the current ones, the rest are former. */
export interface Described extends Partial<Omit<SubscriptionRow, 'feedUrl' | 'guid'>> {
  id: number;
  urls: [current: string, ...former: string[]];
  guids: [current: string, ...former: string[]];
}

/** What a write on these subscriptions reads. */
export function world(...described: Described[]): KnownSubscriptions {
  return worldWith({}, ...described);
}

/** The same, with less left of some quotas. */
export function worldWith(left: Partial<Remaining>, ...described: Described[]): KnownSubscriptions {
  const rows = described.map(({ urls, guids, ...row }) => ({
    feedUrl: urls[0],
    guid: guids[0],
    isSubscribed: row.deleted == null,
    subscriptionChanged: earlier,
    added: earlier,
    guidChanged: null,
    deleted: null,
    mergedInto: null,
    mergedAt: null,
    ...row,
  }));
  const names = <Name>(of: (subscription: Described) => Name[]) =>
    described.flatMap((subscription) => of(subscription).map((name): [Name, number] => [name, subscription.id]));
  return new KnownSubscriptions(
    {
      rows,
      guids: names(({ guids }) => guids),
      urls: names(({ urls }) => urls.map(urlKey)),
      newIds: Array.from({ length: 20 }, (_, index) => 100 + index),
      left: { live: 1_000, pointers: 1_000, guidChanges: 1_000, guids: 1_000, urls: 1_000, ...left },
    },
    now,
  );
}

/** A row as the write changed it; `undefined` where it did not. */
export function changedRow(known: KnownSubscriptions, id: number): Changes['rows'][number] | undefined {
  return known.changes().rows.find((row) => row.id === id);
}
