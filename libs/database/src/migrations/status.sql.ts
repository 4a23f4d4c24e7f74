// SQL of the constraint and of the function that list all statuses (`wholeStatuses`,
// `mergeSubscriptions`). A migration that adds a status recreates both.

/** SQL of the publish_date of an episode whose date is unknown. Such dates never match. */
export const unknownDate = `'1970-01-01 00:00+00'::timestamptz`;

/** The metadata columns of an episode, each with SQL of the value that means "unknown". */
const unknownValues = {
  episode_guid: `''`,
  title: `''`,
  publish_date: unknownDate,
  enclosure_url: `''`,
  episode_url: `''`,
  duration: 'NULL',
};

/** The column with the value of a status. `<column>_at` has the time by the client's clock. */
interface StatusColumn {
  readonly column: string;
  readonly type: 'double precision' | 'boolean';
}

/** The statuses of the first release, in the order of their bits in `minute_forms`. */
export const statuses: readonly StatusColumn[] = [
  { column: 'playback_position', type: 'double precision' },
  { column: 'played_status', type: 'boolean' },
  { column: 'new_status', type: 'boolean' },
  { column: 'download_status', type: 'boolean' },
  { column: 'favorite_status', type: 'boolean' },
];

/** Returns the constraint that a status has both a value and a time, or neither. */
export function wholeStatuses(columns: readonly StatusColumn[]): string {
  const conditions = columns.map(({ column }) => `(${column} IS NULL) = (${column}_at IS NULL)`);
  return `CONSTRAINT states_status_is_whole CHECK (${conditions.join(' AND ')})`;
}

/**
 * Returns SQL of the first known value of a column among the episodes of a merge, of which the
 * survivor is the first. The value is "unknown" if no episode has a known one.
 */
function selectFirstValue(column: keyof typeof unknownValues): string {
  const isSet = `e.${column} IS DISTINCT FROM ${unknownValues[column]}`;
  const firstKnown = `(array_agg(e.${column} ORDER BY g.place, e.id) FILTER (WHERE ${isSet}))[1]`;
  return `coalesce(${firstKnown}, ${unknownValues[column]}) AS ${column}`;
}

/** SQL of the comparable form of the first known enclosure_url; NULL without a known one. */
const firstComparable =
  `(array_agg(e.comparable_enclosure_url ORDER BY g.place, e.id)` +
  ` FILTER (WHERE e.enclosure_url <> ''))[1] AS comparable_enclosure_url`;

