import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Creates the refusal of users, and the records of erasures. */
export class CreateErasure1763715605000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Published to the account app: refuses a user (1), or admits the user again (NULL). It never
      -- changes the refusal of an erasure. Returns the value, which holds until the end of the
      -- transaction: the lock waits for a running write of the user and delays the next one.
      CREATE FUNCTION sync.refuse_user(p_user uuid, p_refused smallint) RETURNS smallint
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
      DECLARE
        v_refused smallint;
      BEGIN
        IF p_refused <> 1 THEN
          RAISE EXCEPTION 'only an erasure sets %', p_refused;
        END IF;
        INSERT INTO sync.user_clock AS c (user_id, stamp, refused)
        VALUES (p_user, 'epoch', p_refused)
        ON CONFLICT (user_id) DO UPDATE
        SET refused = CASE WHEN c.refused > 1 THEN c.refused ELSE excluded.refused END
        RETURNING c.refused INTO v_refused;
        RETURN v_refused;
      END $$;
      REVOKE EXECUTE ON FUNCTION sync.refuse_user(uuid, smallint) FROM PUBLIC;
      GRANT EXECUTE ON FUNCTION sync.refuse_user(uuid, smallint) TO podcast_sync_account_group;

      -- One record per user. After SUCCESS it keeps only the user's id and times, which no longer
      -- identify a person. Like the clock, it is kept permanently.
      CREATE TABLE deletion.erasures (
        user_id uuid NOT NULL,
        status text NOT NULL DEFAULT 'PENDING',
        requested timestamptz(3) NOT NULL,
        send integer NOT NULL DEFAULT 0,
        sent_at timestamptz,
        -- Number of deleted rows so far, for operators.
        removed bigint NOT NULL DEFAULT 0,
        finished timestamptz(3),
        cause text,
        origin json,
        CONSTRAINT erasures_pkey PRIMARY KEY (user_id),
        CONSTRAINT erasures_status CHECK (status IN ('PENDING', 'SUCCESS', 'FAILURE')),
        CONSTRAINT erasures_finished_when_final CHECK ((finished IS NULL) = (status = 'PENDING')),
        CONSTRAINT erasures_cause_of_failure CHECK ((cause IS NULL) = (status <> 'FAILURE')),
        CONSTRAINT erasures_say_nothing
          CHECK (status <> 'SUCCESS' OR (origin IS NULL AND removed = 0))
      );
      -- For the relays: the PENDING records of all users.
      CREATE INDEX erasures_due ON deletion.erasures (coalesce(sent_at, '-infinity'))
        WHERE status = 'PENDING';
      -- Only the functions below write.
      GRANT SELECT ON deletion.erasures TO podcast_sync_deletion_group;
      GRANT DELETE ON episode.totals, subscription.totals TO podcast_sync_deletion_group;
    `);
    for (const { signature, definition } of erasureFunctions)
      await runner.query(`
        CREATE FUNCTION ${signature} ${definition};
        REVOKE EXECUTE ON FUNCTION ${signature} FROM PUBLIC;
        GRANT EXECUTE ON FUNCTION ${signature} TO podcast_sync_deletion_group;
      `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ${erasureFunctions.map(({ signature }) => `DROP FUNCTION ${signature};`).join('\n      ')}
      REVOKE DELETE ON episode.totals, subscription.totals FROM podcast_sync_deletion_group;
      DROP TABLE deletion.erasures;
      DROP FUNCTION sync.refuse_user(uuid, smallint);
    `);
  }
}

const definer = (language: 'sql' | 'plpgsql') =>
  `LANGUAGE ${language} SECURITY DEFINER SET search_path = pg_catalog, pg_temp`;
const taken = 'RETURNS TABLE (user_id uuid, send integer, fresh boolean, origin json)';

/**
 * The functions that alone write a record (erasure.repository.ts).
 * `PrepareDistribution1764100001000` replaces some of them.
 */
