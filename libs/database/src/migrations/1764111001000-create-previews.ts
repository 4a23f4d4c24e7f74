import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Creates the requests of users who look at a feed before they subscribe. */
export class CreatePreviews1764111001000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- A few rows, for seconds. Without a user.
      CREATE TABLE feed.previews (
        id uuid NOT NULL,
        url text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        is_claimed boolean NOT NULL DEFAULT false,
        -- The answer as JSON.
        result text,
        CONSTRAINT previews_pkey PRIMARY KEY (id)
      );
      GRANT SELECT, INSERT, UPDATE, DELETE ON feed.previews TO podcast_sync_feed_group;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE feed.previews');
  }
}
