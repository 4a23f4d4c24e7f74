import { type FeedEpisode, unknownMetadata } from '#contracts';
import { type EpisodeRow, merged } from './episode.rules.js';
import { MatchIndex } from './match.rules.js';

/** An episode of a feed, without the guid of the podcast. */
export type FeedItem = Omit<FeedEpisode, 'podcast_guid'>;

/**
 * Returns the rows of one subscription that episodes of its feed describe, with the unknown ones of
 * title, publish_date, episode_url and duration filled in (docs/reference/interface.md, "Matching
 * episodes"). Known values and the identity by guid and enclosure stay as they are.
 */
export function describeRows(
  rows: readonly EpisodeRow[],
  items: readonly FeedItem[],
): EpisodeRow[] {
  const index = new MatchIndex();
  const described = items.map((item) => ({
    ...unknownMetadata,
    episodeGuid: item.episode_guid ?? '',
    enclosureUrl: item.enclosure_url ?? '',
    title: item.title ?? '',
    publishDate: item.publish_date ?? unknownMetadata.publishDate,
    episodeUrl: item.episode_url ?? '',
    duration: item.duration ?? null,
  }));
  for (const [id, item] of described.entries()) index.add({ ...item, id, subscriptionId: 0 });
  return rows.flatMap((row) => {
    const match = index.find(0, row);
    const item = match && described[match.id];
    if (!item || item.title === '') return [];
    const { episodeGuid, enclosureUrl } = row;
    return { ...merged(row, { ...row, ...item, statuses: {} }), episodeGuid, enclosureUrl };
  });
}