export const erasureFunctions = [
  {
    // Records an erasure and refuses the user: in the services by the clock, in the account app as
    // disabled. It locks the clock first, as all code that locks both does: a concurrently created
    // account is seen or refused. A repetition has no effect; a failed erasure starts again.
    signature: 'deletion.record_erasure(p_user uuid, p_origin json)',
    definition: `RETURNS text ${definer('plpgsql')} AS $$
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
      END $$`,
  },
  {
    signature: 'deletion.take_erasures(p_limit integer, p_resend_after_ms double precision)',
    definition: `${taken} ${definer('sql')} AS $$
      WITH due AS (
        SELECT e.user_id, e.sent_at IS NULL AS fresh FROM deletion.erasures e
        WHERE e.status = 'PENDING'
          AND coalesce(e.sent_at, '-infinity')
            < now() - p_resend_after_ms * interval '1 millisecond'
        ORDER BY coalesce(e.sent_at, '-infinity') LIMIT p_limit
        FOR UPDATE SKIP LOCKED
      )
      UPDATE deletion.erasures e SET sent_at = now(), send = e.send + due.fresh::integer
      FROM due WHERE e.user_id = due.user_id
      RETURNING e.user_id, e.send, due.fresh, e.origin
    $$`,
  },
  {
    signature: 'deletion.take_erasures_again(p_users uuid[], p_sends integer[])',
    definition: `${taken} ${definer('sql')} AS $$
      WITH lost AS (
        SELECT e.user_id FROM deletion.erasures e
        JOIN unnest(p_users, p_sends) s (user_id, send) ON e.user_id = s.user_id
        WHERE e.status IS NOT DISTINCT FROM 'PENDING' AND e.send = s.send
        FOR UPDATE OF e SKIP LOCKED
      )
      UPDATE deletion.erasures e SET send = e.send + 1 FROM lost WHERE e.user_id = lost.user_id
      RETURNING e.user_id, e.send, true, e.origin
    $$`,
  },
  {
    // Locks the user's clock and the record: only one worker erases a user at a time.
    signature: 'deletion.claim_erasure(p_user uuid)',
    definition: `RETURNS TABLE (status text, age double precision) ${definer('plpgsql')} AS $$
      BEGIN
        PERFORM FROM sync.user_clock c WHERE c.user_id = p_user FOR UPDATE;
        RETURN QUERY
        SELECT e.status,
          greatest(extract(epoch FROM clock_timestamp() - e.requested), 0)::double precision
          FROM deletion.erasures e WHERE e.user_id = p_user FOR UPDATE;
      END $$`,
  },
  {
    signature: 'deletion.count_erased(p_user uuid, p_rows bigint)',
    definition: `RETURNS void ${definer('sql')} AS $$
      UPDATE deletion.erasures e
      SET removed = e.removed + p_rows
      WHERE e.user_id = p_user AND e.status = 'PENDING'
    $$`,
  },
  {
    // Ends a record. After SUCCESS, it has only the user's id and the times of the erasure, and the
    // clock refuses the user permanently. p_kinds is the event for the outbox.
    signature: 'deletion.end_erasure(p_user uuid, p_status text, p_cause text, p_kinds smallint)',
    definition: `RETURNS boolean ${definer('plpgsql')} AS $$
      BEGIN
        UPDATE deletion.erasures e
        SET status = p_status, cause = p_cause, finished = clock_timestamp(),
          origin = CASE WHEN p_status = 'SUCCESS' THEN NULL ELSE e.origin END,
          removed = CASE WHEN p_status = 'SUCCESS' THEN 0 ELSE e.removed END
        WHERE e.user_id = p_user AND e.status = 'PENDING';
        IF NOT FOUND OR p_status <> 'SUCCESS' THEN
          RETURN FOUND;
        END IF;
        UPDATE sync.user_clock c
        SET refused = 3, answer_bytes = 0, told = 0, stamp = sync.next_stamp(c.stamp)
        WHERE c.user_id = p_user;
        IF p_kinds <> 0 THEN
          INSERT INTO sync.events (user_id, kinds) VALUES (p_user, p_kinds);
        END IF;
        RETURN true;
      END $$`,
  },
] as const;
