// SQL functions for plain Postgres and for Citus, which distributes the rows by user_id. Each
// statement has one user_id, so Citus routes the statement to one node. Exceptions: claim_due and
// claim_due_erasures first find records by sync.read_reachable, and make_due searches all users.

import { declareNowSql, nextStampSql } from './clock.sql.js';

const functionOptions = 'LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp';

/** SQL condition `status = 'PENDING'`, in a form that cannot use the partial index of PENDING. */
const isPending = "d.status IS NOT DISTINCT FROM 'PENDING'";

/**
 * SQL of the functions that insert and update the records of deletions, because services have no
 * privilege to INSERT or UPDATE. deletion.repository.ts, due.repository.ts and
 * operator.repository.ts call the functions. claim_due reads the due records of all users, and then
 * claims each record separately, because Citus accepts SKIP LOCKED only in statements about one
 * user.
 */
export const deletionFunctions = `
  -- Adds a PENDING record and returns its id. It is a function, because on Citus an INSERT also
  -- sends column defaults, and would need the privilege to set the status.
  CREATE FUNCTION deletion.add_pending(
    p_user uuid, p_subscription bigint, p_requested timestamptz, p_origin json
  ) RETURNS bigint
  ${functionOptions} AS $$
  DECLARE
    v_id bigint;
  BEGIN
    INSERT INTO deletion.deletions (user_id, subscription_id, requested, origin)
    VALUES (p_user, p_subscription, p_requested, p_origin) RETURNING id INTO v_id;
    RETURN v_id;
  END $$;

  -- Ends a PENDING record, clears the reference to it in the row of its subscription, and returns
  -- the seconds since the request. They are never below 0, although the user's clock can be ahead
  -- of the time of the database. p_kinds are the kinds of the event as bits; 0 adds no event.
  CREATE FUNCTION deletion.end_pending(
    p_user uuid, p_id bigint, p_status text, p_cause text, p_kinds smallint
  ) RETURNS TABLE (age double precision)
  ${functionOptions} AS $$
  DECLARE
    v_subscription bigint;
    v_requested timestamptz;
  BEGIN
    UPDATE deletion.deletions d
    SET status = p_status, cause = p_cause, finished = statement_timestamp()
    WHERE d.user_id = p_user AND d.id = p_id AND ${isPending}
    RETURNING d.subscription_id, d.requested INTO v_subscription, v_requested;
    IF NOT FOUND THEN
      RETURN;
    END IF;
    UPDATE subscription.subscriptions s SET deletion_id = NULL
    WHERE s.user_id = p_user AND s.id = v_subscription AND s.deletion_id = p_id;
    IF p_kinds <> 0 THEN
      INSERT INTO sync.events (user_id, kinds) VALUES (p_user, p_kinds);
    END IF;
    age := greatest(extract(epoch FROM clock_timestamp() - v_requested), 0);
    RETURN NEXT;
  END $$;

  -- Counts an attempt with a transient fault. Returns no row for a final record.
  CREATE FUNCTION deletion.count_attempt(p_user uuid, p_id bigint)
  RETURNS TABLE (attempts integer)
  ${functionOptions} AS $$
  BEGIN
    RETURN QUERY UPDATE deletion.deletions d SET attempts = d.attempts + 1
    WHERE d.user_id = p_user AND d.id = p_id AND ${isPending} RETURNING d.attempts;
  END $$;

  -- Locks and reads a record. SECURITY DEFINER, because FOR UPDATE needs the UPDATE privilege.
  -- is_current is true if the subscription is live, not merged, and refers to this deletion. age
  -- is in seconds since the request.
  CREATE FUNCTION deletion.claim(p_user uuid, p_id bigint)
  RETURNS TABLE (status text, subscription_id bigint, is_current boolean, age double precision)
  ${functionOptions} AS $$
  BEGIN
    RETURN QUERY
    SELECT d.status, d.subscription_id,
      coalesce(s.deleted IS NULL AND s.merged_into IS NULL AND s.deletion_id = d.id, false),
      greatest(extract(epoch FROM clock_timestamp() - d.requested), 0)::double precision
    FROM deletion.deletions d
    LEFT JOIN subscription.subscriptions s ON s.user_id = p_user AND s.id = d.subscription_id
    WHERE d.user_id = p_user AND d.id = p_id
    FOR UPDATE OF d;
  END $$;

  -- Claims up to p_limit PENDING records whose sent_at is NULL or older than p_resend_after_ms.
  -- With NULL, the record is new or was made due by an operator: it gets the next job number, and
  -- is_new is true. Rows that another relay or a cascade has locked are skipped.
  CREATE FUNCTION deletion.claim_due(p_limit integer, p_resend_after_ms double precision)
  RETURNS TABLE (user_id uuid, id bigint, job_number integer, is_new boolean, origin json)
  ${functionOptions} AS $$
  DECLARE
    v_due record;
  BEGIN
    FOR v_due IN
      SELECT * FROM json_to_recordset(sync.read_reachable('deletion.deletions', format($q$
        SELECT d.user_id, d.id, d.sent_at FROM %s d
        WHERE d.status = 'PENDING'
          AND coalesce(d.sent_at, '-infinity') < now() - %s * interval '1 millisecond'
        ORDER BY coalesce(d.sent_at, '-infinity'), d.id LIMIT %s
      $q$, '%s', p_resend_after_ms, p_limit))) d (user_id uuid, id bigint, sent_at timestamptz)
      LIMIT p_limit
    LOOP
      PERFORM 1 FROM deletion.deletions d
      WHERE d.user_id = v_due.user_id AND d.id = v_due.id AND ${isPending}
        AND d.sent_at IS NOT DISTINCT FROM v_due.sent_at
      FOR UPDATE SKIP LOCKED;
      CONTINUE WHEN NOT FOUND;
      is_new := v_due.sent_at IS NULL;
      UPDATE deletion.deletions d
      SET sent_at = now(), job_number = d.job_number + is_new::integer
      WHERE d.user_id = v_due.user_id AND d.id = v_due.id
      RETURNING d.user_id, d.id, d.job_number, d.origin INTO user_id, id, job_number, origin;
      RETURN NEXT;
    END LOOP;
  END $$;

  -- Assigns the next job number to PENDING records whose job was lost. Locked records are skipped:
  -- their job is running.
  CREATE FUNCTION deletion.renumber_lost_jobs(
    p_users uuid[], p_ids bigint[], p_job_numbers integer[]
  )
  RETURNS TABLE (user_id uuid, id bigint, job_number integer, is_new boolean, origin json)
  ${functionOptions} AS $$
  DECLARE
    v_lost record;
  BEGIN
    is_new := true;
    FOR v_lost IN SELECT * FROM unnest(p_users, p_ids, p_job_numbers) l (user_id, id, job_number)
    LOOP
      PERFORM 1 FROM deletion.deletions d
      WHERE d.user_id = v_lost.user_id AND d.id = v_lost.id
        AND d.job_number = v_lost.job_number AND ${isPending}
      FOR UPDATE SKIP LOCKED;
      CONTINUE WHEN NOT FOUND;
      UPDATE deletion.deletions d SET job_number = d.job_number + 1
      WHERE d.user_id = v_lost.user_id AND d.id = v_lost.id
      RETURNING d.user_id, d.id, d.job_number, d.origin INTO user_id, id, job_number, origin;
      RETURN NEXT;
    END LOOP;
  END $$;

  -- Makes a PENDING record due, for an operator, who does not know the user of the record.
  CREATE FUNCTION deletion.make_due(p_id bigint) RETURNS TABLE (id bigint)
  ${functionOptions} AS $$
  BEGIN
    RETURN QUERY UPDATE deletion.deletions d SET sent_at = NULL
    WHERE d.id = p_id AND d.status = 'PENDING' RETURNING d.id;
  END $$;
`;

