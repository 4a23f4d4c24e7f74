import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Creates the sync state of clients of the gpodder API, so that their timestamps lose no rows. */
export class CreateReaders1763715600500 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Sync states of clients that read a list of the gpodder API (1 subscriptions, 2 episodes)
      -- with an app password, and the stamp up to which a session has all rows. Seconds since 1970,
      -- milliseconds for arrived and known. The rows of a user are limited; the least recently used
      -- are deleted.
      CREATE TABLE sync.readers (
        user_id uuid NOT NULL,
        credential_id uuid NOT NULL,
        list smallint NOT NULL,
        asked bigint NOT NULL,
        told bigint NOT NULL,
        safe bigint NOT NULL,
        arrived bigint NOT NULL,
        used timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT readers_pkey PRIMARY KEY (user_id, credential_id, list)
      ) WITH (fillfactor = 70);
      CREATE TABLE sync.reader_sessions (
        user_id uuid NOT NULL,
        session_id uuid NOT NULL,
        list smallint NOT NULL,
        known bigint NOT NULL,
        used timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT reader_sessions_pkey PRIMARY KEY (user_id, session_id, list)
      ) WITH (fillfactor = 70);
      GRANT SELECT, INSERT, UPDATE, DELETE ON sync.readers, sync.reader_sessions
        TO podcast_sync_subscription_group, podcast_sync_episode_group;
      -- For erasures.
      GRANT SELECT, DELETE ON sync.readers, sync.reader_sessions TO podcast_sync_deletion_group;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE sync.reader_sessions; DROP TABLE sync.readers');
  }
}
