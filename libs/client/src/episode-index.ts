import { comparableUrl } from '../../contracts/src/feed-url.js';
import type { EpisodeMetadata } from './records.js';

/** An episode with the podcast that it belongs to. */
type IndexedEpisode = EpisodeMetadata & { podcast_guid: string };

/**
 * Finds the episodes of a podcast that have the guid or the enclosure URL of another episode. URLs
 * match by {@link comparableUrl}. Empty identifiers match nothing.
 */
export class EpisodeIndex {
  private readonly syncIds = new Map<string, string[]>();

  add(episode: IndexedEpisode & { sync_id: string }): void {
    for (const identifier of listIdentifiers(episode)) {
      const syncIds = this.syncIds.get(identifier) ?? [];
      this.syncIds.set(identifier, syncIds);
      syncIds.push(episode.sync_id);
    }
  }

  /** Returns the `sync_id` of each added episode that shares an identifier with the given one. */
  syncIdsOf(episode: IndexedEpisode): string[] {
    return listIdentifiers(episode).flatMap((identifier) => this.syncIds.get(identifier) ?? []);
  }
}

function listIdentifiers({ podcast_guid, episode_guid, enclosure_url }: IndexedEpisode): string[] {
  return [
    ...(episode_guid ? [`${podcast_guid} guid ${episode_guid}`] : []),
    ...(enclosure_url ? [`${podcast_guid} file ${comparableUrl(enclosure_url)}`] : []),
  ];
}
