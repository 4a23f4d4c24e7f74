import type { MigrationInterface, QueryRunner } from 'typeorm';
import { refusedUser } from '../fault.rule.js';

/** Creates the schema of every writer: clocks of users, markers and answers of writes. */
export class CreateSync1763715600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE SCHEMA IF NOT EXISTS sync;
      GRANT USAGE ON SCHEMA sync TO podcast_sync_subscription_group, podcast_sync_episode_group,
        podcast_sync_deletion_group, podcast_sync_dump_group;
      -- An app is ready when all of its migrations are applied.
      GRANT SELECT ON sync.migrations
        TO podcast_sync_subscription_group, podcast_sync_episode_group, podcast_sync_deletion_group;

      -- Room on each page, so that advancing a clock stays a heap-only update.
      CREATE TABLE sync.user_clock (
        user_id uuid NOT NULL,
        stamp timestamptz(3) NOT NULL,
        answer_bytes bigint NOT NULL DEFAULT 0,
        -- The reason to refuse the user: 1 disabled, 2 being erased, 3 erased; else NULL.
        refused smallint,
        -- The last second that a client of the gpodder API received, 0 for none. Later rows have
        -- stamps at least one second later.
        told bigint NOT NULL DEFAULT 0,
        CONSTRAINT user_clock_pkey PRIMARY KEY (user_id),
        CONSTRAINT user_clock_refused CHECK (refused IN (1, 2, 3)),
        CONSTRAINT user_clock_told
          CHECK (told = 0 OR stamp >= to_timestamp((told + 1)::double precision))
      ) WITH (fillfactor = 70);
      -- Only functions write the column refused.
      GRANT SELECT, INSERT (user_id, stamp), UPDATE (stamp, answer_bytes) ON sync.user_clock
        TO podcast_sync_subscription_group, podcast_sync_episode_group, podcast_sync_deletion_group;
      GRANT UPDATE (told) ON sync.user_clock
        TO podcast_sync_subscription_group, podcast_sync_episode_group;
      -- The users and their clocks.
      GRANT SELECT ON sync.user_clock TO podcast_sync_dump_group;

      -- The markers of requests. Each write adds one, so rows are small.
      CREATE TABLE sync.request (
        user_id uuid NOT NULL,
        request_id uuid NOT NULL,
        stamp timestamptz(3) NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        fingerprint bytea,
        CONSTRAINT request_pkey PRIMARY KEY (user_id, request_id)
      );
      -- The only index that does not start with the user: rows of all users are removed by age.
      CREATE INDEX request_created_at ON sync.request (created_at);
      GRANT SELECT, INSERT, UPDATE, DELETE ON sync.request
        TO podcast_sync_subscription_group, podcast_sync_episode_group, podcast_sync_deletion_group;

      -- The stored answers of requests. They have their own table, so that an eviction reads only
      -- requests with an answer.
      CREATE TABLE sync.answer (
        user_id uuid NOT NULL,
        request_id uuid NOT NULL,
        stamp timestamptz(3) NOT NULL,
        bytes integer NOT NULL,
        answer json NOT NULL,
        CONSTRAINT answer_pkey PRIMARY KEY (user_id, request_id)
      );
      GRANT SELECT, INSERT, UPDATE, DELETE ON sync.answer
        TO podcast_sync_subscription_group, podcast_sync_episode_group, podcast_sync_deletion_group;

      -- The outbox of events: users and the kinds of their unannounced changes (bits: 1
      -- subscriptions, 2 episodes, 4 deletions). A write adds its row, and a relay deletes it, so
      -- the table is a short queue without an index. Vacuum depends on the number of dead rows
      -- only.
      CREATE TABLE sync.events (
        user_id uuid NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        kinds smallint NOT NULL
      ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);
      GRANT INSERT ON sync.events
        TO podcast_sync_subscription_group, podcast_sync_episode_group, podcast_sync_deletion_group;
      GRANT SELECT, DELETE ON sync.events TO podcast_sync_deletion_group;
      -- Sequence numbers of the batches of events.
      CREATE SEQUENCE sync.event_batch;
      GRANT USAGE, UPDATE ON SEQUENCE sync.event_batch TO podcast_sync_deletion_group;

      -- Locks and returns the user's clock until the end of the transaction; the epoch before the
      -- first write.
      CREATE FUNCTION sync.lock_clock(p_user uuid) RETURNS timestamptz
      LANGUAGE plpgsql AS $$
      DECLARE
        v_stamp timestamptz;
      BEGIN
        LOOP
          SELECT c.stamp INTO v_stamp FROM sync.user_clock c WHERE c.user_id = p_user FOR UPDATE;
          EXIT WHEN FOUND;
          INSERT INTO sync.user_clock (user_id, stamp)
          VALUES (p_user, 'epoch') ON CONFLICT (user_id) DO NOTHING;
        END LOOP;
        RETURN v_stamp;
      END $$;

      -- Stores the answer of a write under a locked clock, if all answers of the user fit into
      -- p_limit bytes. answer_bytes is never less than their sum. If it exceeds the limit, the
      -- answers are counted again and the oldest are deleted.
      CREATE FUNCTION sync.keep_answer(
        p_user uuid, p_request uuid, p_stamp timestamptz, p_answer text, p_limit bigint
      ) RETURNS void
      LANGUAGE plpgsql AS $$
      DECLARE
        v_bytes integer := octet_length(p_answer);
        v_total bigint;
      BEGIN
        IF v_bytes > p_limit THEN
          RETURN;
        END IF;
        INSERT INTO sync.answer (user_id, request_id, stamp, bytes, answer)
        VALUES (p_user, p_request, p_stamp, v_bytes, p_answer::json);
        UPDATE sync.user_clock c
        SET answer_bytes = c.answer_bytes + v_bytes
        WHERE c.user_id = p_user
        RETURNING c.answer_bytes INTO v_total;
        IF v_total > p_limit THEN
          PERFORM sync.evict_answers(p_user, p_limit, v_bytes);
        END IF;
      END $$;

      -- The SHA-256 of a text, for keys that are too long for an index entry. Marked immutable:
      -- convert_to is only stable because conversions can be replaced. In plpgsql, which is faster
      -- than SQL that cannot be inlined.
      CREATE FUNCTION sync.sha256(p_text text) RETURNS bytea
      LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
      BEGIN
        RETURN pg_catalog.sha256(convert_to(p_text, 'UTF8'));
      END $$;
    `);
    await runner.query(clockFunctions);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP FUNCTION sync.sha256(text);
      DROP FUNCTION sync.keep_answer(uuid, uuid, timestamptz, text, bigint);
      DROP FUNCTION sync.evict_answers(uuid, bigint, integer);
      DROP FUNCTION sync.take_events(integer, bigint);
      DROP FUNCTION sync.begin_write(uuid, uuid, bytea, boolean, smallint);
      DROP FUNCTION sync.advance_clock(uuid);
      DROP FUNCTION sync.next_stamp(timestamptz);
      DROP FUNCTION sync.lock_clock(uuid);
      DROP SEQUENCE sync.event_batch;
      DROP TABLE sync.events;
      DROP TABLE sync.answer;
      DROP TABLE sync.request;
      DROP TABLE sync.user_clock;
      REVOKE SELECT ON sync.migrations
        FROM podcast_sync_subscription_group, podcast_sync_episode_group,
          podcast_sync_deletion_group;
      REVOKE USAGE ON SCHEMA sync FROM podcast_sync_subscription_group, podcast_sync_episode_group,
        podcast_sync_deletion_group, podcast_sync_dump_group;
    `);
  }
}

