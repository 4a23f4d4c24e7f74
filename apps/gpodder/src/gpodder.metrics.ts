import { oneCounter } from '#runtime';

/** Registers the counter of skipped entries of uploads. Returns the function that counts them. */
export function skippedEntryMetrics(): (reason: string, entries: number) => void {
  const skippedCounter = oneCounter(
    'podcast_sync_skipped_entries_total',
    'Skipped entries of uploads to the gpodder API, by reason.',
    ['reason'],
  );
  return (reason, entries) => skippedCounter.inc({ reason }, entries);
}

/** Registers the counter of session cookies by outcome. Returns the function that counts one. */
export function gpodderSessionMetrics(): (outcome: 'made' | 'refused' | 'busy') => void {
  const outcomeCounter = oneCounter(
    'podcast_sync_gpodder_sessions_total',
    'Session cookies: `made`; `refused` because the session ended; `busy`, not looked up because ' +
      'of too many lookups.',
    ['outcome'],
  );
  return (outcome) => outcomeCounter.inc({ outcome });
}
