import { type FeedEpisode, unknownMetadata } from '#contracts';
import { type EpisodeRow, mergeRows } from './episode.rules.js';
import { MatchIndex } from './match.rules.js';

/** An episode in a feed document, as the feed service stores it. */
export type FeedItem = Omit<FeedEpisode, 'podcast_guid'>;

/**
 * Returns the rows that match an episode with a title in their feed, with their unknown title,
 * publish_date, episode_url and duration filled in (docs/reference/episodes.md, "Matching
 * episodes"). All rows are of one subscription. Known values do not change, and episode_guid and
 * enclosure_url never change.
 */
export function describeRows(
  rows: readonly EpisodeRow[],
  items: readonly FeedItem[],
): EpisodeRow[] {
  const index = new MatchIndex();
  const feedEpisodes = items.map((item) => ({
    ...unknownMetadata,
    episodeGuid: item.episode_guid ?? '',
    enclosureUrl: item.enclosure_url ?? '',
    title: item.title ?? '',
    publishDate: item.publish_date ?? unknownMetadata.publishDate,
    episodeUrl: item.episode_url ?? '',
    duration: item.duration ?? null,
  }));
  for (const [id, item] of feedEpisodes.entries()) index.add({ ...item, id, subscriptionId: 0 });
  return rows.flatMap((row) => {
    const match = index.find(0, row);
    const item = match && feedEpisodes[match.id];
    if (!item || item.title === '') return [];
    const { episodeGuid, enclosureUrl } = row;
    return { ...mergeRows(row, { ...row, ...item, statuses: {} }), episodeGuid, enclosureUrl };
  });
}
