import type pg from 'pg';

const insert = `
  WITH made AS (
    INSERT INTO subscription.subscriptions (user_id, feed_url, guid, is_subscribed, is_subscribed_at, subscription_changed, changed)
    VALUES ($1, 'https://podcast.example/feed', $2, true, $3, $3, $3) RETURNING id
  ), named AS (
    INSERT INTO subscription.guids (user_id, guid, subscription_id, attached)
    SELECT $1, guid, id, $3 FROM made, unnest($4::uuid[]) guid
  )
  SELECT id::int FROM made`;

/** Writes a live subscription straight into Postgres, its current guid first. @returns its row id. */
export async function storeSubscription(
  owner: pg.Client,
  userId: string,
  guids: readonly [current: string, ...former: string[]],
  stamp: Date | 'epoch',
): Promise<number> {
  const { rows } = await owner.query<{ id: number }>(insert, [userId, guids[0], stamp, guids]);
  return (rows[0] as { id: number }).id;
}
