import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Creates deletion records. */
export class CreateDeletion1763715603000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
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
      );
      CREATE UNIQUE INDEX deletions_one_pending ON deletion.deletions (user_id, subscription_id)
        WHERE status = 'PENDING';
      -- For the relays: the PENDING records of all users, and no others.
      CREATE INDEX deletions_due ON deletion.deletions (coalesce(sent_at, '-infinity'), id)
        WHERE status = 'PENDING';
      -- A record starts as PENDING, by the default of a column that a request can't set. An ended
      -- record can be deleted and not changed: there is no right to update, and the functions below
      -- find PENDING records only.
      GRANT SELECT, INSERT (user_id, subscription_id, requested, origin), DELETE
        ON deletion.deletions TO podcast_sync_deletion_group;
    `);
    for (const { signature, definition } of deletionFunctions)
      await runner.query(`
        CREATE FUNCTION ${signature} ${definition};
        REVOKE EXECUTE ON FUNCTION ${signature} FROM PUBLIC;
        GRANT EXECUTE ON FUNCTION ${signature} TO podcast_sync_deletion_group;
      `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ${deletionFunctions.map(({ signature }) => `DROP FUNCTION ${signature};`).join('\n      ')}
      DROP TABLE deletion.deletions;
      DROP SEQUENCE deletion.deletion_id;
      DROP SCHEMA deletion;
    `);
  }
}

const definer = 'LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp';

/** In this form, Postgres uses the key and never scans the index of PENDING records. */
const isPending = "d.status IS NOT DISTINCT FROM 'PENDING'";

/**
 * The functions that alone change a record (deletion.repository.ts, operator.repository.ts).
 * `PrepareDistribution1764100001000` replaces them.
 */
export const deletionFunctions = [
  {
    // Ends a record, removes the deletion from the row of its subscription and returns its age in
    // seconds. The age is never below 0, although the user's clock can be ahead of the database's.
    // p_kinds is the event for the outbox.
    signature: `deletion.end_pending(
      p_user uuid, p_id bigint, p_status text, p_cause text, p_kinds smallint
    )`,
    definition: `RETURNS TABLE (age double precision) ${definer} AS $$
      WITH ended AS (
        UPDATE deletion.deletions d
        SET status = p_status, cause = p_cause, finished = statement_timestamp()
        WHERE d.user_id = p_user AND d.id = p_id AND ${isPending}
        RETURNING d.id, d.subscription_id, d.requested
      ), freed AS (
        UPDATE subscription.subscriptions s SET deletion_id = NULL FROM ended e
        WHERE s.user_id = p_user AND s.id = e.subscription_id AND s.deletion_id = e.id
      ), announced AS (
        INSERT INTO sync.events (user_id, kinds)
        SELECT p_user, p_kinds FROM ended
        WHERE p_kinds <> 0::smallint
      )
      SELECT greatest(extract(epoch FROM clock_timestamp() - e.requested), 0)::double precision
      FROM ended e
    $$`,
  },
  {
    signature: 'deletion.count_attempt(p_user uuid, p_id bigint)',
    definition: `RETURNS TABLE (attempts integer) ${definer} AS $$
      UPDATE deletion.deletions d SET attempts = d.attempts + 1
      WHERE d.user_id = p_user AND d.id = p_id AND ${isPending} RETURNING d.attempts
    $$`,
  },
  {
    // Locks a record, with the right to update. "stands": its subscription has this deletion.
    signature: 'deletion.claim(p_user uuid, p_id bigint)',
    definition: `RETURNS TABLE (
        status text, subscription_id bigint, stands boolean, age double precision
      ) ${definer} AS $$
      SELECT d.status, d.subscription_id,
        coalesce(s.deleted IS NULL AND s.merged_into IS NULL AND s.deletion_id = d.id, false),
        greatest(extract(epoch FROM clock_timestamp() - d.requested), 0)::double precision
      FROM deletion.deletions d
      LEFT JOIN subscription.subscriptions s ON s.user_id = p_user AND s.id = d.subscription_id
      WHERE d.user_id = p_user AND d.id = p_id
      FOR UPDATE OF d
    $$`,
  },
  {
    // Claims records without sent_at, or with one older than p_resend_after_ms. A record without it
    // was never sent, or an operator requested a retry: it gets the number of a new job. Rows that
    // another relay has locked are skipped. The update finds its locked PENDING rows by the key:
    // the index of PENDING records would make it read all of them.
    signature: 'deletion.take(p_limit integer, p_resend_after_ms double precision)',
    definition: `RETURNS TABLE (
        user_id uuid, id bigint, send integer, fresh boolean, origin json
      ) ${definer} AS $$
      WITH due AS (
        SELECT d.user_id, d.id, d.sent_at IS NULL AS fresh FROM deletion.deletions d
        WHERE d.status = 'PENDING'
          AND coalesce(d.sent_at, '-infinity')
            < now() - p_resend_after_ms * interval '1 millisecond'
        ORDER BY coalesce(d.sent_at, '-infinity'), d.id LIMIT p_limit
        FOR UPDATE SKIP LOCKED
      )
      UPDATE deletion.deletions d SET sent_at = now(), send = d.send + due.fresh::integer
      FROM due WHERE d.user_id = due.user_id AND d.id = due.id
      RETURNING d.user_id, d.id, d.send, due.fresh, d.origin
    $$`,
  },
  {
    // Numbers new jobs for lost ones. A locked record is ending, so its job was not lost.
    signature: 'deletion.take_again(p_users uuid[], p_ids bigint[], p_sends integer[])',
    definition: `RETURNS TABLE (
        user_id uuid, id bigint, send integer, fresh boolean, origin json
      ) ${definer} AS $$
      WITH lost AS (
        SELECT d.user_id, d.id FROM deletion.deletions d
        JOIN unnest(p_users, p_ids, p_sends) s (user_id, id, send)
          ON d.user_id = s.user_id AND d.id = s.id
        WHERE d.send = s.send AND d.status = 'PENDING'
        FOR UPDATE OF d SKIP LOCKED
      )
      UPDATE deletion.deletions d SET send = d.send + 1
      FROM lost WHERE d.user_id = lost.user_id AND d.id = lost.id
      RETURNING d.user_id, d.id, d.send, true, d.origin
    $$`,
  },
  {
    // Makes a record due, for an operator, who only has its id.
    signature: 'deletion.make_due(p_id bigint)',
    definition: `RETURNS TABLE (id bigint) ${definer} AS $$
      UPDATE deletion.deletions d SET sent_at = NULL
      WHERE d.id = p_id AND d.status = 'PENDING' RETURNING d.id
    $$`,
  },
] as const;