/** SQL of the functions that `PrepareDistribution1764100001000` replaces. */
export const clockFunctions = `
  -- The time of the database in milliseconds, always later than the previous stamp.
  CREATE OR REPLACE FUNCTION sync.next_stamp(p_stamp timestamptz) RETURNS timestamptz
  LANGUAGE sql AS $$
    SELECT greatest(date_trunc('milliseconds', clock_timestamp()),
      p_stamp + interval '1 millisecond')
  $$;

  -- Locks and advances an existing clock.
  CREATE OR REPLACE FUNCTION sync.advance_clock(p_user uuid) RETURNS timestamptz
  LANGUAGE sql AS $$
    UPDATE sync.user_clock c
    SET stamp = sync.next_stamp(c.stamp)
    WHERE c.user_id = p_user RETURNING c.stamp
  $$;

  -- Starts a write: locks the clock, advances it unless p_advance is false, and inserts the
  -- marker of the request. A request with a marker of the last hour gets its first stamp, the
  -- fingerprint of its key and its stored answer; the write is then rolled back. Any other
  -- write that advances the clock adds the kinds in p_kinds to the outbox. Each statement sees
  -- all commits before the lock. The write of a refused user fails.
  CREATE OR REPLACE FUNCTION sync.begin_write(
    p_user uuid, p_request uuid, p_fingerprint bytea DEFAULT NULL,
    p_advance boolean DEFAULT true,
    p_kinds smallint DEFAULT 0,
    OUT stamp timestamptz, OUT repeated boolean, OUT fingerprint bytea, OUT answer json
  )
  LANGUAGE plpgsql AS $$
  DECLARE
    v_stamp timestamptz;
    v_refused smallint;
  BEGIN
    LOOP
      UPDATE sync.user_clock c
      SET stamp = CASE WHEN p_advance THEN sync.next_stamp(c.stamp) ELSE c.stamp END
      WHERE c.user_id = p_user RETURNING c.stamp, c.refused INTO v_stamp, v_refused;
      EXIT WHEN FOUND;
      INSERT INTO sync.user_clock (user_id, stamp)
      VALUES (p_user, 'epoch') ON CONFLICT (user_id) DO NOTHING;
    END LOOP;
    IF v_refused IS NOT NULL THEN
      RAISE EXCEPTION 'podcast user is disabled, being erased or erased'
        USING ERRCODE = '${refusedUser}';
    END IF;
    LOOP
      INSERT INTO sync.request (user_id, request_id, stamp, fingerprint)
      VALUES (p_user, p_request, v_stamp, p_fingerprint)
      ON CONFLICT (user_id, request_id) DO NOTHING;
      repeated := NOT FOUND;
      stamp := v_stamp;
      EXIT WHEN NOT repeated;
      SELECT r.stamp, r.fingerprint, a.answer INTO stamp, fingerprint, answer
      FROM sync.request r
      LEFT JOIN sync.answer a ON a.user_id = r.user_id AND a.request_id = r.request_id
      WHERE r.user_id = p_user AND r.request_id = p_request
        AND r.created_at > now() - interval '1 hour';
      EXIT WHEN FOUND;
      -- The marker is too old, and the sweep has not deleted it yet.
      DELETE FROM sync.request r WHERE r.user_id = p_user AND r.request_id = p_request;
      DELETE FROM sync.answer a WHERE a.user_id = p_user AND a.request_id = p_request;
    END LOOP;
    IF p_kinds <> 0 AND p_advance AND NOT repeated THEN
      INSERT INTO sync.events (user_id, kinds) VALUES (p_user, p_kinds);
    END IF;
  END $$;

  -- Counts a user's answers. Above p_limit bytes it deletes the oldest until a sixteenth of the
  -- limit is free, or only the newest, of p_newest bytes, is left. The free part prevents an
  -- eviction for every write. It waits for no lock: the sweep deletes locked answers.
  CREATE OR REPLACE FUNCTION sync.evict_answers(p_user uuid, p_limit bigint, p_newest integer)
  RETURNS void
  LANGUAGE sql AS $$
    WITH answers AS MATERIALIZED (
      SELECT a.request_id, sum(a.bytes) OVER (ORDER BY a.stamp DESC, a.request_id) AS bytes
      FROM sync.answer a WHERE a.user_id = p_user
    ), kept AS MATERIALIZED (
      SELECT coalesce(max(a.bytes), 0) AS bytes
      FROM answers a, (SELECT max(bytes) AS bytes FROM answers) total
      WHERE total.bytes <= p_limit OR a.bytes <= greatest(p_limit - p_limit / 16, p_newest)
    ), old AS (
      SELECT a.request_id FROM sync.answer a JOIN answers n ON n.request_id = a.request_id, kept
      WHERE a.user_id = p_user AND n.bytes > kept.bytes FOR UPDATE OF a SKIP LOCKED
    ), evicted AS (
      DELETE FROM sync.answer a USING old
      WHERE a.user_id = p_user AND a.request_id = old.request_id
    )
    UPDATE sync.user_clock c SET answer_bytes = kept.bytes FROM kept WHERE c.user_id = p_user
  $$;

  -- Deletes up to p_limit rows from the outbox for the transaction that announces them, and
  -- returns the clock and all kinds of each of their users. Returns nothing while another
  -- transaction does so. The statements see all commits before the lock, so a later batch never
  -- has an older clock of a user. Batch numbers are above p_above. The nested loop finds each
  -- row by its place.
  CREATE OR REPLACE FUNCTION sync.take_events(p_limit integer, p_above bigint)
  RETURNS TABLE (batch bigint, user_id uuid, stamp timestamptz, kinds integer)
  LANGUAGE plpgsql SET enable_hashjoin = off SET enable_mergejoin = off AS $$
  BEGIN
    IF NOT EXISTS (SELECT FROM sync.events)
      OR NOT pg_try_advisory_xact_lock(hashtextextended('sync.events', 0)) THEN
      RETURN;
    END IF;
    batch := nextval('sync.event_batch');
    IF batch <= p_above THEN
      batch := setval('sync.event_batch', p_above + 1);
    END IF;
    RETURN QUERY
      WITH taken AS (
        DELETE FROM sync.events e
        USING (SELECT o.tableoid AS part, o.ctid AS place FROM sync.events o LIMIT p_limit) o
        WHERE e.tableoid = o.part AND e.ctid = o.place RETURNING e.user_id, e.kinds
      ), users AS (
        SELECT t.user_id, bit_or(t.kinds)::integer AS kinds FROM taken t GROUP BY t.user_id
      )
      SELECT batch, u.user_id, c.stamp::timestamptz, u.kinds FROM users u
      JOIN sync.user_clock c ON c.user_id = u.user_id;
  END $$;
`;
