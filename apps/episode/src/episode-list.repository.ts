import type { listEpisodes, ReplyOf, RequestOf } from '#contracts';
import { type Database, listing, listPage } from '#database';
import { type Metadata, toShownEpisode } from './episode.rules.js';
import { type StatusFields, statusesOf } from './episode.repository.js';
import { shownColumns } from './episode.sql.js';

/** The statements of the list of episodes (GET /episodes). */
export const list = listing('episode.list', {
  row: 's',
  columns: `s.id, g.guid AS "podcastGuid", ${shownColumns((time) => time)}`,
  matching: 'episode.states s',
  joined: `episode.episodes e
    LEFT JOIN subscription.current_guids g
      ON g.user_id = $1 AND g.subscription_id = e.subscription_id
    WHERE e.user_id = $1 AND e.sync_id = s.sync_id`,
  total: 'SELECT t.episodes FROM episode.totals t WHERE t.user_id = $1',
});

/** Returns SQL of the id of the subscription with a current or former guid. $1 user. */
const selectSubscription = (guid: string) => `(
    SELECT n.subscription_id FROM subscription.subscriptions_by_guid n
    WHERE n.user_id = $1 AND n.guid = ${guid}
  )`;

/**
 * The statements of the list of a podcast's episodes (GET /episodes with `podcast_guid`). The index
 * episodes_subscription has the episodes in the order of the list.
 */
export const listOfPodcast = listing('episode.list_of_podcast', (guid) => ({
  row: 'p',
  columns: 'p.*',
  // OFFSET 0 forces one lookup of a state per episode.
  matching: `(
    SELECT e.user_id, e.id, s.changed, g.guid AS "podcastGuid", ${shownColumns((time) => time)}
    FROM episode.episodes e CROSS JOIN LATERAL (
      SELECT * FROM episode.states s WHERE s.user_id = $1 AND s.id = e.id OFFSET 0
    ) s LEFT JOIN subscription.current_guids g
      ON g.user_id = $1 AND g.subscription_id = e.subscription_id
    WHERE e.user_id = $1 AND e.subscription_id = ${selectSubscription(guid)}
  ) p`,
  total: `SELECT count(*) FROM episode.episodes e
    WHERE e.user_id = $1 AND e.subscription_id = ${selectSubscription(guid)}`,
}));

type ListRow = Metadata & StatusFields & { podcastGuid: string; syncId: string };

/** Returns one page of changed episodes (GET /episodes). */
export function listChanged(
  database: Database,
  { podcastGuid, ...request }: RequestOf<typeof listEpisodes>,
): Promise<ReplyOf<typeof listEpisodes>> {
  const toItem = (row: ListRow) =>
    toShownEpisode(
      row,
      statusesOf(row, (value, at) => ({ value, at })),
      row.podcastGuid,
    );
  return podcastGuid === undefined
    ? listPage(database, list, request, toItem)
    : listPage(database, listOfPodcast, request, toItem, podcastGuid);
}
