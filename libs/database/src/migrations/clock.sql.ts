// SQL functions for plain Postgres and for Citus, which distributes the rows by user_id. Each
// statement has one user_id, so Citus routes the statement to one node. Exceptions:
// sync.read_reachable reads rows of all users, and sync.take_events deletes rows of a set of users.

import { refusedUser } from '../fault-rule.js';

/**
 * SQL of the new stamp of a clock `c`: v_now, but at least a millisecond after the old stamp. In an
 * UPDATE, Citus accepts no volatile function, and on a column only immutable functions. timestamptz
 * + interval is stable, so the SQL uses timestamp + interval, which is immutable.
 */
export const nextStampSql = `greatest(
        v_now, (c.stamp AT TIME ZONE 'UTC' + interval '1 millisecond') AT TIME ZONE 'UTC'
      )`;
/** SQL that declares v_now, the time of the database, cut to milliseconds. */
export const declareNowSql = `v_now timestamptz := date_trunc('milliseconds', clock_timestamp())`;

/** SQL of the functions about the clock, markers and answers of a user. */
export const clockFunctions = `
  -- Locks and advances an existing clock, and returns the new stamp: the time of the database in
  -- milliseconds, but always later than the previous stamp.
  CREATE FUNCTION sync.advance_clock(p_user uuid) RETURNS timestamptz
  LANGUAGE plpgsql AS $$
  DECLARE
    ${declareNowSql};
  BEGIN
    UPDATE sync.user_clock c SET stamp = ${nextStampSql}
    WHERE c.user_id = p_user RETURNING c.stamp INTO v_now;
    RETURN v_now;
  END $$;

  -- Starts a write: locks the clock, advances it unless p_advance is false, and inserts the marker
  -- of the request. If the request has a marker of the last hour, repeated is true, and the result
  -- is the stamp, fingerprint and stored answer of the first run. The caller then rolls back.
  -- Otherwise a write that advances the clock adds p_kinds to the outbox. Each statement sees all
  -- commits before the lock. The write of a refused user fails.
  CREATE FUNCTION sync.begin_write(
    p_user uuid, p_request uuid, p_fingerprint bytea DEFAULT NULL,
    p_advance boolean DEFAULT true,
    p_kinds smallint DEFAULT 0,
    OUT stamp timestamptz, OUT repeated boolean, OUT fingerprint bytea, OUT answer json
  )
  LANGUAGE plpgsql AS $$
  DECLARE
    ${declareNowSql};
    v_stamp timestamptz;
    v_refused smallint;
  BEGIN
    LOOP
      UPDATE sync.user_clock c SET stamp = CASE WHEN p_advance THEN ${nextStampSql} ELSE c.stamp END
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
      LEFT JOIN sync.answer a ON a.user_id = p_user AND a.request_id = r.request_id
      WHERE r.user_id = p_user AND r.request_id = p_request
        AND r.created_at > now() - interval '1 hour';
      EXIT WHEN FOUND;
      -- The marker is older than an hour, and the sweep has not deleted it yet.
      DELETE FROM sync.request r WHERE r.user_id = p_user AND r.request_id = p_request;
      DELETE FROM sync.answer a WHERE a.user_id = p_user AND a.request_id = p_request;
    END LOOP;
    IF p_kinds <> 0 AND p_advance AND NOT repeated THEN
      INSERT INTO sync.events (user_id, kinds) VALUES (p_user, p_kinds);
    END IF;
  END $$;

  -- Counts the bytes of a user's answers. Above p_limit it deletes the oldest answers until a
  -- sixteenth of the limit is free, so that not every write deletes some. It always keeps the
  -- newest answer, which has p_newest bytes. It skips locked answers, which the sweep is deleting.
  CREATE FUNCTION sync.evict_answers(p_user uuid, p_limit bigint, p_newest integer)
  RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  BEGIN
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
    UPDATE sync.user_clock c SET answer_bytes = kept.bytes FROM kept WHERE c.user_id = p_user;
  END $$;
`;

/** SQL of the functions that read the outbox of all users. */
export const eventFunctions = `
  -- Returns the rows of p_query as a JSON array. %s in the query is the table. If a node of a Citus
  -- cluster is unreachable, it returns only the rows of the shards on the other nodes.
  CREATE FUNCTION sync.read_reachable(p_table regclass, p_query text) RETURNS json
  LANGUAGE plpgsql AS $$
  DECLARE
    v_rows json;
  BEGIN
    EXECUTE 'SELECT json_agg(r) FROM (' || format(p_query, p_table) || ') r' INTO v_rows;
    RETURN coalesce(v_rows, '[]');
  EXCEPTION
    WHEN connection_exception OR admin_shutdown OR crash_shutdown OR cannot_connect_now THEN
      IF to_regproc('pg_catalog.run_command_on_shards') IS NULL THEN
        RAISE;
      END IF;
      EXECUTE 'SELECT json_agg(j.value) FROM run_command_on_shards($1, $2) s
        CROSS JOIN LATERAL json_array_elements(s.result::json) j WHERE s.success'
      INTO v_rows
      USING p_table, 'SELECT coalesce(json_agg(r), ''[]'') FROM (' || p_query || ') r';
      RETURN coalesce(v_rows, '[]');
  END $$;
  REVOKE EXECUTE ON FUNCTION sync.read_reachable(regclass, text) FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION sync.read_reachable(regclass, text)
    TO podcast_sync_subscription_group, podcast_sync_episode_group, podcast_sync_deletion_group;

  -- Deletes the outbox rows of up to p_limit users and returns the clock and all kinds of each
  -- user, for the transaction that publishes them. Returns nothing while another transaction does
  -- so. The rows and the clock of a user are read in one snapshot after the lock, so a later batch
  -- never has an older clock. The batch number is above p_above. The DELETE compares both tables
  -- with the list of users, so that Citus does not access an unreachable node. Its plan is by
  -- values, because a plan for any list would compare each row with the whole list.
  CREATE FUNCTION sync.take_events(p_limit integer, p_above bigint)
  RETURNS TABLE (batch bigint, user_id uuid, stamp timestamptz, kinds integer)
  LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
  DECLARE
    v_users uuid[];
  BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('sync.events', 0)) THEN
      RETURN;
    END IF;
    v_users := ARRAY(
      SELECT d.user_id FROM json_to_recordset(sync.read_reachable('sync.events', format($q$
        SELECT DISTINCT o.user_id FROM (SELECT e.user_id FROM %s e LIMIT %s) o
      $q$, '%s', p_limit))) d (user_id uuid) LIMIT p_limit
    );
    IF v_users = '{}' THEN
      RETURN;
    END IF;
    batch := nextval('sync.event_batch');
    IF batch <= p_above THEN
      batch := setval('sync.event_batch', p_above + 1);
    END IF;
    RETURN QUERY
    WITH taken AS (
      DELETE FROM sync.events e USING sync.user_clock c
      WHERE e.user_id = ANY (v_users) AND c.user_id = ANY (v_users) AND c.user_id = e.user_id
      RETURNING e.user_id, c.stamp, e.kinds
    )
    SELECT batch, t.user_id, max(t.stamp)::timestamptz, bit_or(t.kinds)::integer
    FROM taken t GROUP BY t.user_id;
  END $$;
`;
