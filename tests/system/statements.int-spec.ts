import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { delegatedFunctions, type Statement } from '#database';
import { createDatabase, type TestDatabase } from '#testing';
import {
  callsAlone,
  faultsOf,
  needsCoordinator,
  needsOneNode,
} from '../../libs/database/testing/citus.rules.js';
import { isOfOneUser } from '../../libs/database/testing/user-restriction.js';
import { namedStatements } from './testing/named-statements.js';

/** Statements for no user or all users. docs/design/scaling.md describes each on Citus. */
const ofAllUsers = {
  'sync.select_migrations': 'reads the applied migrations',
  'sync.sweep_requests': 'deletes old rows of all users',
  'sync.find_old_markers': 'finds old rows of all users on Citus',
  'sync.delete_markers': 'deletes rows of the users that were found',
  'sync.take_events': 'a relay publishes the changes of all users',
  'sync.select_lag': 'reads the age of the oldest event, for metrics',
  'dump.select_users': 'lists users to dump',
  'dump.count_users': 'counts users to dump',
  'feed.select_followers': 'a task visits the followers of a feed',
  'deletion.claim_due': 'a relay claims due deletions of all users',
  'deletion.renumber_lost_jobs': 'assigns numbers; each record names its user',
  'deletion.claim_due_erasures': 'a relay claims due erasures of all users',
  'deletion.renumber_lost_erasure_jobs': 'assigns numbers; each record names its user',
  'deletion.select_pending_erasures': 'lists accounts with a pending erasure',
  'deletion.select_pending': 'counts pending deletions, for metrics',
  'deletion.select_oldest_pending': 'lists pending deletions for an operator',
  'deletion.select_latest_failed': 'lists failed deletions for an operator',
  'deletion.make_record_due': 'an operator has the id of a record, but not its user',
  'deletion.find_pending_record': 'an operator has the id of a record, but not its user',
  'deletion.find_record': 'an operator has the id of a record, but not its user',
};

/** Functions for one user that also change an account: Citus runs them on the coordinator. */
const undelegated = ['deletion.record_erasure'];

let named: Map<string, Statement>;
let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  [named, database] = await Promise.all([namedStatements(), createDatabase()]);
  client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

/** Statements that a node of a Citus cluster can run alone. */
describe('every statement except those for all users', () => {
  it('the list of exceptions contains only existing statements', () => {
    expect(Object.keys(ofAllUsers).filter((name) => !named.has(name))).toEqual([]);
  });

  const ofUsers = () => [...named.values()].filter(({ name }) => !(name in ofAllUsers));

  it('restricts each of its tables to user_id = $1', () => {
    expect(ofUsers().filter(({ text }) => !isOfOneUser(text, '$1'))).toEqual([]);
  });

  it('breaks no rule of Citus', () => {
    const broken = [...named.values()].map(({ name, text }) => [name, ...faultsOf(text)]);
    expect(broken.filter(({ length }) => length > 1)).toEqual([]);
    const ofAll = Object.keys(ofAllUsers).filter((name) => name !== 'sync.sweep_requests');
    expect(ofAll.filter((name) => needsOneNode(named.get(name)?.text ?? ''))).toEqual([]);
  });

  it('uses tables of the coordinator only in services that connect to it', () => {
    const onAnyNode = [...named.values()].filter(({ name }) =>
      /^(sync|subscription|episode)\./.test(name),
    );
    // episode.config.ts accepts several nodes only with FEEDS=off.
    expect(onAnyNode.filter(({ text }) => needsCoordinator(text)).map(({ name }) => name)).toEqual([
      'episode.select_feed_episodes',
      'episode.select_followed_episodes',
      'episode.insert_touched',
    ]);
  });

  it('calls a function that reads or writes tables for the same user', async () => {
    const { rows } = await client.query<{ name: string; forUser: boolean }>(
      `SELECT format('%s.%s', pronamespace::regnamespace, proname) AS name,
         proargnames[1] = 'p_user' AS "forUser" FROM pg_proc
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
    const others = calls.filter(
      ({ called, first }) => reading.has(called) && !(reading.get(called) && first === '$1'),
    );
    expect(others).toEqual([]);
    // Citus runs such a call on the node of the user if the function is delegated.
    const ofUser = calls.filter(({ called }) => reading.get(called));
    expect(ofUser.filter(({ name }) => !callsAlone(named.get(name)?.text ?? ''))).toEqual([]);
    const listed = [...delegatedFunctions, ...undelegated];
    expect(ofUser.filter(({ called }) => !listed.includes(called))).toEqual([]);
  });
});
