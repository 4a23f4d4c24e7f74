import { countBy } from '#runtime';

/** Registers the counter of a replica's change notifications to gateways. */
export function watchNotifications(read: () => Readonly<Record<string, number>>): void {
  countBy(
    'podcast_sync_change_notifications_total',
    'Change notifications after commits: `sent` to Redis, or `dropped` without it.',
    'outcome',
    read,
  );
}
