import type { Episode } from '#contracts';
import type { Metadata } from './episode-entry.rule.js';
import { minute, type Status, type StatusName } from './status.rule.js';

/** An episode as a client is shown it (Resources and their fields, Episode). What no client has set is not there. */
export function shown(
  { syncId, episodeGuid, title, publishDate, enclosureUrl, episodeUrl }: Metadata & { syncId: string },
  podcastGuid: string,
  status: (name: StatusName) => Pick<Status, 'value' | 'at'> | undefined,
): Episode {
  const printed = <Value>(name: StatusName) => {
    const register = status(name);
    return register && { value: register.value as Value, timestamp: minute(register) };
  };
  return {
    podcast_guid: podcastGuid,
    sync_id: syncId,
    episode_guid: episodeGuid,
    title,
    publish_date: publishDate,
    enclosure_url: enclosureUrl,
    episode_url: episodeUrl,
    playback_position: printed<number>('playbackPosition'),
    played_status: printed<boolean>('playedStatus'),
    new_status: printed<boolean>('newStatus'),
    download_status: printed<boolean>('downloadStatus'),
    favorite_status: printed<boolean>('favoriteStatus'),
  };
}
