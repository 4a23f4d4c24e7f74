import type { MigrationInterface, QueryRunner } from 'typeorm';
import { clockFunctions, eventFunctions } from './clock.sql.js';

/** The groups of services that write markers and answers. */
const writers =
  'podcast_sync_subscription_group, podcast_sync_episode_group, podcast_sync_deletion_group';

/**
 * Creates the schema that all services write: clocks of users, markers and stored answers of
 * writes, the outbox of events, and the sync state of gpodder clients.
 */
export class CreateSync1764195000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE SCHEMA IF NOT EXISTS sync;
      GRANT USAGE ON SCHEMA sync TO ${writers}, podcast_sync_dump_group,
        podcast_sync_account_group, podcast_sync_feed_group;
      -- Apps read the migrations, because an app is ready only when all of its own are applied.
      GRANT SELECT ON sync.migrations
        TO ${writers}, podcast_sync_account_group, podcast_sync_feed_group;

      -- Returns the number of the service whose group the login is in, else 0. The number does not
      -- matter for the owner of the database: row-level security does not apply to it.
      CREATE FUNCTION sync.writer() RETURNS smallint
      LANGUAGE sql STABLE PARALLEL SAFE AS $$
        SELECT CASE
          WHEN pg_has_role(to_regrole('podcast_sync_subscription_group'), 'MEMBER') THEN 1
          WHEN pg_has_role(to_regrole('podcast_sync_episode_group'), 'MEMBER') THEN 2
          WHEN pg_has_role(to_regrole('podcast_sync_deletion_group'), 'MEMBER') THEN 3
          ELSE 0
        END::smallint
      $$;

      -- The fillfactor leaves space on each page, so that advancing a clock is a heap-only update.
      CREATE TABLE sync.user_clock (
        user_id uuid NOT NULL,
        stamp timestamptz(3) NOT NULL,
        answer_bytes bigint NOT NULL DEFAULT 0,
        -- The reason to refuse the user: 1 disabled, 2 being erased, 3 erased; else NULL.
        refused smallint,
        -- The last second that was sealed for a client of the gpodder API, 0 for none. Rows that
        -- are written later have stamps at least one second later.
        answered_second bigint NOT NULL DEFAULT 0,
        CONSTRAINT user_clock_pkey PRIMARY KEY (user_id),
        CONSTRAINT user_clock_refused CHECK (refused IN (1, 2, 3)),
        CONSTRAINT user_clock_answered_second CHECK (
          answered_second = 0
            OR stamp >= to_timestamp((answered_second + 1)::double precision)
        )
      ) WITH (fillfactor = 70);
      -- Only SECURITY DEFINER functions write the column refused. The grant includes the columns
      -- with defaults, because Citus names them in each INSERT that it sends to a node.
      GRANT
        SELECT,
        INSERT (user_id, stamp, answer_bytes, answered_second),
        UPDATE (stamp, answer_bytes)
        ON sync.user_clock TO ${writers};
      GRANT UPDATE (answered_second) ON sync.user_clock
        TO podcast_sync_subscription_group, podcast_sync_episode_group;
      -- The dump and the feed service read the users and their clocks.
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
      -- The index does not start with the user, because the sweep deletes old rows of all users.
      CREATE INDEX request_created_at ON sync.request (created_at);
      GRANT SELECT, INSERT, UPDATE, DELETE ON sync.request TO ${writers};
      -- Markers and stored answers belong to the service that wrote them (ADR 48). All services
      -- can read all markers, to reject an Idempotency-Key that was used for a request to another
      -- service. A marker contains no data of the user.
      ALTER TABLE sync.request ENABLE ROW LEVEL SECURITY;
      CREATE POLICY all_read ON sync.request FOR SELECT USING (true);
      CREATE POLICY own_added ON sync.request FOR INSERT WITH CHECK (writer = sync.writer());
      CREATE POLICY own_deleted ON sync.request FOR DELETE USING (writer = sync.writer());
      -- The sweep deletes old markers, and so does a write with the request id of an old marker.
      CREATE POLICY old_deleted ON sync.request FOR DELETE
        USING (created_at < now() - interval '1 hour');
      -- The sweep locks old rows, which needs an UPDATE policy. No service can change a row.
      CREATE POLICY old_locked ON sync.request FOR UPDATE
        USING (created_at < now() - interval '1 hour') WITH CHECK (false);

      -- The stored answers of requests. They have their own table, so that deleting the oldest ones
      -- reads only requests with an answer.
      CREATE TABLE sync.answer (
        user_id uuid NOT NULL,
        request_id uuid NOT NULL,
        stamp timestamptz(3) NOT NULL,
        bytes integer NOT NULL,
        answer json NOT NULL,
        writer smallint NOT NULL DEFAULT sync.writer(),
        CONSTRAINT answer_pkey PRIMARY KEY (user_id, request_id),
        -- Deleting a marker deletes its answer, even if another service wrote it.
        CONSTRAINT answer_request_fkey
          FOREIGN KEY (user_id, request_id) REFERENCES sync.request ON DELETE CASCADE
      );
      GRANT SELECT, INSERT, UPDATE, DELETE ON sync.answer TO ${writers};
      ALTER TABLE sync.answer ENABLE ROW LEVEL SECURITY;
      CREATE POLICY own ON sync.answer USING (writer = sync.writer());

      -- The outbox of events: users and the kinds of their unpublished changes (bits: 1
      -- subscriptions, 2 episodes, 4 deletions, 8 erased). A write adds a row, and a relay deletes
      -- all rows of a user. As the table stays small, only the number of dead rows starts a vacuum.
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

      -- Sync states of gpodder clients (libs/gpodder-sync): readers has K of each app password and
      -- list (1 subscriptions, 2 episodes), reader_sessions has M of each session and list. Times
      -- are seconds since 1970, or milliseconds in columns that end with _ms. Above 400 rows of a
      -- user per table, the least recently used are deleted.
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
      -- Erasures read and delete the sync states of a user.
      GRANT SELECT, DELETE ON sync.readers, sync.reader_sessions TO podcast_sync_deletion_group;

      -- Locks the user's clock until the end of the transaction and returns it. Before the first
      -- write it creates the clock at the epoch.
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

      -- Stores the answer of a write, unless it alone exceeds p_limit bytes. The clock must be
      -- locked. answer_bytes is at least the sum of the user's answers. If it exceeds p_limit, the
      -- answers are counted again, and the oldest are deleted.
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

      -- The SHA-256 of a text, for keys that are too long for an index entry. It is marked
      -- IMMUTABLE, as an index requires. convert_to is only STABLE, because conversions can be
      -- replaced. It is in plpgsql, because an SQL function could not be inlined, and is slower.
      CREATE FUNCTION sync.sha256(p_text text) RETURNS bytea
      LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
      BEGIN
        RETURN pg_catalog.sha256(convert_to(p_text, 'UTF8'));
      END $$;
    `);
    await runner.query(clockFunctions);
    await runner.query(eventFunctions);
    await runner.query(`
      -- The limit applies to all answers of a user, so the oldest answers of any service are
      -- deleted (SECURITY DEFINER).
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
