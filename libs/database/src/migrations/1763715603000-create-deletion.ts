import type { MigrationInterface, QueryRunner } from 'typeorm';
import { partitioning } from '../partitions.js';

/** Deletion records. */
export class CreateDeletion1763715603000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const byUser = await partitioning(runner);
    await runner.query(`
      CREATE SCHEMA deletion;
      GRANT USAGE ON SCHEMA deletion TO podcast_sync_deletion_group;

      CREATE SEQUENCE deletion.deletion_id;
      GRANT USAGE ON SEQUENCE deletion.deletion_id TO podcast_sync_deletion_group;

      CREATE TABLE deletion.deletions (
        user_id uuid NOT NULL,
        id bigint NOT NULL DEFAULT nextval('deletion.deletion_id'),
        subscription_id bigint NOT NULL,
        status text NOT NULL DEFAULT 'PENDING',
        requested timestamptz(3) NOT NULL,
        send integer NOT NULL DEFAULT 0,
        sent_at timestamptz,
        attempts integer NOT NULL DEFAULT 0,
        finished timestamptz(3),
        cause text,
        origin json,
        CONSTRAINT deletions_pkey PRIMARY KEY (user_id, id),
        CONSTRAINT deletions_status CHECK (status IN ('PENDING', 'SUCCESS', 'FAILURE')),
        CONSTRAINT deletions_finished_when_final CHECK ((finished IS NULL) = (status = 'PENDING')),
        CONSTRAINT deletions_cause_of_failure CHECK ((cause IS NULL) = (status <> 'FAILURE'))
      ) ${byUser('deletion.deletions')};
      CREATE UNIQUE INDEX deletions_one_pending ON deletion.deletions (user_id, subscription_id) WHERE status = 'PENDING';
      -- What the relays look for, of all users; as small as what is PENDING, whatever has ended.
      CREATE INDEX deletions_due ON deletion.deletions (coalesce(sent_at, '-infinity'), id) WHERE status = 'PENDING';
      GRANT SELECT, INSERT, UPDATE, DELETE ON deletion.deletions TO podcast_sync_deletion_group;

      -- The same transitions as in the worker's deletion.rule: a record starts as PENDING, and a final state stays.
      CREATE FUNCTION deletion.start_pending() RETURNS trigger
      LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'a deletion can not start as %', NEW.status USING ERRCODE = 'integrity_constraint_violation';
      END $$;
      CREATE TRIGGER deletions_start_pending BEFORE INSERT ON deletion.deletions
        FOR EACH ROW WHEN (NEW.status <> 'PENDING') EXECUTE FUNCTION deletion.start_pending();

      CREATE FUNCTION deletion.keep_final() RETURNS trigger
      LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'deletion % ended in %', OLD.id, OLD.status USING ERRCODE = 'integrity_constraint_violation';
      END $$;
      CREATE TRIGGER deletions_keep_final BEFORE UPDATE ON deletion.deletions
        FOR EACH ROW WHEN (OLD.status <> 'PENDING') EXECUTE FUNCTION deletion.keep_final();
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE deletion.deletions;
      DROP FUNCTION deletion.keep_final();
      DROP FUNCTION deletion.start_pending();
      DROP SEQUENCE deletion.deletion_id;
      DROP SCHEMA deletion;
    `);
  }
}
