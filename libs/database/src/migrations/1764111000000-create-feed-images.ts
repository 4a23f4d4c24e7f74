import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Creates the pictures of feeds, and makes those of fetched feeds due. */
export class CreateFeedImages1764111000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE feed.images (
        url_sha256 bytea NOT NULL,
        -- The name of the picture in answers. A new picture has a new one, so that caches keep it.
        id uuid NOT NULL,
        -- The URL at the publisher.
        source text NOT NULL,
        -- A WebP image of 256 x 256 pixels; null until the source was read.
        bytes bytea,
        -- When the source is read next. A started fetch postpones it.
        next_at timestamptz NOT NULL,
        -- The fetches since the last success.
        failures integer NOT NULL DEFAULT 0,
        CONSTRAINT images_pkey PRIMARY KEY (url_sha256),
        CONSTRAINT images_id UNIQUE (id),
        CONSTRAINT images_size CHECK (octet_length(bytes) <= 65536),
        CONSTRAINT images_feed_fkey FOREIGN KEY (url_sha256) REFERENCES feed.feeds (url_sha256)
          ON DELETE CASCADE
      );
      CREATE INDEX images_due ON feed.images (next_at);
      GRANT SELECT, INSERT, UPDATE, DELETE ON feed.images TO podcast_sync_feed_group;
      INSERT INTO feed.images (url_sha256, id, source, next_at)
        SELECT f.url_sha256, gen_random_uuid(), f.image_url, now() FROM feed.feeds f
        JOIN feed.fetches t ON t.url_sha256 = f.url_sha256
        WHERE f.image_url IS NOT NULL AND t.pushed_until < now();
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE feed.images');
  }
}
