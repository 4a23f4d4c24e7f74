import {
  type MetadataName,
  metadataNames,
  statusNames,
  unknownMetadata,
  wireNames,
} from '#contracts';
import { statement } from '#database';

// The statements for subscriptions and episodes read one page of one user, in the order of row ids.
// Postgres builds the lines of episodes while this process writes the previous page.

/** Returns the SQL condition for users of a partition who are neither erased nor being erased. */
const buildPartitionCondition = (index: string, partitions: string) => `
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
   WHERE c.user_id > $1 AND ${buildPartitionCondition('$3', '$4')}
   ORDER BY c.user_id LIMIT $2`,
);

/** Number of users of {@link selectUsers} on all pages. $1 partition, $2 number of partitions. */
export const countUsers = statement(
  'dump.count_users',
  `SELECT count(*) AS users FROM sync.user_clock c
   WHERE ${buildPartitionCondition('$1', '$2')}`,
);

/**
 * Selects true for a user that is erased or being erased, else false. Returns no row for a user
 * without a clock. $1 user.
 */
export const selectRefusal = statement(
  'dump.select_refusal',
  'SELECT coalesce(c.refused, 0) > 1 AS erased FROM sync.user_clock c WHERE c.user_id = $1',
);

/**
 * A live subscription. Its keys are those of the dump format, except `id`, the row id, and
 * `pending`: true while a deletion of the subscription is pending.
 */
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

/** An episode as a line of the dump. `id` is the row id of its states, for paging. */
export interface DumpedEpisode {
  readonly id: string;
  readonly line: string;
}

/** Returns SQL for a field of a line. The line omits a field whose value is null. */
const buildField = (name: string, json: string) => `coalesce(',"${name}":' || ${json}, '')`;

const buildMetadataField = (name: MetadataName) => {
  const [column, unknownValue] = [`e.${wireNames[name]}`, unknownMetadata[name]];
  return buildField(
    wireNames[name],
    `to_json(${unknownValue === null ? column : `nullif(${column}, '${unknownValue}')`})::text`,
  );
};

/**
 * Returns SQL for the field of a status with its timestamp. The time zone of the session must be
 * UTC. If the bit is set in `minute_forms`, the client sent the timestamp without seconds, and the
 * line has none either.
 */
const buildStatusField = (column: string, bit: number) => {
  const timeInMinutes = `to_char(s.${column}_at, '\\"YYYY-MM-DD"T"HH24:MI\\"')`;
  const time = `CASE WHEN s.minute_forms & ${1 << bit} = 0
         THEN to_json(s.${column}_at)::text ELSE ${timeInMinutes} END`;
  return buildField(column, `'{"value":' || s.${column} || ',"timestamp":' || ${time} || '}'`);
};

const lineFields = [
  ...metadataNames.map(buildMetadataField),
  ...statusNames.map((name, bit) => buildStatusField(wireNames[name], bit)),
].join('\n       || ');

/**
 * Reads a page of a user's episodes as lines. `OFFSET 0` prevents the planner from flattening the
 * subquery `e`. Each row of `s` then looks up its episode by key. $1 user, $2 last row of the
 * previous page, $3 limit.
 */
export const selectEpisodes = statement(
  'dump.select_episodes',
  `SELECT s.id, e.line FROM (
     SELECT * FROM episode.states s WHERE s.user_id = $1 AND s.id > $2 ORDER BY s.id LIMIT $3
   ) s CROSS JOIN LATERAL (
     SELECT '{"episode":{"podcast_guid":"' || p.guid || '","sync_id":"' || e.sync_id || '"'
       || ${lineFields} || '}}' AS line
     FROM episode.episodes e
     JOIN subscription.subscriptions p ON p.user_id = $1 AND p.id = e.subscription_id
     WHERE e.user_id = $1 AND e.sync_id = s.sync_id OFFSET 0
   ) e
   ORDER BY s.id`,
);