/** SQL of the functions that write the records of erasures, because services have only SELECT. */
export const erasureFunctions = `
  -- Records an erasure and refuses the user: the clock gets refused = 2, the account is disabled.
  -- It locks the clock before the account, as all code that locks both does. So an account that is
  -- created concurrently is either disabled here or not admitted. A repetition has no effect, but
  -- an erasure in FAILURE becomes PENDING again. Returns the status.
  CREATE FUNCTION deletion.record_erasure(p_user uuid, p_origin json) RETURNS text
  ${functionOptions} AS $$
  BEGIN
    INSERT INTO sync.user_clock AS c (user_id, stamp, refused) VALUES (p_user, 'epoch', 2)
    ON CONFLICT (user_id) DO UPDATE SET refused = greatest(c.refused, excluded.refused);
    UPDATE account.accounts a
    SET disabled_at = coalesce(a.disabled_at, clock_timestamp()) WHERE a.id = p_user;
    INSERT INTO deletion.erasures AS e (user_id, requested, origin)
    VALUES (p_user, clock_timestamp(), p_origin)
    ON CONFLICT (user_id) DO UPDATE
    SET status = 'PENDING', requested = excluded.requested, sent_at = NULL,
      finished = NULL, cause = NULL, origin = excluded.origin
    WHERE e.status = 'FAILURE';
    RETURN (SELECT e.status FROM deletion.erasures e WHERE e.user_id = p_user);
  END $$;

  -- Locks the user's clock and the record: only one worker erases a user at a time.
  CREATE FUNCTION deletion.claim_erasure(p_user uuid)
  RETURNS TABLE (status text, age double precision)
  ${functionOptions} AS $$
  BEGIN
    PERFORM 1 FROM sync.user_clock c WHERE c.user_id = p_user FOR UPDATE;
    RETURN QUERY
    SELECT e.status,
      greatest(extract(epoch FROM clock_timestamp() - e.requested), 0)::double precision
      FROM deletion.erasures e WHERE e.user_id = p_user FOR UPDATE;
  END $$;

  -- Deletes up to p_limit markers of a user who is being erased, with their stored answers, in the
  -- order of their ids from p_first on. Returns their number and the last id. It is SECURITY
  -- DEFINER, because the markers belong to several services, and Citus accepts no policy with a
  -- subquery.
  CREATE FUNCTION deletion.erase_requests(p_user uuid, p_first uuid, p_limit integer)
  RETURNS TABLE (rows integer, last text)
  ${functionOptions} AS $$
  BEGIN
    RETURN QUERY
    WITH page AS MATERIALIZED (
      SELECT r.ctid AS place, r.request_id AS key FROM sync.request r
      WHERE r.user_id = p_user AND r.request_id >= p_first AND EXISTS (
        SELECT 1 FROM sync.user_clock c WHERE c.user_id = p_user AND c.refused = 2
      )
      ORDER BY r.request_id LIMIT p_limit
    ), deleted AS (
      DELETE FROM sync.request r
      WHERE r.user_id = p_user AND r.ctid = ANY (ARRAY(SELECT page.place FROM page))
    )
    SELECT count(*)::integer, (SELECT p.key::text FROM page p ORDER BY p.key DESC LIMIT 1)
    FROM page;
  END $$;

  -- Adds to the number of deleted rows in a PENDING record.
  CREATE FUNCTION deletion.add_removed_rows(p_user uuid, p_rows bigint) RETURNS void
  ${functionOptions} AS $$
  BEGIN
    UPDATE deletion.erasures e SET removed = e.removed + p_rows
    WHERE e.user_id = p_user AND e.status = 'PENDING';
  END $$;

  -- Ends a PENDING record and returns true; false if it is final. After SUCCESS, the record has
  -- only the user's id and the times of the erasure, and the clock refuses the user permanently.
  -- p_kinds are the kinds of the event as bits; 0 adds no event.
  CREATE FUNCTION deletion.end_erasure(
    p_user uuid, p_status text, p_cause text, p_kinds smallint
  ) RETURNS boolean
  ${functionOptions} AS $$
  DECLARE
    ${declareNowSql};
  BEGIN
    UPDATE deletion.erasures e
    SET status = p_status, cause = p_cause, finished = statement_timestamp(),
      origin = CASE WHEN p_status = 'SUCCESS' THEN NULL ELSE e.origin END,
      removed = CASE WHEN p_status = 'SUCCESS' THEN 0 ELSE e.removed END
    WHERE e.user_id = p_user AND e.status = 'PENDING';
    IF NOT FOUND OR p_status <> 'SUCCESS' THEN
      RETURN FOUND;
    END IF;
    UPDATE sync.user_clock c
    SET refused = 3, answer_bytes = 0, answered_second = 0, stamp = ${nextStampSql}
    WHERE c.user_id = p_user;
    IF p_kinds <> 0 THEN
      INSERT INTO sync.events (user_id, kinds) VALUES (p_user, p_kinds);
    END IF;
    RETURN true;
  END $$;

  -- Like deletion.claim_due, for erasures.
  CREATE FUNCTION deletion.claim_due_erasures(p_limit integer, p_resend_after_ms double precision)
  RETURNS TABLE (user_id uuid, job_number integer, is_new boolean, origin json)
  ${functionOptions} AS $$
  DECLARE
    v_due record;
  BEGIN
    FOR v_due IN
      SELECT * FROM json_to_recordset(sync.read_reachable('deletion.erasures', format($q$
        SELECT e.user_id, e.sent_at FROM %s e
        WHERE e.status = 'PENDING'
          AND coalesce(e.sent_at, '-infinity') < now() - %s * interval '1 millisecond'
        ORDER BY coalesce(e.sent_at, '-infinity') LIMIT %s
      $q$, '%s', p_resend_after_ms, p_limit))) e (user_id uuid, sent_at timestamptz)
      LIMIT p_limit
    LOOP
      PERFORM 1 FROM deletion.erasures e
      WHERE e.user_id = v_due.user_id AND e.status = 'PENDING'
        AND e.sent_at IS NOT DISTINCT FROM v_due.sent_at
      FOR UPDATE SKIP LOCKED;
      CONTINUE WHEN NOT FOUND;
      is_new := v_due.sent_at IS NULL;
      UPDATE deletion.erasures e
      SET sent_at = now(), job_number = e.job_number + is_new::integer
      WHERE e.user_id = v_due.user_id
      RETURNING e.user_id, e.job_number, e.origin INTO user_id, job_number, origin;
      RETURN NEXT;
    END LOOP;
  END $$;

  -- Like deletion.renumber_lost_jobs, for erasures.
  CREATE FUNCTION deletion.renumber_lost_erasure_jobs(
    p_users uuid[], p_job_numbers integer[]
  )
  RETURNS TABLE (user_id uuid, job_number integer, is_new boolean, origin json)
  ${functionOptions} AS $$
  DECLARE
    v_lost record;
  BEGIN
    is_new := true;
    FOR v_lost IN SELECT * FROM unnest(p_users, p_job_numbers) l (user_id, job_number) LOOP
      PERFORM 1 FROM deletion.erasures e
      WHERE e.user_id = v_lost.user_id AND e.job_number = v_lost.job_number
        AND e.status = 'PENDING'
      FOR UPDATE SKIP LOCKED;
      CONTINUE WHEN NOT FOUND;
      UPDATE deletion.erasures e SET job_number = e.job_number + 1
      WHERE e.user_id = v_lost.user_id
      RETURNING e.user_id, e.job_number, e.origin INTO user_id, job_number, origin;
      RETURN NEXT;
    END LOOP;
  END $$;
`;
