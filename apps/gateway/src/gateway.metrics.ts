import { registerCounterByLabel, registerGauge } from '#runtime';

/** Exports the open streams of `GET /changes`, and the ended ones by reason. */
export function watchStreams(
  read: () => { open: number; ended: Readonly<Record<string, number>> },
): void {
  registerGauge(
    'podcast_sync_streams',
    'Open streams of changes (`MAX_STREAMS`).',
    () => read().open,
  );
  registerCounterByLabel(
    'podcast_sync_streams_ended_total',
    'Ended streams of changes, by reason: `client`, `expired`, `revoked`, `replaced`, `age`, ' +
      '`drain`, `slow`, `lost`, `failed`.',
    'reason',
    () => read().ended,
  );
}
