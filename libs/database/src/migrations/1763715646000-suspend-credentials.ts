import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the suspension of app passwords by a reset of the password. */
export class SuspendCredentials1763715646000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      SET LOCAL lock_timeout = '2s';
      ALTER TABLE account.credentials ADD COLUMN suspended_at timestamptz;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE account.credentials DROP COLUMN suspended_at');
  }
}