/** Returns the SQL of the function that merges the episodes of subscriptions. */
export function mergeSubscriptions(columns: readonly StatusColumn[]): string {
  const metadata = Object.keys(unknownValues) as (keyof typeof unknownValues)[];
  const columnsOfMetadata = [...metadata, 'comparable_enclosure_url'];
  const completedColumns = [...metadata.map(selectFirstValue), firstComparable];
  const statusSql = columns.map(({ column, type }, index) => {
    const [bit, isFlag] = [1 << index, type === 'boolean'];
    const numericValue = `s.${column}${isFlag ? '::int' : ''}`;
    const storedStatus = `ROW(${numericValue}, s.${column}_at, s.minute_forms & ${bit} <> 0)`;
    const [value, time] = [`(n.${column}).value${isFlag ? ' = 1' : ''}`, `(n.${column}).at`];
    return {
      newest: `episode.newest(${storedStatus}::episode.status ORDER BY g.place, e.id) AS ${column}`,
      change: `${column} = ${value}, ${column}_at = ${time}`,
      before: `s.${column}, s.${column}_at`,
      after: `${value}, ${time}`,
      minuteForm: `${bit} * coalesce((n.${column}).minute, false)::int`,
    };
  });
  const joinAll = (key: keyof (typeof statusSql)[number], separator = ', ') =>
    statusSql.map((sql) => sql[key]).join(separator);
  return `
  -- Called by the subscription service (EXECUTE is granted to podcast_sync_subscription_group) in
  -- the transaction that merges subscriptions: p_from[n] into p_into[n]. No subscription is in two
  -- pairs. Episodes that match one of the survivor are merged into it: the newest of each status
  -- wins, and unknown metadata is filled in. All other episodes move to the survivor. Changed and
  -- moved episodes get p_stamp. The sync_ids of absorbed episodes become aliases until the user has
  -- p_alias_quota aliases.
  CREATE OR REPLACE FUNCTION episode.merge_subscriptions(
    p_user uuid, p_from bigint[], p_into bigint[], p_stamp timestamptz, p_alias_quota bigint
  ) RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_bitmapscan = off SET jit = off AS $$
  DECLARE
    v_absorbed bigint[];
    v_survivors bigint[];
    v_added bigint;
    v_deleted bigint;
  BEGIN
    SELECT array_agg(m.absorbed), array_agg(m.survivor) INTO v_absorbed, v_survivors
    FROM episode.match_subscriptions(p_user, p_from, p_into) m;

    UPDATE episode.sync_ids s SET episode_id = m.survivor
    FROM unnest(v_absorbed, v_survivors) m (absorbed, survivor)
    WHERE s.user_id = p_user AND s.episode_id = m.absorbed;
    INSERT INTO episode.sync_ids (user_id, sync_id, episode_id)
    SELECT p_user, s.sync_id, m.survivor
    FROM unnest(v_absorbed, v_survivors) m (absorbed, survivor)
    JOIN episode.states s ON s.user_id = p_user AND s.id = m.absorbed
    ORDER BY s.id
    LIMIT greatest(
      p_alias_quota
        - coalesce((SELECT t.sync_ids FROM episode.totals t WHERE t.user_id = p_user), 0),
      0
    );
    GET DIAGNOSTICS v_added = ROW_COUNT;

    WITH n AS MATERIALIZED (
      SELECT g.survivor, (array_agg(s.sync_id ORDER BY g.place))[1] AS sync_id,
        ${completedColumns.join(',\n        ')},
        ${joinAll('newest')}
      FROM (
        SELECT m.survivor, m.absorbed AS id, 1 AS place
        FROM unnest(v_absorbed, v_survivors) m (absorbed, survivor)
        UNION ALL
        SELECT DISTINCT s.survivor, s.survivor, 0 FROM unnest(v_survivors) s (survivor)
      ) g
      JOIN episode.states s ON s.user_id = p_user AND s.id = g.id
      JOIN episode.episodes e ON e.user_id = p_user AND e.sync_id = s.sync_id
      GROUP BY g.survivor
    ), completed AS (
      UPDATE episode.episodes e
      SET ${columnsOfMetadata.map((column) => `${column} = n.${column}`).join(', ')}
      FROM n
      WHERE e.user_id = p_user AND e.sync_id = n.sync_id
        AND (${columnsOfMetadata.map((column) => `e.${column}`).join(', ')})
        IS DISTINCT FROM (${columnsOfMetadata.map((column) => `n.${column}`).join(', ')})
      RETURNING e.id
    )
    UPDATE episode.states s
    SET changed = p_stamp,
      ${joinAll('change')},
      minute_forms = ${joinAll('minuteForm', ' + ')}
    FROM n LEFT JOIN completed c ON c.id = n.survivor
    WHERE s.user_id = p_user AND s.id = n.survivor
      AND (c.id IS NOT NULL OR (${joinAll('before')}) IS DISTINCT FROM (${joinAll('after')}));

    WITH deleted AS (
      DELETE FROM episode.states s
      USING unnest(v_absorbed) a (id)
      WHERE s.user_id = p_user AND s.id = a.id
      RETURNING s.sync_id
    )
    DELETE FROM episode.episodes e USING deleted
    WHERE e.user_id = p_user AND e.sync_id = deleted.sync_id;
    GET DIAGNOSTICS v_deleted = ROW_COUNT;
    UPDATE episode.totals t SET episodes = t.episodes - v_deleted, sync_ids = t.sync_ids + v_added
    WHERE t.user_id = p_user AND (v_deleted, v_added) <> (0, 0);
    WITH moved AS (
      UPDATE episode.episodes e SET subscription_id = p.survivor
      FROM unnest(p_from, p_into) p (merged, survivor)
      WHERE e.user_id = p_user AND e.subscription_id = p.merged
      RETURNING e.id
    )
    UPDATE episode.states s SET changed = p_stamp FROM moved
    WHERE s.user_id = p_user AND s.id = moved.id;
  END $$;
  REVOKE EXECUTE
    ON FUNCTION episode.merge_subscriptions(uuid, bigint[], bigint[], timestamptz, bigint)
    FROM PUBLIC;
  GRANT EXECUTE
    ON FUNCTION episode.merge_subscriptions(uuid, bigint[], bigint[], timestamptz, bigint)
    TO podcast_sync_subscription_group;
`;
}
