import { countBy } from '#runtime';

/** Registers the counter of a replica's change notifications to gateways. */
export function watchHints(read: () => Readonly<Record<string, number>>): void {
  countBy(
    'podcast_sync_change_hints_total',
    'Commits that moved a clock: `sent` to gateways with a stream of the user, if there are any; `dropped`: Redis was away.',
    'outcome',
    read,
  );
}
