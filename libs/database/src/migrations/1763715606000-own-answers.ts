import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The groups of services that write markers and answers. */
const writers =
  'podcast_sync_subscription_group, podcast_sync_episode_group, podcast_sync_deletion_group';

/** Makes markers and stored answers rows of the service that wrote them (ADR 48). */
export class OwnAnswers1763715606000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      SET LOCAL lock_timeout = '2s';
      -- Existing rows do not name their writer. They live for an hour at most.
      TRUNCATE sync.request, sync.answer;

      -- Returns the number of the service of this login. The owner of the database can get any
      -- number, because row-level security does not apply to it.
      CREATE FUNCTION sync.writer() RETURNS smallint
      LANGUAGE sql STABLE PARALLEL SAFE AS $$
        SELECT CASE
          WHEN pg_has_role(to_regrole('podcast_sync_subscription_group'), 'MEMBER') THEN 1
          WHEN pg_has_role(to_regrole('podcast_sync_episode_group'), 'MEMBER') THEN 2
          WHEN pg_has_role(to_regrole('podcast_sync_deletion_group'), 'MEMBER') THEN 3
          ELSE 0
        END::smallint
      $$;
      ALTER TABLE sync.request ADD COLUMN writer smallint NOT NULL DEFAULT sync.writer();
      ALTER TABLE sync.answer ADD COLUMN writer smallint NOT NULL DEFAULT sync.writer();

      -- Whoever deletes a marker deletes its answer, also of another service.
      ALTER TABLE sync.answer ADD CONSTRAINT answer_request_fkey
        FOREIGN KEY (user_id, request_id) REFERENCES sync.request ON DELETE CASCADE;
      ALTER TABLE sync.answer ENABLE ROW LEVEL SECURITY;
      CREATE POLICY own ON sync.answer USING (writer = sync.writer());

      -- A marker has no data of the user. All services read it, to reject a key that was used for
      -- a request to another service.
      ALTER TABLE sync.request ENABLE ROW LEVEL SECURITY;
      CREATE POLICY all_read ON sync.request FOR SELECT USING (true);
      CREATE POLICY own_added ON sync.request FOR INSERT WITH CHECK (writer = sync.writer());
      CREATE POLICY own_deleted ON sync.request FOR DELETE USING (writer = sync.writer());
      -- By the sweep, and by a write that reuses the id.
      CREATE POLICY old_deleted ON sync.request FOR DELETE
        USING (created_at < now() - interval '1 hour');
      -- The sweep locks old rows first. No service changes one.
      CREATE POLICY old_locked ON sync.request FOR UPDATE
        USING (created_at < now() - interval '1 hour') WITH CHECK (false);
      -- By an erasure.
      CREATE POLICY erased_deleted ON sync.request FOR DELETE USING (
        sync.writer() = 3 AND EXISTS (
          SELECT FROM sync.user_clock c WHERE c.user_id = request.user_id AND c.refused = 2
        )
      );

      -- The limit of bytes is that of the user, so the oldest answers of all services go.
      ALTER FUNCTION sync.evict_answers(uuid, bigint, integer)
        SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
      REVOKE EXECUTE ON FUNCTION sync.evict_answers(uuid, bigint, integer) FROM PUBLIC;
      GRANT EXECUTE ON FUNCTION sync.evict_answers(uuid, bigint, integer) TO ${writers};
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      REVOKE EXECUTE ON FUNCTION sync.evict_answers(uuid, bigint, integer) FROM ${writers};
      GRANT EXECUTE ON FUNCTION sync.evict_answers(uuid, bigint, integer) TO PUBLIC;
      ALTER FUNCTION sync.evict_answers(uuid, bigint, integer) SECURITY INVOKER RESET search_path;
      DROP POLICY erased_deleted ON sync.request;
      DROP POLICY old_locked ON sync.request;
      DROP POLICY old_deleted ON sync.request;
      DROP POLICY own_deleted ON sync.request;
      DROP POLICY own_added ON sync.request;
      DROP POLICY all_read ON sync.request;
      ALTER TABLE sync.request DISABLE ROW LEVEL SECURITY;
      DROP POLICY own ON sync.answer;
      ALTER TABLE sync.answer DISABLE ROW LEVEL SECURITY;
      ALTER TABLE sync.answer DROP CONSTRAINT answer_request_fkey, DROP COLUMN writer;
      ALTER TABLE sync.request DROP COLUMN writer;
      DROP FUNCTION sync.writer();
    `);
  }
}
