import { oneCounter } from '#runtime';

/** Entries of uploads that were skipped, as their protocol has no way to refuse one, by reason. */
export function skippedEntryMetrics(): (reason: string, entries: number) => void {
  const skipped = oneCounter(
    'podcast_sync_skipped_entries_total',
    'Entries of uploads to the gpodder API that were skipped, by reason.',
    ['reason'],
  );
  return (reason, entries) => skipped.inc({ reason }, entries);
}

/** Sessions of the gpodder API, whose cookies come with requests. */
export function gpodderSessionMetrics(): (outcome: 'made' | 'refused' | 'busy') => void {
  const outcomes = oneCounter(
    'podcast_sync_gpodder_sessions_total',
    'Cookies of sessions: `made`, `refused` as it was ended, or not looked up as the service was asked too often (`busy`).',
    ['outcome'],
  );
  return (outcome) => outcomes.inc({ outcome });
}
