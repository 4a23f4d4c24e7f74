import { defaultAnswerBytes } from '#contracts';
import { AnswerBudget } from '../src/answer-budget.js';
import type { EpisodeRow, Identity } from '../src/episode.rules.js';
import { type EpisodeChanges, EpisodeSet, type UploadData } from '../src/episode-set.js';
import { type AppliedEntry, applyUpload, validateEntry } from '../src/upload.rules.js';
import { type Entry, sentEntry } from './sent-entry.js';

/** `earlier` is the stamp of stored rows, `now` the stamp of the write. */
export const earlier = '2026-01-01T00:00:00.000Z';
export const now = '2026-02-02T12:00:00.000Z';

/** Returns a UUID that repeats one hexadecimal digit. */
export function guid(digit: string): string {
  return '00000000-0000-4000-8000-000000000000'.replaceAll('0', digit);
}

/**
 * Guids of two live subscriptions: `podcast` is the current and `formerly` a former one of
 * subscription 10, `elsewhere` that of subscription 20.
 */
export const podcast = guid('a');
export const formerly = guid('b');
export const elsewhere = guid('c');

/** Returns the metadata of episode number `n`. Each number has different values. */
export function metadata(n: number, differing: Partial<Identity> = {}): Identity {
  return {
    episodeGuid: `episode-${n}`,
    title: `Title ${n}`,
    publishDate: new Date(Date.UTC(2025, 0, n)).toISOString(),
    enclosureUrl: `https://media.example/${n}.mp3`,
    episodeUrl: `https://podcast.example/${n}`,
    ...differing,
  };
}

/** Returns the stored episode number `n` of subscription 10. */
export function stored(n: number, differing: Partial<EpisodeRow> = {}): EpisodeRow {
  const place = {
    id: n,
    subscriptionId: 10,
    syncId: syncId(n),
    changed: earlier,
    duration: null,
    statuses: {},
  };
  return { ...place, ...metadata(n), ...differing };
}

export function syncId(n: number): string {
  return `5c000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
}

/** Returns the state of an upload that has read these episodes. */
export function episodeSet(
  episodes: EpisodeRow[] = [],
  aliases: UploadData['aliases'] = [],
  incomplete: UploadData['incomplete'] = [],
  remaining: UploadData['remaining'] = { episodes: 1_000, aliases: 1_000 },
  reach: UploadData['reach'] = 'all',
): EpisodeSet {
  return new EpisodeSet(
    {
      subscriptions: [
        [podcast, { id: 10, currentGuid: podcast }],
        [formerly, { id: 10, currentGuid: podcast }],
        [elsewhere, { id: 20, currentGuid: elsewhere }],
      ],
      episodes: structuredClone(episodes),
      aliases,
      incomplete,
      reach,
      newIds: Array.from({ length: 50 }, (_, index) => 100 + index),
      remaining: { ...remaining },
    },
    now,
    Date.parse(now),
  );
}

/** Applies entries; returns the row id of each, or the message of its failure. */
export function upload(episodes: EpisodeSet, ...entries: Entry[]): (number | string)[] {
  const judged = entries.map((entry) =>
    validateEntry(sentEntry({ podcastGuid: podcast, ...entry })),
  );
  const budget = new AnswerBudget(defaultAnswerBytes, judged);
  const outcomes = judged.map((entry, index) =>
    'rawEntry' in entry ? applyUpload(episodes, entry, index, budget) : entry,
  );
  return outcomes.map((outcome) =>
    'message' in outcome ? outcome.message : idOf(episodes, outcome),
  );
}

function idOf(episodes: EpisodeSet, { id }: AppliedEntry): number {
  return episodes.byId(id).id;
}

/** The empty changes of an upload that has no effect. */
export const nothing: EpisodeChanges = {
  rows: [],
  inserted: new Set(),
  changedMetadata: new Set(),
  changedStates: new Set(),
  renamed: [],
  aliases: [],
  addedAliases: 0,
  absorbed: [],
  removed: 0,
};

/** Returns a row as the upload writes it; `undefined` if the upload does not change it. */
export function changedRow(episodes: EpisodeSet, id: number): EpisodeRow | undefined {
  return episodes.changes().rows.find((row) => row.id === id);
}
