import { countBy } from '#runtime';

/** Exports the numbers of published revocations by kind, and of failed calls (`unannounced`). */
export function watchRevocations(read: () => Readonly<Record<string, number>>): void {
  countBy(
    'podcast_sync_revocations_total',
    'Revocations by kind: `user`, `grant`, `session`, `credential`, `gpodder_session`; ' +
      '`unannounced`: Redis was unavailable.',
    'kind',
    read,
  );
}
