import type { MigrationInterface, QueryRunner } from 'typeorm';
import { partitioning } from '../partitions.js';

/** The schema every writer uses: the users' clocks and the answers of their latest writes. */
export class CreateSync1763715600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const byUser = await partitioning(runner);
    await runner.query(`
      CREATE SCHEMA IF NOT EXISTS sync;
      GRANT USAGE ON SCHEMA sync
        TO podcast_sync_subscription_group, podcast_sync_episode_group, podcast_sync_deletion_group;
      -- An app is ready when every migration that it knows is applied.
      GRANT SELECT ON sync.migrations
        TO podcast_sync_subscription_group, podcast_sync_episode_group, podcast_sync_deletion_group;

      -- Room on each page, so that advancing a clock stays a heap-only update.
      CREATE TABLE sync.user_clock (
        user_id uuid NOT NULL,
        stamp timestamptz(3) NOT NULL,
        CONSTRAINT user_clock_pkey PRIMARY KEY (user_id)
      ) ${byUser('sync.user_clock', 'fillfactor = 70')};
      GRANT SELECT, INSERT, UPDATE ON sync.user_clock
        TO podcast_sync_subscription_group, podcast_sync_episode_group, podcast_sync_deletion_group;

      CREATE TABLE sync.request (
        user_id uuid NOT NULL,
        request_id text NOT NULL,
        pattern text NOT NULL,
        answer json NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT request_pkey PRIMARY KEY (user_id, request_id)
      ) ${byUser('sync.request')};
      -- The one index that does not start with the user: rows of all users are removed by age.
      CREATE INDEX request_created_at ON sync.request (created_at);
      GRANT SELECT, INSERT, UPDATE, DELETE ON sync.request
        TO podcast_sync_subscription_group, podcast_sync_episode_group, podcast_sync_deletion_group;

      -- Locks the user's clock until the end of the transaction; it is the epoch for a user who never wrote.
      CREATE FUNCTION sync.lock_clock(p_user uuid) RETURNS timestamptz
      LANGUAGE plpgsql AS $$
      DECLARE
        v_stamp timestamptz;
      BEGIN
        LOOP
          SELECT c.stamp INTO v_stamp FROM sync.user_clock c WHERE c.user_id = p_user FOR UPDATE;
          EXIT WHEN FOUND;
          INSERT INTO sync.user_clock (user_id, stamp) VALUES (p_user, 'epoch') ON CONFLICT (user_id) DO NOTHING;
        END LOOP;
        RETURN v_stamp;
      END $$;

      -- Advances a locked clock: the time of the database in milliseconds, always later than the stamp before.
      CREATE FUNCTION sync.advance_clock(p_user uuid) RETURNS timestamptz
      LANGUAGE sql AS $$
        UPDATE sync.user_clock c
        SET stamp = greatest(date_trunc('milliseconds', clock_timestamp()), c.stamp + interval '1 millisecond')
        WHERE c.user_id = p_user
        RETURNING c.stamp
      $$;

      -- Begins a write: locks the clock; a request that was answered within the hour gets that answer and nothing
      -- else happens; any other gets a stamp. Each statement in here sees what was committed before the lock was had.
      CREATE FUNCTION sync.begin_write(
        p_user uuid, p_request text,
        OUT stamp timestamptz, OUT previous timestamptz, OUT pattern text, OUT answer json
      )
      LANGUAGE plpgsql AS $$
      BEGIN
        previous := sync.lock_clock(p_user);
        SELECT r.pattern, r.answer INTO pattern, answer
        FROM sync.request r
        WHERE r.user_id = p_user AND r.request_id = p_request AND r.created_at > now() - interval '1 hour';
        IF NOT FOUND THEN
          stamp := sync.advance_clock(p_user);
        END IF;
      END $$;

      -- The SHA-256 of a text, for keys that an index entry can't hold. Marked immutable, which convert_to is not only
      -- because conversions can be replaced; in plpgsql, which runs it faster than SQL can where it can't be inlined.
      CREATE FUNCTION sync.sha256(p_text text) RETURNS bytea
      LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
      BEGIN
        RETURN pg_catalog.sha256(convert_to(p_text, 'UTF8'));
      END $$;

      -- Its first 64 bits: they find candidates, whose full text decides.
      CREATE FUNCTION sync.digest(p_text text) RETURNS bytea
      LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
      BEGIN
        RETURN substr(pg_catalog.sha256(convert_to(p_text, 'UTF8')), 1, 8);
      END $$;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP FUNCTION sync.digest(text);
      DROP FUNCTION sync.sha256(text);
      DROP FUNCTION sync.begin_write(uuid, text);
      DROP FUNCTION sync.advance_clock(uuid);
      DROP FUNCTION sync.lock_clock(uuid);
      DROP TABLE sync.request;
      DROP TABLE sync.user_clock;
      REVOKE SELECT ON sync.migrations
        FROM podcast_sync_subscription_group, podcast_sync_episode_group, podcast_sync_deletion_group;
      REVOKE USAGE ON SCHEMA sync
        FROM podcast_sync_subscription_group, podcast_sync_episode_group, podcast_sync_deletion_group;
    `);
  }
}
