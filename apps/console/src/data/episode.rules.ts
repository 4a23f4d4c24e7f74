import type { Episode, FeedEpisode, Statuses } from '#client';

/** An episode of a list: of a feed with the listener's statuses, or of the history. */
export type ListedEpisode = FeedEpisode & Statuses & { readonly sync_id?: string };

/** The listener's progress in an episode. */
export type Progress = 'new' | 'started' | 'played';

/**
 * Returns episodes of feeds with the statuses of the history. An episode matches a row of the
 * history by podcast and `episode_guid`, else by podcast and `enclosure_url`.
 */
export function withStatuses(
  ofFeeds: readonly FeedEpisode[],
  history: readonly Episode[],
): ListedEpisode[] {
  const rows = new Map<string, Episode>();
  for (const row of history)
    for (const id of identifiersOf(row)) if (!rows.has(id)) rows.set(id, row);
  return ofFeeds.map((episode) => {
    const row = identifiersOf(episode)
      .map((id) => rows.get(id))
      .find(Boolean);
    return { ...row, ...episode };
  });
}

/** Returns the episodes of one podcast: those of its feed, and others of the history. */
export function episodesOfPodcast(
  ofFeed: readonly FeedEpisode[],
  history: readonly Episode[],
): ListedEpisode[] {
  const listed = withStatuses(ofFeed, history);
  const matched = new Set(listed.map(({ sync_id }) => sync_id));
  return [...listed, ...history.filter(({ sync_id }) => !matched.has(sync_id))];
}

/** Returns the podcast's guid joined with the episode's guid, and with its enclosure URL. */
function identifiersOf({ podcast_guid, episode_guid, enclosure_url }: FeedEpisode): string[] {
  return [episode_guid, enclosure_url].flatMap((id) => (id ? [`${podcast_guid} ${id}`] : []));
}

/** Returns the key of an episode in a list. */
export function keyOf({ podcast_guid, episode_guid, enclosure_url }: ListedEpisode): string {
  return [podcast_guid, episode_guid, enclosure_url].join(' ');
}

/** Returns how far the listener is in an episode, by its statuses. */
export function progressOf({ played_status, playback_position }: Statuses): Progress {
  if (played_status?.value === true) return 'played';
  return (playback_position?.value ?? 0) > 0 ? 'started' : 'new';
}

/** Returns the publish date, or `undefined` if it is unknown: the API then returns 1970. */
export function publishedAt({ publish_date: date = '1970' }: ListedEpisode): Date | undefined {
  return date < '1971' ? undefined : new Date(date);
}

/** Compares dates of the API as texts, since all have one format. A missing one is the earliest. */
export function compareDates(one = '', other = ''): number {
  return Number(one > other) - Number(one < other);
}

/** Returns the latest time of the five statuses, `YYYY-MM-DDThh:mm` in UTC; `''` without one. */
export function changedAt(episode: Statuses): string {
  const { playback_position, played_status, favorite_status, new_status, download_status } =
    episode;
  let last = '';
  for (const status of [
    playback_position,
    played_status,
    favorite_status,
    new_status,
    download_status,
  ])
    if (status !== undefined && status.timestamp > last) last = status.timestamp;
  return last;
}

/** Returns the latest {@link changedAt} of each podcast, by guid. */
export function changesOfPodcasts(history: readonly Episode[]): ReadonlyMap<string, string> {
  const changes = new Map<string, string>();
  for (const episode of history) {
    const { podcast_guid: guid } = episode;
    const changed = changedAt(episode);
    if (changed > (changes.get(guid) ?? '')) changes.set(guid, changed);
  }
  return changes;
}

/** Returns the date of {@link changedAt}, which has no time zone; `undefined` for an empty one. */
export function dateOfChange(changed: string): Date | undefined {
  return changed === '' ? undefined : new Date(changed.length === 16 ? `${changed}Z` : changed);
}
