import { describe, expect, it } from 'vitest';
import {
  addsConstraintsTogether,
  callsAlone,
  catalogRules,
  faultsOf,
  needsCoordinator,
  needsOneNode,
  unboundStatements,
} from './citus.rules.js';

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
    [
      'a volatile function in WHERE',
      'DELETE FROM sync.request r WHERE r.user_id = $1 AND r.created_at < clock_timestamp()',
    ],
    [
      'a stable function of a column in WHERE',
      `DELETE FROM sync.request r WHERE r.user_id = $1 AND r.created_at + interval '1 h' < now()`,
    ],
    [
      'the time in COALESCE, next to another function',
      'UPDATE sync.readers r SET used = coalesce(greatest($2, $3), now()) WHERE r.user_id = $1',
    ],
    [
      'the time in DO UPDATE',
      `INSERT INTO sync.readers (user_id, list) VALUES ($1, 1)
       ON CONFLICT (user_id, list) DO UPDATE SET used = now()`,
    ],
    ['the time in RETURNING', 'DELETE FROM sync.events e WHERE e.user_id = $1 RETURNING now()'],
    [
      'an INSERT together with a DELETE',
      `WITH deleted AS (DELETE FROM episode.states s WHERE s.user_id = $1 RETURNING s.id)
       INSERT INTO sync.events (user_id, kinds) SELECT $1, 2 FROM deleted`,
    ],
  ])('%s', (_, sql) => expect(faultsOf(sql)).not.toEqual([]));

  it.each([
    'SELECT e.user_id FROM sync.events e LIMIT 10 FOR UPDATE SKIP LOCKED',
    'DELETE FROM sync.events e USING (SELECT o.ctid FROM sync.events o) o WHERE e.ctid = o.ctid',
  ])('in a statement of all users: %s', (sql) => expect(needsOneNode(sql)).toBe(true));

  it.each([
    ['rows of all users', `UPDATE deletion.deletions d SET sent_at = NULL WHERE d.id = p_id`],
    [
      'one table without its users',
      `DELETE FROM sync.events e USING sync.user_clock c
      WHERE e.user_id = ANY (v_users) AND c.user_id = e.user_id`,
    ],
    [
      'locks of several users',
      `PERFORM 1 FROM deletion.erasures e
      WHERE e.user_id = ANY (v_users) FOR UPDATE SKIP LOCKED`,
    ],
  ])('in a function for all users: %s', (_, sql) =>
    expect(unboundStatements(`${sql}; RETURN`)).toEqual([sql]),
  );

  it.each([
    'INSERT INTO feed.touched (url) VALUES ($1)',
    'SELECT k.episodes FROM unnest($1) s (key) JOIN feed.newest_episodes k ON k.key = s.key',
    'UPDATE account.accounts a SET disabled_at = $2 WHERE a.id = $1',
  ])('in a statement that any node can run: %s', (sql) => expect(needsCoordinator(sql)).toBe(true));

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

it('accepts SQL that Citus can run', () => {
  expect(
    faultsOf(`
      UPDATE sync.user_clock c SET stamp = greatest(v_now, c.stamp) WHERE c.user_id = p_user;
      INSERT INTO sync.events (user_id, kinds) VALUES (p_user, 1);
      SELECT coalesce(max(c.stamp), 'epoch'), clock_timestamp() FROM sync.user_clock c`),
  ).toEqual([]);
  expect(callsAlone('SELECT status, age FROM deletion.claim_erasure($1)')).toBe(true);
  expect(needsCoordinator('SELECT e.id FROM episode.episodes e WHERE e.user_id = $1')).toBe(false);
  expect(
    unboundStatements(`
      PERFORM 1 FROM deletion.erasures e WHERE e.user_id = v_due.user_id FOR UPDATE SKIP LOCKED;
      DELETE FROM sync.events e USING sync.user_clock c
      WHERE e.user_id = ANY (v_users) AND c.user_id = ANY (v_users) AND c.user_id = e.user_id`),
  ).toEqual([]);
  expect(
    addsConstraintsTogether(
      'ALTER TABLE a.b DROP COLUMN x; ALTER TABLE a.b ADD CONSTRAINT c CHECK (d > 0)',
    ),
  ).toBe(false);
  expect(Object.keys(catalogRules)).toHaveLength(7);
});
