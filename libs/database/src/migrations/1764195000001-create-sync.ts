import type { MigrationInterface, QueryRunner } from 'typeorm';
import { clockFunctions, eventFunctions } from './clock.sql.js';

/** The groups of services that write markers and answers. */
const writers =
  'podcast_sync_subscription_group, podcast_sync_episode_group, podcast_sync_deletion_group';

/**
 * Creates the schema of every writer: clocks of users, markers and answers of writes, and the sync
 * state of clients of the gpodder API.
 */
export class CreateSync1764195000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE SCHEMA IF NOT EXISTS sync;
      GRANT USAGE ON SCHEMA sync TO ${writers}, podcast_sync_dump_group,
        podcast_sync_account_group, podcast_sync_feed_group;
      -- An app is ready when all of its migrations are applied.
      GRANT SELECT ON sync.migrations
        TO ${writers}, podcast_sync_account_group, podcast_sync_feed_group;

      -- Returns the number of the service of this login. The owner of the database can get any
      -- number, because row-level security does not apply to it.
      CREATE FUNCTION sync.writer() RETURNS smallint
      LANGUAGE sql STABLE PARALLEL SAFE AS $$
        SELECT CASE
          WHEN pg_has_role(to_regrole('podcast_sync_subscription_group'), 'MEMBER') THEN 1
          WHEN pg_has_role(to_regrole('podcast_sync_episode_group'), 'MEMBER') THEN 2
          WHEN pg_has_role(to_regrole('podcast_sync_deletion_group'), 'MEMBER') THEN 3
          ELSE 0
        END::smallint
      $$;

      -- Room on each page, so that advancing a clock stays a heap-only update.
      CREATE TABLE sync.user_clock (
        user_id uuid NOT NULL,
        stamp timestamptz(3) NOT NULL,
        answer_bytes bigint NOT NULL DEFAULT 0,
        -- The reason to refuse the user: 1 disabled, 2 being erased, 3 erased; else NULL.
        refused smallint,
        -- The last second that a client of the gpodder API received, 0 for none. Later rows have
        -- stamps at least one second later.
        answered_second bigint NOT NULL DEFAULT 0,
        CONSTRAINT user_clock_pkey PRIMARY KEY (user_id),
        CONSTRAINT user_clock_refused CHECK (refused IN (1, 2, 3)),
        CONSTRAINT user_clock_answered_second CHECK (
          answered_second = 0
            OR stamp >= to_timestamp((answered_second + 1)::double precision)
        )
      ) WITH (fillfactor = 70);
      -- Only functions write the column refused. An INSERT on a cluster names the columns with
      -- defaults as well.
      GRANT
        SELECT,
        INSERT (user_id, stamp, answer_bytes, answered_second),
        UPDATE (stamp, answer_bytes)
        ON sync.user_clock TO ${writers};
      GRANT UPDATE (answered_second) ON sync.user_clock
        TO podcast_sync_subscription_group, podcast_sync_episode_group;
      -- The users and their clocks.
      GRANT SELECT ON sync.user_clock TO podcast_sync_dump_group, podcast_sync_feed_group;

      -- The markers of requests. Each write adds one, so rows are small.
      CREATE TABLE sync.request (
        user_id uuid NOT NULL,
        request_id uuid NOT NULL,
        stamp timestamptz(3) NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        fingerprint bytea,
        writer smallint NOT NULL DEFAULT sync.writer(),
        CONSTRAINT request_pkey PRIMARY KEY (user_id, request_id)
      );
      -- The only index that does not start with the user: rows of all users are removed by age.
      CREATE INDEX request_created_at ON sync.request (created_at);
      GRANT SELECT, INSERT, UPDATE, DELETE ON sync.request TO ${writers};
      -- Markers and stored answers are rows of the service that wrote them (ADR 48). A marker has
      -- no data of the user. All services read it, to reject a key that was used for a request to
      -- another service.
      ALTER TABLE sync.request ENABLE ROW LEVEL SECURITY;
      CREATE POLICY all_read ON sync.request FOR SELECT USING (true);
      CREATE POLICY own_added ON sync.request FOR INSERT WITH CHECK (writer = sync.writer());
      CREATE POLICY own_deleted ON sync.request FOR DELETE USING (writer = sync.writer());
      -- By the sweep, and by a write that reuses the id.
      CREATE POLICY old_deleted ON sync.request FOR DELETE
        USING (created_at < now() - interval '1 hour');
      -- The sweep locks old rows first. No service changes one.
      CREATE POLICY old_locked ON sync.request FOR UPDATE
        USING (created_at < now() - interval '1 hour') WITH CHECK (false);

      -- The stored answers of requests. They have their own table, so that an eviction reads only
      -- requests with an answer.
      CREATE TABLE sync.answer (
        user_id uuid NOT NULL,
        request_id uuid NOT NULL,
        stamp timestamptz(3) NOT NULL,
        bytes integer NOT NULL,
        answer json NOT NULL,
        writer smallint NOT NULL DEFAULT sync.writer(),
        CONSTRAINT answer_pkey PRIMARY KEY (user_id, request_id),
        -- The deletion of a marker deletes its answer, also that of another service.
        CONSTRAINT answer_request_fkey
          FOREIGN KEY (user_id, request_id) REFERENCES sync.request ON DELETE CASCADE
      );
      GRANT SELECT, INSERT, UPDATE, DELETE ON sync.answer TO ${writers};
      ALTER TABLE sync.answer ENABLE ROW LEVEL SECURITY;
      CREATE POLICY own ON sync.answer USING (writer = sync.writer());

      -- The outbox of events: users and the kinds of their unannounced changes (bits: 1
      -- subscriptions, 2 episodes, 4 deletions). A write adds its row, and a relay deletes it, so
      -- the table is a short queue. The relay deletes by user. Vacuum depends on the number of dead
      -- rows only.
      CREATE TABLE sync.events (
        user_id uuid NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        kinds smallint NOT NULL,
        id uuid NOT NULL DEFAULT gen_random_uuid(),
        CONSTRAINT events_pkey PRIMARY KEY (user_id, id)
      ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);
      GRANT INSERT ON sync.events TO ${writers};
      GRANT SELECT, DELETE ON sync.events TO podcast_sync_deletion_group;
      -- Sequence numbers of the batches of events.
      CREATE SEQUENCE sync.event_batch;
      GRANT USAGE, UPDATE ON SEQUENCE sync.event_batch TO podcast_sync_deletion_group;

      -- Sync states of clients that read a list of the gpodder API (1 subscriptions, 2 episodes)
      -- with an app password, and the stamp up to which a session has all rows. Times are seconds
      -- since 1970, or milliseconds in columns that end with _ms. The rows of a user are limited;
      -- the least recently used are deleted.
      CREATE TABLE sync.readers (
        user_id uuid NOT NULL,
        credential_id uuid NOT NULL,
        list smallint NOT NULL,
        since bigint NOT NULL,
        answered_second bigint NOT NULL,
        safe_second bigint NOT NULL,
        received_ms bigint NOT NULL,
        used timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT readers_pkey PRIMARY KEY (user_id, credential_id, list)
      ) WITH (fillfactor = 70);
      CREATE TABLE sync.reader_sessions (
        user_id uuid NOT NULL,
        session_id uuid NOT NULL,
        list smallint NOT NULL,
        stamp_ms bigint NOT NULL,
        used timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT reader_sessions_pkey PRIMARY KEY (user_id, session_id, list)
      ) WITH (fillfactor = 70);
      GRANT SELECT, INSERT, UPDATE, DELETE ON sync.readers, sync.reader_sessions
        TO podcast_sync_subscription_group, podcast_sync_episode_group;
      -- For erasures.
      GRANT SELECT, DELETE ON sync.readers, sync.reader_sessions TO podcast_sync_deletion_group;

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
    await runner.query(eventFunctions);
    await runner.query(`
      -- The limit of bytes is that of the user, so the oldest answers of all services go.
      REVOKE EXECUTE ON FUNCTION sync.evict_answers(uuid, bigint, integer) FROM PUBLIC;
      GRANT EXECUTE ON FUNCTION sync.evict_answers(uuid, bigint, integer) TO ${writers};
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP FUNCTION sync.take_events(integer, bigint);
      DROP FUNCTION sync.read_reachable(regclass, text);
      DROP FUNCTION sync.sha256(text);
      DROP FUNCTION sync.keep_answer(uuid, uuid, timestamptz, text, bigint);
      DROP FUNCTION sync.evict_answers(uuid, bigint, integer);
      DROP FUNCTION sync.begin_write(uuid, uuid, bytea, boolean, smallint);
      DROP FUNCTION sync.advance_clock(uuid);
      DROP FUNCTION sync.lock_clock(uuid);
      DROP TABLE sync.reader_sessions;
      DROP TABLE sync.readers;
      DROP SEQUENCE sync.event_batch;
      DROP TABLE sync.events;
      DROP TABLE sync.answer;
      DROP TABLE sync.request;
      DROP TABLE sync.user_clock;
      DROP FUNCTION sync.writer();
      REVOKE SELECT ON sync.migrations
        FROM ${writers}, podcast_sync_account_group, podcast_sync_feed_group;
      REVOKE USAGE ON SCHEMA sync FROM ${writers}, podcast_sync_dump_group,
        podcast_sync_account_group, podcast_sync_feed_group;
    `);
  }
}
