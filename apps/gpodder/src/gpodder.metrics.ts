import { oneCounter } from '#runtime';

/** Registers the counter of skipped entries of uploads: the protocol has no error per entry. */
export function skippedEntryMetrics(): (reason: string, entries: number) => void {
  const skipped = oneCounter(
    'podcast_sync_skipped_entries_total',
    'Skipped entries of uploads to the gpodder API, by reason.',
    ['reason'],
  );
  return (reason, entries) => skipped.inc({ reason }, entries);
}

/** Registers the counter of session cookies that were created, rejected or not checked. */
export function gpodderSessionMetrics(): (outcome: 'made' | 'refused' | 'busy') => void {
  const outcomes = oneCounter(
    'podcast_sync_gpodder_sessions_total',
    'Session cookies: `made`; `refused` because the session ended; `busy`, not looked up because ' +
      'of too many lookups.',
    ['outcome'],
  );
  return (outcome) => outcomes.inc({ outcome });
}
