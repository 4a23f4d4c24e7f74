import type { MigrationInterface, QueryRunner } from 'typeorm';
import { partitioning } from '../partitions.js';

/**
 * How many episodes each user has, kept by whatever adds or removes some, and how many further sync_ids, kept by the
 * statements that do. Counting them for a list's `total` and for the quotas would cost by all that the user ever had.
 */
export class CountEpisodes1763715604000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const byUser = await partitioning(runner);
    await runner.query(`
      CREATE TABLE episode.totals (
        user_id uuid NOT NULL,
        episodes bigint NOT NULL DEFAULT 0,
        sync_ids bigint NOT NULL DEFAULT 0,
        CONSTRAINT totals_pkey PRIMARY KEY (user_id),
        CONSTRAINT totals_are_no_debts CHECK (episodes >= 0 AND sync_ids >= 0)
      ) ${byUser('episode.totals')};
      GRANT SELECT, INSERT (user_id, sync_ids), UPDATE (sync_ids) ON episode.totals TO podcast_sync_episode_group;
      GRANT SELECT, UPDATE (sync_ids) ON episode.totals TO podcast_sync_deletion_group;

      -- Once a statement, for whoever runs it. Writes of one user follow one another by the user's clock anyway.
      CREATE FUNCTION episode.count_added() RETURNS trigger
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
      BEGIN
        INSERT INTO episode.totals AS t (user_id, episodes)
        SELECT a.user_id, count(*) FROM added a GROUP BY a.user_id
        ON CONFLICT (user_id) DO UPDATE SET episodes = t.episodes + excluded.episodes;
        RETURN NULL;
      END $$;
      CREATE FUNCTION episode.count_removed() RETURNS trigger
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
      BEGIN
        UPDATE episode.totals t SET episodes = t.episodes - r.episodes
        FROM (SELECT user_id, count(*) AS episodes FROM removed GROUP BY user_id) r
        WHERE t.user_id = r.user_id;
        RETURN NULL;
      END $$;
      REVOKE EXECUTE ON FUNCTION episode.count_added(), episode.count_removed() FROM PUBLIC;

      -- Nothing is written between the count of what is there and the triggers that keep it.
      LOCK TABLE episode.episodes IN SHARE ROW EXCLUSIVE MODE;
      INSERT INTO episode.totals (user_id, episodes, sync_ids)
      SELECT e.user_id, count(*), (SELECT count(*) FROM episode.sync_ids s WHERE s.user_id = e.user_id)
      FROM episode.episodes e GROUP BY e.user_id;
      CREATE TRIGGER count_added AFTER INSERT ON episode.episodes
        REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION episode.count_added();
      CREATE TRIGGER count_removed AFTER DELETE ON episode.episodes
        REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION episode.count_removed();
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER count_added ON episode.episodes;
      DROP TRIGGER count_removed ON episode.episodes;
      DROP FUNCTION episode.count_added();
      DROP FUNCTION episode.count_removed();
      DROP TABLE episode.totals;
    `);
  }
}
