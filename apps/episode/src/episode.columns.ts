import { type StatusName, statusNames } from './status.rule.js';

/** The column of each status; its time is beside it with `_at`. */
export const statusColumns: Record<StatusName, string> = {
  playbackPosition: 'playback_position',
  playedStatus: 'played_status',
  newStatus: 'new_status',
  downloadStatus: 'download_status',
  favoriteStatus: 'favorite_status',
};

/** In JSON, the form of which then does not depend on the session. */
export const inUtc = (time: string) => `${time} AT TIME ZONE 'UTC'`;

/** What identifies and describes an episode `e`, as the rules name it. */
export const metadataColumns = `e.sync_id AS "syncId", e.episode_guid AS "episodeGuid", e.title, e.enclosure_url AS "enclosureUrl",
  e.episode_url AS "episodeUrl"`;
/** The statuses of an episode `e`; @param time how a time is read. */
export const statusesWith = (time: (column: string) => string) =>
  statusNames
    .map((name) => `e.${statusColumns[name]} AS "${name}", ${time(`e.${statusColumns[name]}_at`)} AS "${name}At"`)
    .join(', ');
