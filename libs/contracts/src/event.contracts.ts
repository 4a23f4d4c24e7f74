import { z } from 'zod';

/**
 * Kinds of changes of a user's data. `erased` means that all data is erased: readers must delete
 * their copies. The order is that of the bits in `sync.events`, so add a new kind at the end.
 */
export const eventKinds = ['subscriptions', 'episodes', 'deletions', 'erased'] as const;
export type EventKind = (typeof eventKinds)[number];

/** Returns kinds as a number with a bit for each kind, as in `sync.events`. */
export function kindBits(kinds: readonly EventKind[]): number {
  return kinds.reduce((bits, kind) => bits | (1 << eventKinds.indexOf(kind)), 0);
}

/** Returns the kinds whose bits are set, separated by commas as in an event. */
export function kindNames(bits: number): string {
  return eventKinds.filter((_, bit) => bits & (1 << bit)).join();
}

/** Schema of an event: the three fields of its entry in the stream (docs/reference/events.md). */
export const changeEvent = z.object({
  user: z.guid(),
  /** {@link eventKinds}, separated by commas. Readers must ignore kinds that they do not know. */
  kinds: z.string().regex(/^[a-z]+(,[a-z]+)*$/),
  /** The user's clock at the change. All changes of these kinds up to this stamp are readable. */
  stamp: z.iso.datetime(),
});
export type ChangeEvent = z.output<typeof changeEvent>;

/** The Redis stream of events. In a Cluster, `{events}` puts a key on the node of the stream. */
export const eventStream = {
  /** Key of the stream, which services of other teams read. */
  key: 'events',
  batchKey: '{events}:batch',
  entry: changeEvent,
} as const;
