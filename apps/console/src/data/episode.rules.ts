import type { Episode, FeedEpisode, Statuses } from '#client';
import { searchKey } from '../ui/feed-name.js';

/** An episode in a list: of a feed, with the listener's statuses, or of the history. */
export type ListedEpisode = FeedEpisode & Statuses & { readonly sync_id?: string };

/** The listener's progress in an episode. */
export type Progress = 'new' | 'started' | 'played';

/** Selects the episodes that a list shows, by their statuses. */
export type StatusFilter = 'all' | 'favorite' | Progress;

/** The filter of the history. `podcast` is a guid. An empty text restricts nothing. */
export interface HistoryFilter {
  readonly show: StatusFilter;
  readonly podcast: string;
  readonly search: string;
}

/** A change of an episode's statuses by the listener, as the API accepts it. */
export type EpisodeChange = Pick<Episode, 'podcast_guid' | 'sync_id'> & Statuses;

/**
 * Returns episodes of feeds with the listener's statuses from the history. An episode matches a row
 * by podcast and `episode_guid`, else by podcast and `enclosure_url`.
 */
export function withStatuses(
  feedEpisodes: readonly FeedEpisode[],
  history: readonly Episode[],
): ListedEpisode[] {
  const rowsByIdentifier = new Map<string, Episode>();
  for (const row of history)
    for (const id of listIdentifiers(row))
      if (!rowsByIdentifier.has(id)) rowsByIdentifier.set(id, row);
  return feedEpisodes.map((episode) => {
    const row = listIdentifiers(episode)
      .map((id) => rowsByIdentifier.get(id))
      .find(Boolean);
    return { ...row, ...episode };
  });
}

/** Returns the episodes of one podcast: first those of its feed, then others of the history. */
export function episodesOfPodcast(
  feedEpisodes: readonly FeedEpisode[],
  history: readonly Episode[],
): ListedEpisode[] {
  const listed = withStatuses(feedEpisodes, history);
  const matched = new Set(listed.map(({ sync_id }) => sync_id));
  return [...listed, ...history.filter(({ sync_id }) => !matched.has(sync_id))];
}

/** Returns the podcast's guid joined with the episode's guid, and with its enclosure URL. */
function listIdentifiers({ podcast_guid, episode_guid, enclosure_url }: FeedEpisode): string[] {
  return [episode_guid, enclosure_url].flatMap((id) => (id ? [`${podcast_guid} ${id}`] : []));
}

/** Returns a key that identifies an episode in a list, for rendering. */
export function episodeKey({ podcast_guid, episode_guid, enclosure_url }: ListedEpisode): string {
  return [podcast_guid, episode_guid, enclosure_url].join(' ');
}

/** Returns how far a listener is in an episode, by its statuses. */
export function progressOf({ played_status, playback_position }: Statuses): Progress {
  if (played_status?.value === true) return 'played';
  return (playback_position?.value ?? 0) > 0 ? 'started' : 'new';
}

/** Returns true if a list with this filter contains the episode. */
export function matchesStatusFilter(episode: Statuses, shown: StatusFilter): boolean {
  if (shown === 'favorite') return episode.favorite_status?.value === true;
  return shown === 'all' || progressOf(episode) === shown;
}

const historyPath = '/console/history';

/** Returns the filter in the query of a URL. An invalid `show` selects all episodes. */
export function filterOfQuery(query: Readonly<Record<string, string>>): HistoryFilter {
  const { show, podcast = '', search = '' } = query;
  const isValid = show === 'favorite' || show === 'started' || show === 'played';
  return { show: isValid ? show : 'all', podcast, search };
}

/** Returns the path of the history page with a filter, which {@link filterOfQuery} reads. */
export function pathOfFilter({ show, podcast, search }: HistoryFilter): string {
  const parameters = { show: show === 'all' ? '' : show, podcast, search };
  const isSet = ([, value]: readonly [string, string]) => value !== '';
  const query = new URLSearchParams(Object.entries(parameters).filter(isSet)).toString();
  return query === '' ? historyPath : `${historyPath}?${query}`;
}

/**
 * Returns a function that is true for the episodes of the history that a filter selects. No filter
 * selects an episode that was only downloaded. Titles are compared by {@link searchKey}.
 */
export function historyMatcher({ show, podcast, search }: HistoryFilter) {
  const key = searchKey(search.trim());
  return (episode: Episode): boolean =>
    lastChangeOf(episode) !== '' &&
    matchesStatusFilter(episode, show) &&
    (podcast === '' || episode.podcast_guid === podcast) &&
    (key === '' || searchKey(episode.title).includes(key));
}

/** Returns the history with the changes that have no response yet. Later changes win. */
export function applyPendingChanges(
  history: readonly Episode[],
  changes: readonly EpisodeChange[],
): readonly Episode[] {
  if (changes.length === 0) return history;
  const merged = new Map<string, EpisodeChange>();
  for (const change of changes)
    merged.set(change.sync_id, { ...merged.get(change.sync_id), ...change });
  return history.map((row) => {
    const change = merged.get(row.sync_id);
    return change ? { ...row, ...change, podcast_guid: row.podcast_guid } : row;
  });
}

/**
 * Returns the time of a new change in milliseconds: `now`, or a time after the history that the
 * listener saw. The API returns the times of statuses in whole minutes. For a status in
 * the future, which a device with a fast clock has set, the result is the end of the minute.
 *
 * @param since the sync timestamp of the history that the listener saw.
 */
export function timeOfChange(now: number, since: string, episode: Statuses): number {
  const displayed = dateOfChange(lastChangeOf(episode))?.getTime() ?? 0;
  return Math.max(now, Date.parse(since) + 1, displayed > now ? displayed + 60_000 : 0);
}

/** Returns the URL of the page, else of the media file; `undefined` if neither is http(s). */
export function pageUrlOf({ episode_url, enclosure_url }: Episode): string | undefined {
  return [episode_url, enclosure_url].find((url) => /^https?:\/\//i.test(url));
}

/** Returns the publish date; `undefined` for a date in 1970, which stands for an unknown one. */
export function publishDateOf({ publish_date: date = '1970' }: ListedEpisode): Date | undefined {
  return date < '1971' ? undefined : new Date(date);
}

/** Compares dates of the API as texts, since all have one format. A missing date is first. */
export function compareDates(one = '', other = ''): number {
  return Number(one > other) - Number(one < other);
}

/**
 * Returns the latest time of the listener's statuses, `YYYY-MM-DDThh:mm` in UTC; `''` without one.
 * Downloads do not count: apps start them, often automatically.
 */
export function lastChangeOf(episode: Statuses): string {
  const { playback_position, played_status, favorite_status, new_status } = episode;
  let last = '';
  for (const status of [playback_position, played_status, favorite_status, new_status])
    if (status !== undefined && status.timestamp > last) last = status.timestamp;
  return last;
}

/** Returns the latest {@link lastChangeOf} of each podcast, by guid. */
export function lastChangesByPodcast(history: readonly Episode[]): ReadonlyMap<string, string> {
  const changes = new Map<string, string>();
  for (const episode of history) {
    const { podcast_guid: guid } = episode;
    const changed = lastChangeOf(episode);
    if (changed > (changes.get(guid) ?? '')) changes.set(guid, changed);
  }
  return changes;
}

/** Returns the date for a result of {@link lastChangeOf}; `undefined` for an empty text. */
export function dateOfChange(changed: string): Date | undefined {
  return changed === '' ? undefined : new Date(changed.length === 16 ? `${changed}Z` : changed);
}
