import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { storeSubscription } from '../../../libs/database/testing/stored-subscription.js';
import { storedEpisodes } from '../../../libs/database/testing/stored-episodes.js';

const insertEpisodes = storedEpisodes(
  `INSERT INTO episode.episodes (user_id, subscription_id, publish_date, sync_id, episode_guid,
       title, enclosure_url, episode_url)
   SELECT $1, $2, $3, gen_random_uuid(), gen_random_uuid()::text, '', 'https://e.example/' || n,
     'https://p.example'
   FROM (SELECT gen_random_uuid() AS n FROM generate_series(1, $4::int)) made_up`,
  '$3::timestamptz',
  `INSERT INTO episode.sync_ids (user_id, sync_id, episode_id)
   SELECT $1, gen_random_uuid(), id FROM made`,
);

/** The user's clock, subscriptions, guids, episodes, states and aliases; null without rows. */
interface StoredRows {
  subscriptions: Record<string, unknown>[];
  guids: unknown;
  episodes: Record<string, unknown>[] | null;
  states: unknown;
  syncIds: unknown;
  /** The user's latest stamp. */
  clock: Date;
}

const selectEverything = `
  SELECT
    (SELECT json_agg(s ORDER BY s.id) FROM subscription.subscriptions s
      WHERE s.user_id = $1) AS subscriptions,
    (SELECT json_agg(g ORDER BY g.guid) FROM subscription.guids g WHERE g.user_id = $1) AS guids,
    (SELECT json_agg(e ORDER BY e.id) FROM episode.episodes e WHERE e.user_id = $1) AS episodes,
    (SELECT json_agg(t ORDER BY t.id) FROM episode.states t WHERE t.user_id = $1) AS states,
    (SELECT json_agg(i ORDER BY i.sync_id) FROM episode.sync_ids i
      WHERE i.user_id = $1) AS "syncIds",
    (SELECT c.stamp FROM sync.user_clock c WHERE c.user_id = $1) AS clock`;

/** A user whose rows a test writes directly into Postgres, like those of the other services. */
export class StoredUser {
  readonly id = randomUUID();

  constructor(private readonly owner: pg.Client) {}

  /** Creates a user with one subscription ({@link subscribe}). */
  static async subscriber(
    owner: pg.Client,
  ): Promise<{ user: StoredUser; guid: string; subscriptionId: number }> {
    const user = new StoredUser(owner);
    const guid = randomUUID();
    return { user, guid, subscriptionId: await user.subscribe(guid) };
  }

  /** Advances the user's clock. */
  async stamp(): Promise<Date> {
    const { rows } = await this.owner.query<{ stamp: Date }>(
      'SELECT stamp FROM sync.begin_write($1, gen_random_uuid())',
      [this.id],
    );
    return (rows[0] as { stamp: Date }).stamp;
  }

  /**
   * Inserts a live subscription with three episodes, each with an alias. @returns its row id.
   *
   * @param guids its guids, the current one first.
   */
  async subscribe(...guids: [string, ...string[]]): Promise<number> {
    const id = await storeSubscription(this.owner, this.id, guids, await this.stamp());
    await this.addEpisodes(id);
    return id;
  }

  /** Inserts episodes, each with an alias. */
  async addEpisodes(subscriptionId: number, episodes = 3): Promise<void> {
    await this.owner.query(insertEpisodes, [this.id, subscriptionId, await this.stamp(), episodes]);
  }

  /** Subscribes again, as POST does: revives a tombstone and cancels a deletion. */
  async addAgain(id: number): Promise<void> {
    await this.owner.query(
      `UPDATE subscription.subscriptions
       SET is_subscribed = true, deleted = NULL, deletion_id = NULL, subscription_changed = $3,
         changed = $3 WHERE user_id = $1 AND id = $2`,
      [this.id, id, await this.stamp()],
    );
  }

  /** Merges a subscription into another, as PATCH does. */
  async merge(from: number, into: number): Promise<void> {
    const stamp = await this.stamp();
    await this.owner.query(
      `UPDATE subscription.guids SET subscription_id = $3, attached = $4
       WHERE user_id = $1 AND subscription_id = $2`,
      [this.id, from, into, stamp],
    );
    await this.owner.query(
      'SELECT episode.merge_subscriptions($1, ARRAY[$2::bigint], ARRAY[$3::bigint], $4, 1000000)',
      [this.id, from, into, stamp],
    );
    await this.owner.query(
      `UPDATE subscription.subscriptions SET merged_into = $3, merged_at = $4, changed = $4
       WHERE user_id = $1 AND id = $2`,
      [this.id, from, into, stamp],
    );
    await this.owner.query(
      `UPDATE subscription.subscriptions SET deletion_id = NULL
       WHERE user_id = $1 AND id IN ($2, $3)`,
      [this.id, from, into],
    );
  }

  async everything(): Promise<StoredRows> {
    const { rows } = await this.owner.query<StoredRows>(selectEverything, [this.id]);
    return rows[0] as StoredRows;
  }

  async record(deletionId: number): Promise<Record<string, unknown>> {
    const { rows } = await this.owner.query(
      'SELECT * FROM deletion.deletions WHERE user_id = $1 AND id = $2',
      [this.id, deletionId],
    );
    return rows[0] as Record<string, unknown>;
  }
}
