import { registerCounterByLabel, registerGauge } from '#runtime';

/** Registers the metrics of open streams of `GET /changes`, and of ended streams by reason. */
export function watchStreams(
  readCounts: () => { open: number; ended: Readonly<Record<string, number>> },
): void {
  registerGauge(
    'podcast_sync_streams',
    'Open streams of changes (`MAX_STREAMS`).',
    () => readCounts().open,
  );
  registerCounterByLabel(
    'podcast_sync_streams_ended_total',
    'Ended streams of changes, by reason: `client`, `expired`, `revoked`, `replaced`, `age`, ' +
      '`drain`, `slow`, `lost`, `failed`.',
    'reason',
    () => readCounts().ended,
  );
}
