import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { applyMigrations, createDataSource, type Statement } from '#database';
import { createDatabase, type TestDatabase } from '#testing';
import { phases } from '../../apps/deletion-worker/src/erasure/erasure.store.js';
import { isOfOneUser } from '../../libs/database/testing/one.user.js';
import { namedStatements } from './testing/named.statements.js';
import { planModes } from './testing/plan.js';

const partitions = 5;
const [guid, syncId, request] = [randomUUID(), randomUUID(), randomUUID()];
const at = '2025-01-01T00:00:00.000Z';
const url = 'https://podcast.example';

const subscription = (id: number) => ({
  id,
  guid: id === 1 ? guid : randomUUID(),
  feedUrl: `${url}/${id}`,
  isSubscribed: true,
  subscriptionChanged: at,
  subscribedAt: at,
  declaredGuids: 0,
  guidChanged: at,
  changed: at,
});
const episode = {
  id: 1,
  subscription_id: 1,
  sync_id: syncId,
  changed: at,
  publish_date: at,
  episode_guid: 'one',
  title: 'One',
  enclosure_url: `${url}/1.mp3`,
  episode_url: `${url}/1`,
  minute_forms: 0,
};
const entry = {
  podcastGuid: guid,
  episodeGuid: 'one',
  title: 'One',
  publishDate: at,
  enclosureUrl: `${url}/1.mp3`,
  episodeUrl: `${url}/1`,
};

const acted = { feedUrl: `${url}/1`, derivedGuid: guid, episodeGuid: 'one', enclosureUrl: `${url}/1.mp3` };

