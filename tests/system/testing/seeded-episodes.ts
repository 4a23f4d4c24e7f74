import type pg from 'pg';

/** A user with a hundred subscriptions, whose ids follow the first one's. */
export interface SeededUser {
  readonly id: string;
  readonly subscriptionId: number;
  readonly states: number;
}

const clocks = `INSERT INTO sync.user_clock SELECT id, '2026-01-01' FROM unnest($1::uuid[]) id`;

const subscriptions = `
  WITH made AS (
    INSERT INTO subscription.subscriptions (user_id, feed_url, guid, is_subscribed,
      is_subscribed_at, subscription_changed, changed)
    SELECT u, 'https://podcast.example/' || n, md5(u::text || n)::uuid, true, '2025-01-01',
      '2025-01-01', '2025-01-01'
    FROM unnest($1::uuid[]) u, generate_series(1, 100) n
    RETURNING user_id, id, guid, feed_url
  ), named AS (
    INSERT INTO subscription.guids (user_id, guid, subscription_id, attached)
    SELECT user_id, guid, id, '2025-01-01' FROM made
  ), reached AS (
    INSERT INTO subscription.feed_urls (user_id, url_sha256, subscription_id)
    SELECT user_id, sync.sha256(feed_url), id FROM made
  ), counted AS (
    INSERT INTO subscription.totals (user_id, live, guids, urls)
    SELECT user_id, count(*), count(*), count(*) FROM made GROUP BY user_id
  )
  SELECT user_id, min(id)::int AS id FROM made GROUP BY user_id`;

/** 100 are changed at a time; the later ones have the higher ids, or with $4 the lower. */
const episodes = `
  WITH sought AS MATERIALIZED (
    SELECT u, nextval('episode.episode_id') AS id, md5(u::text || n)::uuid AS sync_id, s, n, states
    FROM unnest($1::uuid[], $2::bigint[], $3::int[]) x (u, s, states), generate_series(1, states) n
  ), made AS (
    INSERT INTO episode.episodes (user_id, id, subscription_id, publish_date, sync_id, episode_guid,
      title, enclosure_url, episode_url)
    SELECT u, id, s + n % 100, '2020-01-01'::timestamptz + n * interval '1 minute', sync_id,
      'episode-' || n,
      'Title ' || n, 'https://media.example/' || n || '.mp3', 'https://podcast.example/' || n
    FROM sought
  ), totals AS (
    INSERT INTO episode.totals (user_id, episodes) SELECT u, count(*) FROM sought GROUP BY u
  )
  INSERT INTO episode.states (user_id, id, sync_id, changed, playback_position,
    playback_position_at)
  SELECT u, id, sync_id,
    '2025-01-01'::timestamptz
      + ((CASE WHEN $4 THEN states - n ELSE n - 1 END) / 100) * interval '1 second',
    n,
    '2025-01-01'
  FROM sought`;

/** Rows of the other tables: a plan for an almost empty table is not representative. */
const beside = `
  SET session_replication_role = replica;
  INSERT INTO sync.user_clock SELECT gen_random_uuid(), '2026-01-01' FROM generate_series(1, 20000);
  INSERT INTO episode.totals (user_id, episodes) SELECT user_id, 0 FROM sync.user_clock 
    ON CONFLICT DO NOTHING;
  INSERT INTO subscription.totals (user_id) SELECT user_id FROM sync.user_clock
    ON CONFLICT DO NOTHING;
  INSERT INTO sync.request (user_id, request_id, stamp)
    SELECT c.user_id, gen_random_uuid(), c.stamp FROM sync.user_clock c, generate_series(1, 2) n;
  INSERT INTO sync.answer (user_id, request_id, stamp, bytes, answer)
    SELECT r.user_id, r.request_id, r.stamp, 2, '{}' FROM sync.request r;
  INSERT INTO subscription.guids (user_id, guid, subscription_id, attached)
    SELECT user_id, gen_random_uuid(), 1, '2025-01-01' FROM sync.user_clock;
  INSERT INTO subscription.feed_urls (user_id, url_sha256, subscription_id)
    SELECT user_id, sha256('url'), 1 FROM sync.user_clock;
  INSERT INTO subscription.former_guids (user_id, subscription_id, replaced, guid)
    SELECT user_id, id, '2024-01-01', gen_random_uuid() FROM subscription.subscriptions;
  INSERT INTO subscription.former_guids (user_id, subscription_id, replaced, guid)
    SELECT user_id, 1, '2023-01-01', gen_random_uuid() FROM sync.user_clock;
  INSERT INTO episode.sync_ids (user_id, sync_id, episode_id)
    SELECT user_id, gen_random_uuid(), id FROM episode.episodes WHERE id % 5 = 0;
  INSERT INTO deletion.deletions (user_id, subscription_id, requested, status, finished)
    SELECT user_id, id, '2025-01-01', 'SUCCESS', '2025-01-01'
    FROM subscription.subscriptions, generate_series(1, 3);
  INSERT INTO deletion.deletions (user_id, subscription_id, requested)
    SELECT user_id, id, '2025-01-01' FROM subscription.subscriptions WHERE id % 100 = 7;
  RESET session_replication_role`;

/** Fills the database with that many states per user. Dropped indexes make it faster. */
export async function seedEpisodes(
  owner: pg.Client,
  users: readonly { id: string; states: number; descending?: boolean }[],
): Promise<Map<string, SeededUser>> {
  const ids = users.map(({ id }) => id);
  await owner.query(clocks, [ids]);
  const { rows } = await owner.query<{ user_id: string; id: number }>(subscriptions, [ids]);
  const subscriptionOf = new Map(rows.map((row) => [row.user_id, row.id]));
  const { rows: indexes } = await owner.query<{ name: string; definition: string }>(
    `SELECT indexname AS name, indexdef AS definition FROM pg_indexes
     WHERE schemaname = 'episode' AND tablename IN ('episodes', 'states')
       AND indexname NOT LIKE '%_pkey'`,
  );
  for (const { name } of indexes) await owner.query(`DROP INDEX episode.${name}`);
  for (const descending of [false, true]) {
    const some = users.filter((user) => (user.descending ?? false) === descending);
    const columns = [
      some.map(({ id }) => id),
      some.map(({ id }) => subscriptionOf.get(id)),
      some.map((u) => u.states),
    ];
    await owner.query(episodes, [...columns, descending]);
  }
  await owner.query(beside);
  await owner.query("SET maintenance_work_mem = '256MB'");
  for (const { definition } of indexes) await owner.query(definition);
  await owner.query('VACUUM ANALYZE');
  return new Map(
    users.map(({ id, states }) => [
      id,
      { id, states, subscriptionId: subscriptionOf.get(id) as number },
    ]),
  );
}
