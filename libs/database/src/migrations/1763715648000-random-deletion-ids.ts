import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Replaces the sequence of deletion ids by random numbers below 2^52, which are exact in JSON. A
 * sequence for all users told each of them how many deletions the others requested.
 */
export class RandomDeletionIds1763715648000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      SET LOCAL lock_timeout = '2s';
      CREATE FUNCTION deletion.new_id() RETURNS bigint
      LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
        SELECT 1 + floor(random() * 4503599627370496)::bigint
      $$;
      REVOKE EXECUTE ON FUNCTION deletion.new_id() FROM PUBLIC;
      GRANT EXECUTE ON FUNCTION deletion.new_id() TO podcast_sync_deletion_group;
      ALTER TABLE deletion.deletions ALTER COLUMN id SET DEFAULT deletion.new_id();
      DROP SEQUENCE deletion.deletion_id;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE SEQUENCE deletion.deletion_id;
      GRANT USAGE ON SEQUENCE deletion.deletion_id TO podcast_sync_deletion_group;
      SELECT setval('deletion.deletion_id', max(d.id)) FROM deletion.deletions d
      HAVING max(d.id) IS NOT NULL;
      ALTER TABLE deletion.deletions ALTER COLUMN id SET DEFAULT nextval('deletion.deletion_id');
      DROP FUNCTION deletion.new_id();
    `);
  }
}
