import type { MigrationInterface, QueryRunner } from 'typeorm';
import { clockFunctions } from './1763715600000-create-sync.js';
import { deletionFunctions } from './1763715603000-create-deletion.js';
import { erasureFunctions } from './1763715605000-create-erasure.js';
import { comparable, ensureSubscriptionsSql } from './1764086400000-compare-urls.js';
import { countStates, matchSubscriptions } from './match.sql.js';
import { routedRecords, routedRelays } from './routed.deletion.sql.js';
import { routedClock, routedEvents } from './routed.sql.js';

/** The groups of services that write markers and answers. */
const writers =
  'podcast_sync_subscription_group, podcast_sync_episode_group, podcast_sync_deletion_group';

/** Tables with row ids, which services read as numbers of JavaScript. */
const tablesWithIds = ['subscription.subscriptions', 'episode.episodes'];

/** The columns that views publish: a cluster checks the rights of the reader of a view. */
const published = [
  [
    'user_id, id, guid, feed_url, is_subscribed, is_subscribed_at, deleted, deletion_id',
    'subscription.subscriptions',
    'podcast_sync_episode_group, podcast_sync_feed_group',
  ],
  ['changed, merged_into', 'subscription.subscriptions', 'podcast_sync_feed_group'],
  [
    'user_id, guid, subscription_id',
    'subscription.guids',
    'podcast_sync_episode_group, podcast_sync_feed_group',
  ],
  ['user_id, url_sha256, subscription_id', 'subscription.feed_urls', 'podcast_sync_episode_group'],
] as const;

/**
 * Gives the schema the form that a cluster by user runs as well (ADR 53). Plain Postgres runs the
 * same statements.
 */
export class PrepareDistribution1764100001000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`SET LOCAL lock_timeout = '2s'`);
    for (const table of tablesWithIds)
      await runner.query(`
        ALTER TABLE ${table} ADD CONSTRAINT ${nameOfCheck(table)} CHECK (id <= 9007199254740991)
      `);
    await runner.query(`
      -- The relay deletes by user, and a cluster moves only tables with a key.
      ALTER TABLE sync.events ADD COLUMN id uuid NOT NULL DEFAULT gen_random_uuid();
      ALTER TABLE sync.events ADD CONSTRAINT events_pkey PRIMARY KEY (user_id, id);
      -- An INSERT on a cluster names the columns with defaults as well.
      GRANT INSERT (answer_bytes, told) ON sync.user_clock TO ${writers};
      REVOKE INSERT (user_id, subscription_id, requested, origin)
        ON deletion.deletions FROM podcast_sync_deletion_group;
      DROP POLICY erased_deleted ON sync.request;
    `);
    for (const [columns, table, readers] of published)
      await runner.query(`GRANT SELECT (${columns}) ON ${table} TO ${readers}`);
    await runner.query(routedClock);
    await runner.query('DROP FUNCTION sync.next_stamp(timestamptz)');
    await runner.query(routedEvents);
    await runner.query(routedRecords);
    await runner.query(routedRelays);
    // In databases that were created before these functions had this form.
    await runner.query('DROP FUNCTION IF EXISTS episode.match_keys(episode.episodes, boolean)');
    for (const sql of [matchSubscriptions(comparable), countStates, ensureSubscriptionsSql])
      await runner.query(sql);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const { signature, definition } of [...deletionFunctions, ...erasureFunctions])
      await runner.query(`CREATE OR REPLACE FUNCTION ${signature} ${definition}`);
    await runner.query(clockFunctions);
    for (const [columns, table, readers] of published)
      await runner.query(`REVOKE SELECT (${columns}) ON ${table} FROM ${readers}`);
    await runner.query(`
      DROP FUNCTION deletion.erase_requests(uuid, uuid, integer);
      DROP FUNCTION deletion.add_pending(uuid, bigint, timestamptz, json);
      DROP FUNCTION sync.read_reachable(regclass, text);
      ALTER FUNCTION sync.evict_answers(uuid, bigint, integer)
        SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
      CREATE POLICY erased_deleted ON sync.request FOR DELETE USING (
        sync.writer() = 3 AND EXISTS (
          SELECT FROM sync.user_clock c WHERE c.user_id = request.user_id AND c.refused = 2
        )
      );
      GRANT INSERT (user_id, subscription_id, requested, origin)
        ON deletion.deletions TO podcast_sync_deletion_group;
      REVOKE INSERT (answer_bytes, told) ON sync.user_clock FROM ${writers};
      ALTER TABLE sync.events DROP CONSTRAINT events_pkey;
      ALTER TABLE sync.events DROP COLUMN id;
    `);
    for (const table of tablesWithIds)
      await runner.query(`ALTER TABLE ${table} DROP CONSTRAINT ${nameOfCheck(table)}`);
  }
}

/** Returns the name of the check that an id is exact as a number of JavaScript (2^53 - 1). */
function nameOfCheck(table: string): string {
  return `${table.split('.')[1] ?? ''}_id_is_exact`;
}
