import { defaultAnswerBytes } from '#contracts';
import { AnswerBudget } from '../src/answer.budget.js';
import type { EpisodeRow, Identity } from '../src/episode.rules.js';
import { type EpisodeChanges, KnownEpisodes, type Candidates } from '../src/known-episodes.js';
import { type AppliedEntry, applyUpload, validateEntry } from '../src/upload.rules.js';
import { type Entry, sentEntry } from './sent.entry.js';

/** The stamp of stored rows, and the later stamp of the write. */
export const earlier = '2026-01-01T00:00:00.000Z';
export const now = '2026-02-02T12:00:00.000Z';

/** Returns a guid that repeats one digit. */
export function guid(digit: string): string {
  return '00000000-0000-4000-8000-000000000000'.replaceAll('0', digit);
}

/** The guids of two live subscriptions, 10 and 20; the first also has a former guid. */
export const podcast = guid('a');
export const formerly = guid('b');
export const elsewhere = guid('c');

/** Returns the metadata of the episode with a number; all fields differ from other numbers'. */
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

/** Returns the stored episode with a number, of the first subscription. */
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

/** Returns the episodes as an upload reads them. */
export function knownEpisodes(
  episodes: EpisodeRow[] = [],
  aliases: Candidates['aliases'] = [],
  incomplete: Candidates['incomplete'] = [],
  room: Candidates['room'] = { episodes: 1_000, aliases: 1_000 },
  reach: Candidates['reach'] = 'all',
): KnownEpisodes {
  return new KnownEpisodes(
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
      room: { ...room },
    },
    now,
    Date.parse(now),
  );
}

/** Applies entries; returns the row id of each, or the message of its failure. */
export function upload(known: KnownEpisodes, ...entries: Entry[]): (number | string)[] {
  const judged = entries.map((entry) =>
    validateEntry(sentEntry({ podcastGuid: podcast, ...entry })),
  );
  const budget = new AnswerBudget(defaultAnswerBytes, judged);
  const outcomes = judged.map((entry, index) =>
    'rawEntry' in entry ? applyUpload(known, entry, index, budget) : entry,
  );
  return outcomes.map((outcome) => ('message' in outcome ? outcome.message : idOf(known, outcome)));
}

function idOf(known: KnownEpisodes, { id }: AppliedEntry): number {
  return known.byId(id).id;
}

/** The changes of an upload without any. */
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

/** Returns a row as the upload writes it; `undefined` if it does not. */
export function changedRow(known: KnownEpisodes, id: number): EpisodeRow | undefined {
  return known.changes().rows.find((row) => row.id === id);
}
