import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Creates the notices that the account page shows. They go with their account. */
export class CreateNotices1763715647000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE account.notices (
        account_id uuid NOT NULL,
        id uuid NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        kind text NOT NULL,
        -- Name of a new app password.
        label text,
        address text NOT NULL,
        user_agent text NOT NULL,
        CONSTRAINT notices_pkey PRIMARY KEY (account_id, id),
        CONSTRAINT notices_kind CHECK (
          kind IN (
            'password', 'second_factor_off', 'recovery_codes', 'app_password', 'sign_in', 'email'
          )
        ),
        CONSTRAINT notices_account_fkey FOREIGN KEY (account_id)
          REFERENCES account.accounts (id) ON DELETE CASCADE
      );
      GRANT SELECT, INSERT, DELETE ON account.notices TO podcast_sync_account_group;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE account.notices');
  }
}
