import { z } from 'zod';

/**
 * Kinds of changes of a user's data. `erased`: all data is erased, and readers must delete their
 * copies. The order is that of the bits in `sync.events`; a new kind must be the last.
 */
export const eventKinds = ['subscriptions', 'episodes', 'deletions', 'erased'] as const;
export type EventKind = (typeof eventKinds)[number];

/** Returns kinds as the bits of `sync.events`. */
export function kindBits(kinds: readonly EventKind[]): number {
  return kinds.reduce((bits, kind) => bits | (1 << eventKinds.indexOf(kind)), 0);
}

/** Returns the kinds whose bits are set, in the form of an event: `subscriptions,episodes`. */
export function kindNames(bits: number): string {
  return eventKinds.filter((_, bit) => bits & (1 << bit)).join();
}

/** A change of a user's data (docs/reference/events.md): the three fields of an entry. */
export const changeEvent = z.object({
  user: z.guid(),
  /** {@link eventKinds}, separated by commas. Readers ignore kinds that they do not support. */
  kinds: z.string().regex(/^[a-z]+(,[a-z]+)*$/),
  /** The user's clock, as in `Sync-Timestamp`. All changes of these kinds up to it are readable. */
  stamp: z.iso.datetime(),
});
export type ChangeEvent = z.output<typeof changeEvent>;

/** The Redis keys of events. The braces keep all keys in the slot of the stream. */
export const eventStream = {
  /** The stream, for other teams' services. */
  key: 'events',
  batchKey: '{events}:batch',
  entry: changeEvent,
} as const;
