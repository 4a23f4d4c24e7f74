import { describe, expect, it } from 'vitest';
import {
  addsConstraintsTogether,
  callsAlone,
  catalogRules,
  faultsOf,
  needsOneNode,
} from './cluster.rules.js';

describe('a violation is found:', () => {
  it.each([
    ['EXISTS without columns', 'SELECT EXISTS (SELECT FROM sync.events e WHERE e.user_id = $1)'],
    ['PERFORM without columns', 'PERFORM FROM sync.user_clock c WHERE c.user_id = p_user'],
    [
      'the time in COALESCE of a write',
      'UPDATE sync.readers r SET used = coalesce($2, clock_timestamp()) WHERE r.user_id = $1',
    ],
    [
      'the time in CASE of a write',
      'UPDATE sync.readers r SET used = CASE WHEN $2 THEN now() ELSE used END WHERE r.user_id = $1',
    ],
    [
      'a stable function of a column in SET',
      `UPDATE sync.user_clock c SET stamp = c.stamp + interval '1 ms' WHERE c.user_id = $1`,
    ],
    [
      'a volatile function in SET',
      'UPDATE sync.user_clock c SET stamp = clock_timestamp() WHERE c.user_id = $1',
    ],
  ])('%s', (_, sql) => expect(faultsOf(sql)).not.toEqual([]));

  it.each([
    'SELECT e.user_id FROM sync.events e LIMIT 10 FOR UPDATE SKIP LOCKED',
    'DELETE FROM sync.events e USING (SELECT o.ctid FROM sync.events o) o WHERE e.ctid = o.ctid',
  ])('in a statement of all users: %s', (sql) => expect(needsOneNode(sql)).toBe(true));

  it.each([
    `SELECT sync.lock_clock($1), set_config('enable_bitmapscan', 'off', true)`,
    'WITH clock AS (SELECT sync.advance_clock($1) AS stamp) SELECT stamp FROM clock',
    'SELECT status FROM deletion.claim($1, $2) WHERE age > 1',
    'SELECT sync.lock_clock($1), sync.advance_clock($1)',
  ])('in a call of a function: %s', (sql) => expect(callsAlone(sql)).toBe(false));

  it.each([
    'ALTER TABLE episode.states ADD COLUMN a integer, ADD CONSTRAINT b CHECK (a > 0)',
    'ALTER TABLE a.b ADD CONSTRAINT c CHECK (d > 0), ADD CONSTRAINT e CHECK (f > 0)',
  ])('in a migration: %s', (sql) => expect(addsConstraintsTogether(sql)).toBe(true));
});

it('accepts SQL that a cluster can run', () => {
  expect(
    faultsOf(`
      UPDATE sync.user_clock c SET stamp = greatest(v_now, c.stamp) WHERE c.user_id = p_user;
      INSERT INTO sync.events (user_id, kinds) VALUES (p_user, 1);
      SELECT coalesce(max(c.stamp), 'epoch'), clock_timestamp() FROM sync.user_clock c`),
  ).toEqual([]);
  expect(callsAlone('SELECT status, age FROM deletion.claim_erasure($1)')).toBe(true);
  expect(
    addsConstraintsTogether(
      'ALTER TABLE a.b DROP COLUMN x; ALTER TABLE a.b ADD CONSTRAINT c CHECK (d > 0)',
    ),
  ).toBe(false);
  expect(Object.keys(catalogRules)).toHaveLength(7);
});
