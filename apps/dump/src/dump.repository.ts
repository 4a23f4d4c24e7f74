import {
  type MetadataName,
  metadataNames,
  statusNames,
  unknownMetadata,
  wireNames,
} from '#contracts';
import { statement } from '#database';

// Each statement except those for users reads one page of one user by row ids, so no result is
// large. Postgres builds the JSON while this process waits for the disk.

/** SQL condition for users `c` of a partition that are neither erased nor being erased. */
const inPartition = (index: string, partitions: string) => `
   c.refused IS DISTINCT FROM 2 AND c.refused IS DISTINCT FROM 3
     AND (uuid_hash_extended(c.user_id, 0) & 9223372036854775807) % ${partitions}
       = ${index}::bigint`;

/**
 * A page of the users of a partition, in the order of their ids, without users that were or are
 * being erased. $1 last user of the previous page, $2 limit, $3 partition, $4 number of partitions.
 */
export const selectUsers = statement(
  'dump.select_users',
  `SELECT c.user_id AS id FROM sync.user_clock c
   WHERE c.user_id > $1 AND ${inPartition('$3', '$4')}
   ORDER BY c.user_id LIMIT $2`,
);

/** Number of users of {@link selectUsers} on all pages. $1 partition, $2 number of partitions. */
export const countUsers = statement(
  'dump.count_users',
  `SELECT count(*) AS users FROM sync.user_clock c
   WHERE ${inPartition('$1', '$2')}`,
);

/** Selects whether a user was or is being erased; no row for a user without a clock. $1 user. */
export const selectRefusal = statement(
  'dump.select_refusal',
  'SELECT coalesce(c.refused, 0) > 1 AS erased FROM sync.user_clock c WHERE c.user_id = $1',
);

/** A live subscription with the names of the format. */
export interface DumpedSubscription {
  readonly id: string;
  readonly feed_url: string;
  readonly guid: string;
  readonly is_subscribed: boolean;
  readonly timestamp: string | null;
  readonly title: string | null;
  readonly pending: boolean;
}

/** Subscriptions of a user. $1 user, $2 last row of the previous page, $3 limit. */
export const selectSubscriptions = statement(
  'dump.select_subscriptions',
  `SELECT s.id, s.feed_url, s.guid, s.is_subscribed,
     to_json(nullif(s.is_subscribed_at, 'epoch')) AS timestamp, s.title,
     s.deletion_id IS NOT NULL AS pending
   FROM subscription.subscriptions s
   WHERE s.user_id = $1 AND s.id > $2 AND s.deleted IS NULL AND s.merged_into IS NULL
   ORDER BY s.id LIMIT $3`,
);

/** An episode as a line of the dump. `id` is its row id, for paging. */
export interface DumpedEpisode {
  readonly id: string;
  readonly line: string;
}

/** Returns SQL for a field of a line, which is left out if the value is null. */
const field = (name: string, json: string) => `coalesce(',"${name}":' || ${json}, '')`;

const metadataField = (name: MetadataName) => {
  const [column, unknown] = [`e.${wireNames[name]}`, unknownMetadata[name]];
  return field(
    wireNames[name],
    `to_json(${unknown === null ? column : `nullif(${column}, '${unknown}')`})::text`,
  );
};

/**
 * Returns SQL for the field of a status with its timestamp. The time zone of the session must be
 * UTC. A timestamp that a client sent without seconds (bit in `minute_forms`) has no seconds.
 */
const statusField = (column: string, bit: number) => {
  const timeInMinutes = `to_char(s.${column}_at, '\\"YYYY-MM-DD"T"HH24:MI\\"')`;
  const time = `CASE WHEN s.minute_forms & ${1 << bit} = 0
         THEN to_json(s.${column}_at)::text ELSE ${timeInMinutes} END`;
  return field(column, `'{"value":' || s.${column} || ',"timestamp":' || ${time} || '}'`);
};

const fields = [
  ...metadataNames.map(metadataField),
  ...statusNames.map((name, bit) => statusField(wireNames[name], bit)),
].join('\n       || ');

/**
 * Reads a page of a user's episodes as lines. `OFFSET 0` keeps the planner from flattening the
 * subquery, so each row of `s` looks up its episode by its key. $1 user, $2 last row of the
 * previous page, $3 limit.
 */
export const selectEpisodes = statement(
  'dump.select_episodes',
  `SELECT s.id, e.line FROM (
     SELECT * FROM episode.states s WHERE s.user_id = $1 AND s.id > $2 ORDER BY s.id LIMIT $3
   ) s CROSS JOIN LATERAL (
     SELECT '{"episode":{"podcast_guid":"' || p.guid || '","sync_id":"' || e.sync_id || '"'
       || ${fields} || '}}' AS line
     FROM episode.episodes e
     JOIN subscription.subscriptions p ON p.user_id = $1 AND p.id = e.subscription_id
     WHERE e.user_id = $1 AND e.sync_id = s.sync_id OFFSET 0
   ) e
   ORDER BY s.id`,
);
