import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Records the use of app passwords to the minute, which of them belong to podcast apps, and the one
 * that a device used last. Existing app passwords stay in the list of app passwords.
 */
export class RecordAppUse1764112000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      SET LOCAL lock_timeout = '2s';
      ALTER TABLE account.credentials
        ALTER COLUMN last_used_on TYPE timestamptz,
        ADD COLUMN is_app boolean NOT NULL DEFAULT false;
      ALTER TABLE account.credentials RENAME COLUMN last_used_on TO last_used_at;
      -- No foreign key: a device outlives its app password, and the id then matches none.
      ALTER TABLE account.devices ADD COLUMN credential_id uuid;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE account.devices DROP COLUMN credential_id;
      ALTER TABLE account.credentials RENAME COLUMN last_used_at TO last_used_on;
      ALTER TABLE account.credentials
        DROP COLUMN is_app,
        ALTER COLUMN last_used_on TYPE date;
    `);
  }
}
