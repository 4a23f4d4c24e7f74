import { setImmediate } from 'node:timers/promises';
import { countedTime, type LoadVerdicts, type loadEpisodes, type RequestOf, statusNames } from '#contracts';
import type { KnownEpisodes } from './known-episodes.js';
import { applyUpload, entriesPerTick, noAnswer, type FailedEntry, type Upload, validateEntry } from './upload.rule.js';

/** An entry of a bulk load: that of an upload, and other sync_ids that name the episode. */
export type LoadEntry = RequestOf<typeof loadEpisodes>['entries'][number];

/** An entry whose form was judged, and its further sync_ids. */
export interface JudgedLoad {
  upload: Upload | FailedEntry;
  further: readonly string[];
}

/** Judges the form of each entry by itself, a few in one tick of the event loop. */
export async function judgeLoads(entries: readonly LoadEntry[]): Promise<JudgedLoad[]> {
  const judged: JudgedLoad[] = [];
  for (const { further_sync_ids: furtherSyncIds = [], ...entry } of entries) {
    const load = { upload: validateEntry(entry), further: furtherSyncIds.map((syncId) => syncId.toLowerCase()) };
    if (judged.push(load) % entriesPerTick === 0) await setImmediate();
  }
  return judged;
}

/**
 * Every upload of a chunk in its order, as the look-up is given them; behind them one for each further sync_id, so that it
 * is known whose that is.
 */
export function lookUps(loads: readonly JudgedLoad[]): Upload[] {
  const uploads = loads.flatMap(({ upload }) => ('sent' in upload ? [upload] : []));
  const named = loads.flatMap(({ upload, further }) =>
    'sent' in upload ? further.map((syncId) => ({ ...upload, syncId, metadata: {}, statuses: {} })) : [],
  );
  return [...uploads, ...named];
}

/**
 * Applies a chunk of a bulk load in order, by the rules of an upload (docs/data.md). `undefined` where that takes episodes
 * that were not read.
 */
export async function applyLoads(
  known: KnownEpisodes,
  loads: readonly JudgedLoad[],
): Promise<LoadVerdicts | undefined> {
  const refused: LoadVerdicts['refused'] = [];
  const accepted: { id: number; further: readonly string[] }[] = [];
  let [clamped, index] = [0, 0];
  for (const [entry, { upload, further }] of loads.entries()) {
    const outcome = 'sent' in upload ? applyUpload(known, upload, index++, noAnswer) : upload;
    if (known.isShort) return undefined;
    if ('message' in outcome) refused.push({ entry, code: outcome.code, message: outcome.message });
    else accepted.push({ id: outcome.id, further });
    if ('sent' in upload) clamped += clampedTimes(upload, known.arrivedMs);
    if (entry % entriesPerTick === 0) await setImmediate();
  }
  // One that is another episode's stays that one's.
  for (const { id, further } of accepted)
    for (const syncId of further)
      if (known.bySyncId(syncId, index++) === undefined) known.addAlias(known.standing(id).id, syncId);
  return { refused, clamped };
}

/** The verdicts on a chunk that names more than one write reads: fewer at once will do. */
export function allTooLarge(count: number): LoadVerdicts {
  const [code, message] = ['limit_reached', 'The episodes that these name are too large together'] as const;
  return { refused: Array.from({ length: count }, (_, entry) => ({ entry, code, message })), clamped: 0 };
}

function clampedTimes({ statuses }: Upload, arrivedMs: number): number {
  return statusNames.filter((name) => statuses[name] && countedTime(statuses[name].at, arrivedMs).clamped).length;
}
