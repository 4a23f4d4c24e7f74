const subscribe = `
  WITH clock AS (SELECT stamp FROM sync.begin_write($1, gen_random_uuid())), made AS (
    INSERT INTO subscription.subscriptions (user_id, feed_url, guid, is_subscribed, is_subscribed_at, subscription_changed, changed)
    SELECT $1, 'https://podcast.example/' || $2::uuid, $2::uuid, true, stamp, stamp, stamp FROM clock RETURNING id
  ), named AS (
    INSERT INTO subscription.guids (user_id, guid, subscription_id, attached)
    SELECT $1, $2::uuid, id, stamp FROM made, clock
  ), reached AS (
    INSERT INTO subscription.feed_urls (user_id, url_sha256, subscription_id)
    SELECT $1, sync.sha256('https://podcast.example/' || $2::uuid), id FROM made
  ), counted AS (
    INSERT INTO subscription.totals AS t (user_id, live, guids, urls) VALUES ($1, 1, 1, 1)
    ON CONFLICT (user_id) DO UPDATE SET live = t.live + 1, guids = t.guids + 1, urls = t.urls + 1
  )
  SELECT id FROM made`;

/** Every tenth has a second sync_id. */
const upload = `
  WITH clock AS (SELECT stamp FROM sync.begin_write($1, gen_random_uuid())), made AS (
    INSERT INTO episode.episodes (user_id, subscription_id, publish_date, sync_id, episode_guid, title, enclosure_url,
      episode_url)
    SELECT $1, $2, '2020-01-01'::timestamptz + n * interval '1 hour', gen_random_uuid(), 'episode-' || n,
      'Episode ' || n || ': of this and that, and of what else there is to say',
      'https://media.podcast.example/audio/2020/episode-' || n || '.mp3?source=feed',
      'https://podcast.example/2020/episodes/' || n
    FROM generate_series($3::int, $4::int) n RETURNING id, sync_id
  ), states AS (
    INSERT INTO episode.states (user_id, id, sync_id, changed, playback_position, playback_position_at, played_status, played_status_at)
    SELECT $1, id, sync_id, stamp, id % 3600, now(), id % 2 = 0, now() FROM made, clock
  ), totals AS (
    INSERT INTO episode.totals AS t (user_id, episodes) SELECT $1, count(*) FROM made
    ON CONFLICT (user_id) DO UPDATE SET episodes = t.episodes + excluded.episodes
  )
  INSERT INTO episode.sync_ids (user_id, sync_id, episode_id) SELECT $1, gen_random_uuid(), id FROM made WHERE id % 10 = 0`;

/** A subscription with episodes that are numbered from `first` on, uploaded by the thousand as clients do. */
export async function loadSubscription(owner, user, guid, { episodes, first = 0 }) {
  const { rows } = await owner.query(subscribe, [user.id, guid]);
  for (let n = first; n < first + episodes; n += 1_000)
    await owner.query(upload, [user.id, rows[0].id, n, Math.min(n + 1_000, first + episodes) - 1]);
}