/** What each statement is run with; those that write make what the later ones are about. */
function valuesFor(user: string, deletion: number): Record<string, unknown[]> {
  const list = (name: string): Record<string, unknown[]> => ({
    [`${name}.forward`]: [user, '-infinity', 51, 0, 0, null],
    [`${name}.backward`]: [user, '-infinity', 51, 9, 0, null],
    [`${name}.changed`]: [user, '2024-01-01', 51, 0],
    [`${name}.changed_forward`]: [user, '2024-01-01', 51, 0, 1, 9],
    [`${name}.changed_backward`]: [user, '2024-01-01', 51, 9, 1, 9],
  });
  const made = [[subscription(1), subscription(2)], [[guid, 1, true, false]], [['00', 1]], [[1, randomUUID()]]];
  return {
    'sync.begin_write': [user, request, null, true, 1],
    'sync.announce': [user, 2],
    'sync.keep_answer': [user, request, at, '{}', 1_000],
    'sync.read_clock': [user],
    'sync.raise_clock': [user, at],
    'sync.lock_clock': [user],
    'sync.lock_positions': [user],
    'sync.advance_clock': [user],
    'sync.settle_clock': [user, 4_000_000_000],
    'sync.save_reader': [user, 1, guid, 1, 1, 1, 1],
    'sync.save_reader_session': [user, 1, guid, 1],
    'sync.read_positions': [user, 1, guid, guid],
    'sync.read_known': [user, 1, guid],
    'sync.make_room_for_reader': [user, 10],
    'sync.make_room_for_session': [user, 10],
    'subscription.save': [user, ...made.map((set) => JSON.stringify(set)), at],
    'subscription.save_rows': [user, JSON.stringify(made[0])],
    'subscription.load': [user, [guid], [Buffer.from('00', 'hex')], 1, 10, 10],
    'subscription.pointers': [user, [guid]],
    'subscription.absorb_names': [user, [2], [1], at],
    'subscription.absorb_states': [user, [2], [1], at, 10],
    'subscription.count_states': [user, [1, 2], 10],
    'subscription.count': [user, 1, 0, 0, 1, 1],
    'subscription.keep_urls': [user, JSON.stringify({ '00': `${url}/1` })],
    'subscription.flipped_feeds': [user, 0, 10, at, Buffer.alloc(0)],
    'subscription.subscribed_feeds': [user, 0, 10, at, Buffer.alloc(0)],
    'subscription.count_feeds': [user],
    'subscription.first_guids': [user, [1]],
    'subscription.has_others': [user, [1]],
    'subscription.has_other_urls': [user, [1], [Buffer.from('00', 'hex')]],
    'subscription.unsubscribe_others': [user, [1, 2], at, at],
    'subscription.decodable_urls': [user, [Buffer.from('00', 'hex')], 10],
    'subscription.by_guid': [user, guid],
    ...list('subscription.list'),
    'episode.add': [user, JSON.stringify([episode])],
    'episode.describe': [user, JSON.stringify({ [syncId]: episode }), [syncId]],
    'episode.settle': [user, JSON.stringify({ 1: episode }), [1]],
    'episode.add_aliases': [user, JSON.stringify([[randomUUID(), 1]])],
    'episode.make_way': [user, [7], [1], [randomUUID()]],
    'episode.load_known': [user, JSON.stringify([{ ...entry, syncId }]), 10, 10],
    'episode.probe': [user, JSON.stringify([entry]), 1, 10, 10],
    'episode.load': [user, JSON.stringify([{ ...entry, entry: 0, syncId }]), 1, 10, 10],
    'episode.count': [user, 1, 1],
    ...list('episode.list'),
    'episode.load_acted': [user, JSON.stringify([acted]), JSON.stringify([{ ...acted, entry: 0 }]), 10, 10],
    'episode.list_acted': [user, 0, 0, 10],
    'episode.list_acted_changed': [user, 1, 0, 10],
    'episode.list_acted_favorites': [user, 0, 0, 10],
    'episode.list_acted_of_feed': [user, 0, 0, 10, `${url}/1`, guid, false],
    'episode.list_acted_of_enclosure': [user, 0, 0, 10, `${url}/1`, guid, false, `${url}/1.mp3`],
    'deletion.find': [user, guid],
    'deletion.insert': [user, 1, at, '{}'],
    'deletion.mark': [user, 1, deletion, at],
    'deletion.find_requested': [user, guid, at],
    'deletion.read': [user, deletion],
    'deletion.list': [user, 0, 10],
    'deletion.claim': [user, deletion],
    'deletion.count_attempt': [user, deletion],
    'deletion.end': [user, deletion, 'FAILURE', 'cause', 4],
    'deletion.cascade': [user, 1, 3, 1],
    'deletion.forget_tombstones': [user, 0],
    'deletion.forget_records': [user, 0],
    'deletion.record_erasure': [user, '{}'],
    'deletion.read_erasure': [user],
    'deletion.claim_erasure': [user],
    ...Object.fromEntries(phases.map(({ statement, first }) => [statement.name, [user, first, 10]])),
    'deletion.erase_totals': [user],
    'deletion.erase_account': [user, 10],
    'deletion.count_erased': [user, 1],
    'deletion.end_erasure': [user, 'SUCCESS', null, 8],
    'dump.user': [user],
    'dump.subscriptions': [user, 0, 10],
    'dump.episodes': [user, 0, 10, 10],
    'dump.further_sync_ids': [user, 1, request, 10],
    'dump.former_urls': [user, [1, 2], 0, '00', 10],
  };
}
/** Those that are about no user, or about all; what each does on a cluster is in docs/scaling.md. */
const ofAllUsers = {
  'sync.applied_migrations': 'which migrations the database has',
  'sync.sweep_requests': 'removes what is old, whoever it is of',
  'sync.take_events': 'a relay announces whatever has changed',
  'sync.events_lag': 'how long the oldest of all waits, for metrics',
  'dump.users': 'finds out whom there is to dump',
  'dump.count_users': 'says how many that are',
  'deletion.take': 'a relay takes what is due, whoever it is of',
  'deletion.take_again': 'names the user of each record beside its id',
  'deletion.take_erasures': 'a relay takes what is due, whoever it is of',
  'deletion.take_erasures_again': 'names the user of each record',
  'deletion.pending': 'counts what waits, for metrics',
  'deletion.list_pending': 'shows an operator what waits',
  'deletion.list_failed': 'shows an operator what failed',
  'deletion.retry': 'an operator knows the id of a record and not whose it is',
  'deletion.find_pending': 'an operator knows the id of a record and not whose it is',
  'deletion.find_by_id': 'an operator knows the id of a record and not whose it is',
};

