import { defaultAnswerBytes } from '#contracts';
import { AnswerBudget } from '../src/answer.budget.js';
import type { EpisodeRow, Identity } from '../src/episode.rules.js';
import { type Changes, KnownEpisodes, type Loaded } from '../src/known-episodes.js';
import { type Applied, applyUpload, validateEntry } from '../src/upload.rules.js';
import { type Entry, sentEntry } from './sent.entry.js';

/** A stamp before every other, and the stamp of the write. */
export const earlier = '2026-01-01T00:00:00.000Z';
export const now = '2026-02-02T12:00:00.000Z';

/** A guid that is easy to read: every digit the same. */
export function guid(digit: string): string {
  return '00000000-0000-4000-8000-000000000000'.replaceAll('0', digit);
}

/** The guids of two live subscriptions, 10 and 20; the first has a former guid too. */
export const podcast = guid('a');
export const formerly = guid('b');
export const elsewhere = guid('c');

/** What describes the episode of a number: nothing of it agrees with another number's. */
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

/** The stored episode of a number, in the first subscription, with the sync_id of that number. */
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

/** What an upload reads when these episodes are stored. */
export function world(
  episodes: EpisodeRow[] = [],
  aliases: Loaded['aliases'] = [],
  incomplete: Loaded['incomplete'] = [],
  room: Loaded['room'] = { episodes: 1_000, aliases: 1_000 },
  reach: Loaded['reach'] = 'all',
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

/** The row id that each entry ended at, or why it was refused. */
export function upload(known: KnownEpisodes, ...entries: Entry[]): (number | string)[] {
  const judged = entries.map((entry) =>
    validateEntry(sentEntry({ podcastGuid: podcast, ...entry })),
  );
  const budget = new AnswerBudget(defaultAnswerBytes, judged);
  const outcomes = judged.map((entry, index) =>
    'sent' in entry ? applyUpload(known, entry, index, budget) : entry,
  );
  return outcomes.map((outcome) => ('message' in outcome ? outcome.message : idOf(known, outcome)));
}

function idOf(known: KnownEpisodes, { id }: Applied): number {
  return known.standing(id).id;
}

/** What an upload changes that changes nothing. */
export const nothing: Changes = {
  rows: [],
  made: new Set(),
  described: new Set(),
  settled: new Set(),
  renamed: [],
  aliases: [],
  addedAliases: 0,
  absorbed: [],
  removed: 0,
};

/** A row as the upload leaves it; `undefined` when nothing of it is written. */
export function changedRow(known: KnownEpisodes, id: number): EpisodeRow | undefined {
  return known.changes().rows.find((row) => row.id === id);
}
