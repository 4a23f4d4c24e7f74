const clocks = `INSERT INTO sync.user_clock (user_id, stamp)
  SELECT u, '2026-01-01' FROM unnest($1::uuid[]) u`;

const subscriptions = `
  WITH made AS (
    INSERT INTO subscription.subscriptions (user_id, feed_url, guid, is_subscribed,
      is_subscribed_at, subscription_changed, changed)
    SELECT u, 'https://podcast.example/shows/' || guid || '/feed.xml', guid, true, '2026-01-01',
      '2026-01-01', '2026-01-01'
    FROM unnest($1::uuid[]) u, generate_series(1, $2::int) n,
      LATERAL (SELECT gen_random_uuid() AS guid WHERE (u, n) IS NOT NULL) g
    RETURNING user_id, id, guid, feed_url
  ), named AS (
    INSERT INTO subscription.guids (user_id, guid, subscription_id, attached)
    SELECT user_id, guid, id, '2026-01-01' FROM made
  ), reached AS (
    INSERT INTO subscription.feed_urls (user_id, url_sha256, subscription_id)
    SELECT user_id, sync.sha256(feed_url), id FROM made
  ), counted AS (
    INSERT INTO subscription.totals (user_id, live, guids, urls)
    SELECT user_id, count(*), count(*), count(*) FROM made GROUP BY user_id
  )
  SELECT user_id, array_agg(guid ORDER BY id) AS guids, array_agg(id ORDER BY id) AS ids FROM made
  GROUP BY user_id`;

const episodes = `
  WITH made AS (
    INSERT INTO episode.episodes (user_id, subscription_id, publish_date, sync_id, episode_guid,
      title, enclosure_url, episode_url)
    SELECT u, s, '2020-01-01'::timestamptz + n * interval '1 hour', sync_id, sync_id,
      'Episode ' || n || ': of this and that, and of what else there is to say',
      'https://media.podcast.example/audio/2020/' || sync_id || '.mp3?source=feed',
      'https://podcast.example/2020/episodes/' || sync_id
    FROM unnest($1::uuid[], $2::bigint[]) x (u, s), generate_series(1, $3::int) n,
      LATERAL (SELECT gen_random_uuid() AS sync_id WHERE (u, n) IS NOT NULL) i
    RETURNING user_id, id, sync_id
  ), totals AS (
    INSERT INTO episode.totals (user_id, episodes)
    SELECT user_id, count(*) FROM made GROUP BY user_id
  )
  INSERT INTO episode.states (user_id, id, sync_id, changed, playback_position,
    playback_position_at, played_status, played_status_at)
  SELECT user_id, id, sync_id, '2026-01-01', id % 3600, '2020-01-01', id % 2 = 0, '2020-01-01'
  FROM made`;

/** Creates users with subscriptions, and episodes of each user's first subscription. */
export async function seedUsers(system, { users, subscribed, uploaded }) {
  const { owner } = system;
  const callers = await Promise.all(Array.from({ length: users }, () => system.user()));
  const tokens = new Map(callers.map(({ id, token }) => [id, token]));
  const ids = [...tokens.keys()];
  await owner.query(clocks, [ids]);
  const { rows } = await owner.query(subscriptions, [ids, subscribed]);
  if (uploaded > 0)
    await owner.query(episodes, [
      rows.map((row) => row.user_id),
      rows.map((row) => row.ids[0]),
      uploaded,
    ]);
  const known = await owner.query(
    `SELECT user_id, json_agg(e ORDER BY id) AS episodes
     FROM (SELECT user_id, id, sync_id, episode_guid, title, publish_date, enclosure_url,
       episode_url,
       row_number() OVER (PARTITION BY user_id ORDER BY id) AS n FROM episode.episodes
       WHERE user_id = ANY ($1)) e
     WHERE n <= 30 GROUP BY user_id`,
    [ids],
  );
  const episodesOf = new Map(known.rows.map((row) => [row.user_id, row.episodes]));
  return rows.map(({ user_id: id, guids, ids: subscriptionIds }) => ({
    id,
    token: tokens.get(id),
    guids,
    subscriptionIds,
    episodes: (episodesOf.get(id) ?? []).map(entry(guids[0])),
  }));
}

/** Returns a function that turns a row into an entry of an upload. */
function entry(podcastGuid) {
  return ({ id: _id, user_id: _user, n: _n, publish_date: published, ...identity }) => ({
    podcast_guid: podcastGuid,
    ...identity,
    publish_date: new Date(published).toISOString(),
  });
}
