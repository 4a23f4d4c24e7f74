import { z } from 'zod';

/**
 * What of a user may have changed; `erased`: everything of the user is gone, and whoever keeps something of it is to forget
 * it. The order is that of the bits in `sync.events`, so nothing is ever put between.
 */
export const eventKinds = ['subscriptions', 'episodes', 'deletions', 'erased'] as const;
export type EventKind = (typeof eventKinds)[number];

/** Kinds as the bits that the database keeps. */
export function bitsOf(kinds: readonly EventKind[]): number {
  return kinds.reduce((bits, kind) => bits | (1 << eventKinds.indexOf(kind)), 0);
}

/** The kinds that some bits stand for, as an event names them: `subscriptions,episodes`. */
export function namesOf(bits: number): string {
  return eventKinds.filter((_, bit) => bits & (1 << bit)).join();
}

/** That something of a user has changed: docs/reference/events.md. An entry of the stream has it as three fields. */
export const changeEvent = z.object({
  user: z.guid(),
  /** Names of {@link eventKinds}, separated by commas. A reader takes no notice of one that it does not know. */
  kinds: z.string().regex(/^[a-z]+(,[a-z]+)*$/),
  /** The user's clock: everything of these kinds up to it can be read. In the form of `Sync-Timestamp`. */
  stamp: z.iso.datetime(),
});
export type ChangeEvent = z.output<typeof changeEvent>;

/** Where events are in Redis. The braces keep all keys in the slot of the stream. */
export const eventStream = {
  /** The stream that other teams' services follow. */
  key: 'events',
  /** The number of the last batch that was appended. */
  batchKey: '{events}:batch',
  entry: changeEvent,
} as const;

/**
 * Events beside the stream, for who listens just now: a message is a JSON list of them. It may be lost, and come more than
 * once.
 */
export const eventHints = { channel: '{events}:hints', message: z.array(changeEvent) } as const;
