import { expect, it } from 'vitest';
import { isOfOneUser } from './user-restriction.js';

const of = (sql: string) => isOfOneUser(sql, '$1');

it.each([
  'SELECT 1',
  'SELECT FROM sync.request WHERE user_id = $1',
  `SELECT FROM episode.episodes e
   JOIN episode.states s ON s.user_id = $1 AND s.id = e.id WHERE e.user_id = $1`,
  `INSERT INTO episode.totals AS t (user_id, episodes) VALUES ($1, $2)
   ON CONFLICT (user_id) DO NOTHING`,
  `INSERT INTO episode.states (user_id, id)
   SELECT $1, id FROM json_populate_recordset(NULL::episode.states, $2)`,
  'SELECT name FROM sync.migrations',
])('accepts SQL that compares the user_id of each table with the user: %s', (sql) =>
  expect(of(sql)).toBe(true),
);

it.each([
  'SELECT FROM sync.request',
  'SELECT FROM sync.request WHERE user_id = $10',
  'DELETE FROM sync.answer a USING sync.request r WHERE a.user_id = r.user_id',
  'SELECT FROM episode.episodes e, episode.states s WHERE e.user_id = $1 AND s.id = e.id',
  `SELECT FROM episode.episodes e
   JOIN episode.states s ON s.user_id = e.user_id AND s.id = e.id WHERE e.user_id = $1`,
  `SELECT FROM episode.episodes e JOIN episode.states s ON s.id = e.id
   WHERE e.user_id = $1 AND e.user_id = $1`,
  'SELECT FROM sync.request r WHERE user_id = $1',
  'UPDATE episode.states SET id = 1 WHERE id = $1',
  'INSERT INTO episode.states (user_id, id) SELECT $2, $1',
])('rejects SQL without this comparison: %s', (sql) => expect(of(sql)).toBe(false));
