import { countBy } from '#runtime';

/** What was revoked, by its kind, and what could not be announced. */
export function watchRevocations(read: () => Readonly<Record<string, number>>): void {
  countBy(
    'podcast_sync_revocations_total',
    'Revocations by kind: `user`, `grant`, `session`, `credential`, `gpodder_session`; `unannounced`: Redis was away.',
    'kind',
    read,
  );
}