/** Those of the schema of accounts, which is not split by user (docs/scaling.md). */
const tablesOfAccounts = [
  'accounts',
  'credentials',
  'devices',
  'gpodder_sessions',
  'links',
  'logins',
  'oidc',
  'recovery_codes',
  'sessions',
  'settings',
];

let named: Map<string, Statement>;
let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  named = await namedStatements();
  database = await createDatabase();
  const dataSource = await createDataSource({ url: database.ownerUrl }).initialize();
  for (const _ of dataSource.migrations) await dataSource.undoLastMigration();
  const runner = dataSource.createQueryRunner();
  await applyMigrations(runner, partitions);
  await runner.release();
  await dataSource.destroy();
  client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

/** Runs a statement. @returns the tables and partitions that it, and what it called, read or wrote. */
async function touchedBy({ name, text }: Statement, values: unknown[], mode: string): Promise<string[]> {
  // So that nothing is counted that was before.
  await client.query('SELECT pg_stat_force_next_flush()');
  await client.query(`BEGIN; SET LOCAL plan_cache_mode = ${mode}`);
  await client.query({ name, text, values });
  const { rows } = await client.query<{ relname: string }>(
    `SELECT relname FROM pg_stat_xact_user_tables
     WHERE coalesce(seq_scan, 0) + coalesce(idx_scan, 0) + n_tup_ins + n_tup_upd + n_tup_del > 0`,
  );
  await client.query('COMMIT');
  return rows.map(({ relname }) => relname);
}

/** The number of the partitions in which a user's rows are. */
async function partitionOf(user: string): Promise<string> {
  const insert = `INSERT INTO sync.user_clock VALUES ($1, 'epoch') RETURNING tableoid::regclass::text AS name`;
  const { rows } = await client.query<{ name: string }>(insert, [user]);
  return (rows[0] as { name: string }).name.split('_').at(-1) as string;
}

describe('on a database that is partitioned by user', () => {
  it.each(planModes)('every statement about a user goes to the partitions of that user alone: %s', async (mode) => {
    const user = randomUUID();
    const own = await partitionOf(user);
    const values = valuesFor(user, planModes.indexOf(mode) + 1);
    expect([...named.keys()].toSorted()).toEqual([...Object.keys(values), ...Object.keys(ofAllUsers)].toSorted());
    for (const [name, some] of Object.entries(values)) {
      const tables = await touchedBy(named.get(name) as Statement, some, mode);
      const others = tables.filter((table) => !table.endsWith(`_${own}`) && !tablesOfAccounts.includes(table));
      expect({ name, others, any: tables.length > 0 }).toEqual({ name, others: [], any: true });
    }
  });
});

/** What a node of a cluster can be asked without asking the others. */
describe('every statement but those of all users', () => {
  const ofUsers = () => [...named.values()].filter(({ name }) => !(name in ofAllUsers));

  it('says of each table that it names whose rows it means: user_id = $1', () => {
    expect(ofUsers().filter(({ text }) => !isOfOneUser(text, '$1'))).toEqual([]);
  });

  it('calls a function that reads or writes tables for the same user', async () => {
    const { rows } = await client.query<{ name: string; forUser: boolean }>(
      `SELECT format('%s.%s', pronamespace::regnamespace, proname) AS name, proargnames[1] = 'p_user' AS "forUser" FROM pg_proc
       WHERE provolatile <> 'i' AND pronamespace::regnamespace::text = ANY ($1)`,
      [['sync', 'subscription', 'episode', 'deletion']],
    );
    const reading = new Map(rows.map(({ name, forUser }) => [name, forUser]));
    expect(reading.get('sync.begin_write')).toBe(true);
    const calls = ofUsers().flatMap(({ name, text }) =>
      [...text.matchAll(/(?<!')\b((?:sync|subscription|episode|deletion)\.\w+)\(([^,)]*)/g)].map(
        ([, called = '', first]) => ({ name, called, first }),
      ),
    );
    const others = calls.filter(({ called, first }) => reading.has(called) && !(reading.get(called) && first === '$1'));
    expect(others).toEqual([]);
  });
});
