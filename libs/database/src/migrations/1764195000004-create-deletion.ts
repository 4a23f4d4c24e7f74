import type { MigrationInterface, QueryRunner } from 'typeorm';
import { deletionFunctions, erasureFunctions } from './deletion.sql.js';

/** Creates the tables of deletions, erasures and refused users. */
export class CreateDeletion1764195000004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE SCHEMA deletion;
      GRANT USAGE ON SCHEMA deletion TO podcast_sync_deletion_group;

      -- Returns a random id of up to 2^52, which is exact in JSON. From ids of a sequence, or of
      -- random(), a user could compute how many deletions other users requested. The last 13 digits
      -- of a UUID are random bits of a secure generator.
      CREATE FUNCTION deletion.new_id() RETURNS bigint
      LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
        SELECT 1 + ('x' || right(translate(gen_random_uuid()::text, '-', ''), 13))::bit(52)::bigint
      $$;

      CREATE TABLE deletion.deletions (
        user_id uuid NOT NULL,
        id bigint NOT NULL DEFAULT deletion.new_id(),
        subscription_id bigint NOT NULL,
        status text NOT NULL DEFAULT 'PENDING',
        requested timestamptz(3) NOT NULL,
        -- The number of the record's last job.
        job_number integer NOT NULL DEFAULT 0,
        sent_at timestamptz,
        attempts integer NOT NULL DEFAULT 0,
        finished timestamptz(3),
        cause text,
        origin json,
        CONSTRAINT deletions_pkey PRIMARY KEY (user_id, id),
        CONSTRAINT deletions_status CHECK (status IN ('PENDING', 'SUCCESS', 'FAILURE')),
        CONSTRAINT deletions_finished_when_final CHECK ((finished IS NULL) = (status = 'PENDING')),
        CONSTRAINT deletions_cause_of_failure CHECK ((cause IS NULL) = (status <> 'FAILURE'))
      );
      CREATE UNIQUE INDEX deletions_one_pending ON deletion.deletions (user_id, subscription_id)
        WHERE status = 'PENDING';
      -- Relays read the PENDING records of all users by this index.
      CREATE INDEX deletions_due ON deletion.deletions (coalesce(sent_at, '-infinity'), id)
        WHERE status = 'PENDING';
      -- The service cannot change final records: it has no privilege to insert or update, and the
      -- functions below change only PENDING records.
      GRANT SELECT, DELETE ON deletion.deletions TO podcast_sync_deletion_group;

      -- One record per user. After SUCCESS it keeps only the user's id and times, which no longer
      -- identify a person. Like the clock, it is kept permanently.
      CREATE TABLE deletion.erasures (
        user_id uuid NOT NULL,
        status text NOT NULL DEFAULT 'PENDING',
        requested timestamptz(3) NOT NULL,
        job_number integer NOT NULL DEFAULT 0,
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
        CONSTRAINT erasures_success_is_anonymous
          CHECK (status <> 'SUCCESS' OR (origin IS NULL AND removed = 0))
      );
      -- Relays read the PENDING erasures of all users by this index.
      CREATE INDEX erasures_due ON deletion.erasures (coalesce(sent_at, '-infinity'))
        WHERE status = 'PENDING';
      -- Only the functions below write erasures.
      GRANT SELECT ON deletion.erasures TO podcast_sync_deletion_group;
      GRANT DELETE ON episode.totals, subscription.totals TO podcast_sync_deletion_group;

      -- Called by the account app (EXECUTE is granted to podcast_sync_account_group). Refuses a
      -- user (p_refused 1), or admits the user again (NULL). It does not change the refusal of a
      -- user who is being erased or erased. Returns the stored value. It waits for a running write
      -- of the user, and the next write waits for the end of this transaction.
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
    `);
    await runner.query(deletionFunctions);
    await runner.query(erasureFunctions);
    await runner.query(`
      REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA deletion FROM PUBLIC;
      GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA deletion TO podcast_sync_deletion_group;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP SCHEMA deletion CASCADE;
      REVOKE DELETE ON episode.totals, subscription.totals FROM podcast_sync_deletion_group;
      DROP FUNCTION sync.refuse_user(uuid, smallint);
    `);
  }
}
