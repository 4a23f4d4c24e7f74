import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the times by which `since` selects feeds, and those of feeds that a platform pushes. */
export class PushFeeds1764102000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      SET LOCAL lock_timeout = '2s';
      ALTER TABLE feed.feeds
        -- When the status or the content last changed.
        ADD COLUMN changed timestamptz(3) NOT NULL DEFAULT now();
      ALTER TABLE feed.fetches
        -- Until when a pushed feed is not fetched.
        ADD COLUMN pushed_until timestamptz NOT NULL DEFAULT '-infinity';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE feed.fetches DROP COLUMN pushed_until;
      ALTER TABLE feed.feeds DROP COLUMN changed;
    `);
  }
}
