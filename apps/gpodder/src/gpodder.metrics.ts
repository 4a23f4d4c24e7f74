import { oneCounter } from '#runtime';

/** Returns a counter of skipped entries by reason. The protocol cannot reject them. */
export function skippedEntryMetrics(): (reason: string, entries: number) => void {
  const skipped = oneCounter(
    'podcast_sync_skipped_entries_total',
    'Entries of uploads to the gpodder API that were skipped, by reason.',
    ['reason'],
  );
  return (reason, entries) => skipped.inc({ reason }, entries);
}

/** Returns a counter of session cookies by outcome. */
export function gpodderSessionMetrics(): (outcome: 'made' | 'refused' | 'busy') => void {
  const outcomes = oneCounter(
    'podcast_sync_gpodder_sessions_total',
    'Cookies of sessions: `made`, `refused` as it was ended, or not looked up as the service was asked too often (`busy`).',
    ['outcome'],
  );
  return (outcome) => outcomes.inc({ outcome });
}
