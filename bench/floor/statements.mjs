// One statement a request, and so one transaction and one round trip. A write locks the user's
// clock, takes one stamp from it, and inserts a marker, whose key refuses a repeated request.
// Everything that it changes is checked again on the locked rows.

/** The fields of a state, with their types. */
export const fields = {
  playback_position: 'bigint',
  played_status: 'boolean',
  new_status: 'boolean',
  download_status: 'boolean',
  favorite_status: 'boolean',
};
const names = Object.keys(fields);
const each = (text, separator = ', ') =>
  names.map((name) => text.replaceAll('@type', fields[name]).replaceAll('@', name)).join(separator);

/** The columns of an episode in answers. */
const identity = `e.id, e.podcast_guid, e.sync_id, e.episode_guid, e.title, e.publish_date,
  e.enclosure_url, e.episode_url`;

/** $1 user, $2 request. */
const write = `
  clock AS (
    INSERT INTO floor.clocks AS c (user_id, clock) VALUES ($1, now())
    ON CONFLICT (user_id) DO UPDATE
      SET clock = greatest(clock_timestamp()::timestamptz(3), c.clock + interval '1 ms')
    RETURNING clock AS stamp
  ),
  marker AS (
    INSERT INTO floor.markers (user_id, request_id) VALUES ($1, $2)
  )`;

/** $3 entries. Newer fields replace older ones. */
export const upload = {
  name: 'upload',
  text: `
    WITH ${write},
    entry AS (
      SELECT e.* FROM json_to_recordset($3) AS e (
        podcast_guid uuid, sync_id text, episode_guid text, title text, publish_date timestamptz,
        enclosure_url text, episode_url text, ${each('@ json')}
      )
    ),
    stored AS (
      SELECT ${identity} FROM entry JOIN floor.episodes e
        ON e.user_id = $1 AND e.sync_id = entry.sync_id
    ),
    made AS (
      INSERT INTO floor.episodes AS e (user_id, podcast_guid, sync_id, episode_guid, title,
        publish_date, enclosure_url, episode_url)
      SELECT $1, podcast_guid, sync_id, episode_guid, title, publish_date, enclosure_url,
        episode_url
      FROM entry CROSS JOIN clock WHERE sync_id NOT IN (SELECT sync_id FROM stored)
      ON CONFLICT (user_id, sync_id) DO UPDATE SET sync_id = e.sync_id
      RETURNING ${identity}, xmax = 0 AS is_new
    ),
    counted AS (
      INSERT INTO floor.totals AS t (user_id, episodes)
      SELECT $1, count(*) FROM made WHERE is_new HAVING count(*) > 0
      ON CONFLICT (user_id) DO UPDATE SET episodes = t.episodes + excluded.episodes
    ),
    state AS (
      INSERT INTO floor.states AS s (user_id, id, changed, ${each('@, @_at')})
      SELECT $1, id, stamp,
        ${each("(@ ->> 'value')::@type, (@ ->> 'timestamp')::timestamptz")}
      FROM entry
        JOIN (SELECT id, sync_id FROM stored UNION ALL SELECT id, sync_id FROM made) AS i
          USING (sync_id)
        CROSS JOIN clock
      ON CONFLICT (user_id, id) DO UPDATE SET
        changed = CASE
          WHEN ${each('coalesce(excluded.@_at > s.@_at, excluded.@_at IS NOT NULL)', ' OR ')}
          THEN excluded.changed ELSE s.changed END,
        ${each(`@ = CASE WHEN s.@_at >= excluded.@_at OR excluded.@_at IS NULL
                    THEN s.@ ELSE excluded.@ END,
                @_at = greatest(excluded.@_at, s.@_at)`)}
      RETURNING s.*
    )
    SELECT s.*, e.* FROM state s
      JOIN (SELECT * FROM stored UNION ALL SELECT ${identity} FROM made e) AS e USING (id)`,
};

/** $3 feed URLs, $4 their guids. */
export const subscribe = {
  name: 'subscribe',
  text: `
    WITH ${write},
    saved AS (
      INSERT INTO floor.subscriptions AS s (user_id, guid, feed_url, is_subscribed, changed)
      SELECT $1, guid, feed_url, true, stamp
      FROM unnest($3::text[], $4::uuid[]) AS e (feed_url, guid) CROSS JOIN clock
      ON CONFLICT (user_id, guid) DO UPDATE SET is_subscribed = true, changed = excluded.changed
      RETURNING guid, feed_url, is_subscribed, changed, xmax = 0 AS is_new
    ),
    counted AS (
      INSERT INTO floor.totals AS t (user_id, subscriptions)
      SELECT $1, count(*) FROM saved WHERE is_new HAVING count(*) > 0
      ON CONFLICT (user_id) DO UPDATE SET subscriptions = t.subscriptions + excluded.subscriptions
    )
    SELECT guid, feed_url, is_subscribed, changed FROM saved`,
};

/** $3 guid, $4 whether it is subscribed. */
export const update = {
  name: 'update',
  text: `
    WITH ${write}
    UPDATE floor.subscriptions SET is_subscribed = $4, changed = stamp FROM clock
    WHERE user_id = $1 AND guid = $3 RETURNING changed`,
};

/** A list's rows and columns. */
const lists = {
  subscriptions: {
    rows: 'floor.subscriptions r',
    columns: 'r.id, r.guid, r.feed_url, r.is_subscribed, r.changed',
  },
  episodes: {
    rows: 'floor.states r JOIN floor.episodes e USING (user_id, id)',
    columns: `r.*, ${identity.replace('e.id, ', '')}`,
  },
};

const list = (name, condition, order) => ({
  name: `${name} ${order}`,
  text: `
    SELECT c.clock, coalesce(t.${name}, 0) AS total, r.*
    FROM (SELECT $1::uuid AS user_id) AS u
      LEFT JOIN floor.clocks c USING (user_id)
      LEFT JOIN floor.totals t USING (user_id)
      LEFT JOIN LATERAL (
        SELECT ${lists[name].columns} FROM ${lists[name].rows}
        WHERE r.user_id = $1 AND ${condition} ORDER BY r.id LIMIT $3
      ) AS r ON true`,
});

/** $2 the last id of the page before, $3 the number of rows. */
export const page = {
  subscriptions: list('subscriptions', 'r.id > $2', 'by id'),
  episodes: list('episodes', 'r.id > $2', 'by id'),
};

/** $2 since, $3 the number of rows. */
export const changes = {
  subscriptions: list('subscriptions', 'r.changed > $2', 'since'),
  episodes: list('episodes', 'r.changed > $2', 'since'),
};
