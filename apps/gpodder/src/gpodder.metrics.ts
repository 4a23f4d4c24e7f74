import { oneCounter } from '#runtime';

/** Returns a function that counts skipped entries. The protocol has no error for one entry. */
export function skippedEntryMetrics(): (reason: string, entries: number) => void {
  const skipped = oneCounter(
    'podcast_sync_skipped_entries_total',
    'Skipped entries of uploads to the gpodder API, by reason.',
    ['reason'],
  );
  return (reason, entries) => skipped.inc({ reason }, entries);
}

/** Returns a function that counts session cookies by outcome. */
export function gpodderSessionMetrics(): (outcome: 'made' | 'refused' | 'busy') => void {
  const outcomes = oneCounter(
    'podcast_sync_gpodder_sessions_total',
    'Session cookies: `made`; `refused` because the session ended; `busy`, not looked up because ' +
      'of too many lookups.',
    ['outcome'],
  );
  return (outcome) => outcomes.inc({ outcome });
}
