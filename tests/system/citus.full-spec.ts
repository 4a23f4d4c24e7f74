import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Statement } from '#database';
import { callsAlone } from '../../libs/database/testing/citus.rules.js';
import { tablesOfUsers } from '../../libs/database/testing/user-restriction.js';
import { namedStatements } from './testing/named-statements.js';

/**
 * The coordinator of a Citus cluster, with a database that `migrate` has distributed, as its owner.
 * The statements are rolled back.
 */
const url = process.env['CITUS_URL'];

/** SQLSTATEs that a statement raises after a node has run it: its values are wrong. */
const isOfValues = /^(22|23|P0001|PS401)/;
/** Commands of the cluster's own transactions. */
const isControl =
  /^issuing (BEGIN|SAVEPOINT|RELEASE|ROLLBACK|COMMIT|PREPARE TRANS|SET |SELECT assign_dist)/;

/** Returns a value of a type: the user, or one that matches no row. */
function valueOf(type: string, index: number, user: string): unknown {
  if (type === 'uuid') return index === 0 ? user : randomUUID();
  if (type.endsWith('[]')) return [valueOf(type.slice(0, -2), 1, user)];
  if (/^(bigint|integer|smallint|double precision|numeric)$/.test(type)) return 1;
  if (type.startsWith('timestamp')) return '2026-01-01T00:00:00Z';
  if (type === 'boolean') return true;
  if (type === 'bytea') return Buffer.alloc(32);
  if (type === 'json') return '[]';
  return type === 'jsonb' ? '{}' : '00';
}

let named: Map<string, Statement>;
let client: pg.Client;
let notices: { message: string; server: string | undefined }[] = [];

beforeAll(async () => {
  named = await namedStatements();
  client = new pg.Client({ connectionString: url });
  client.on('notice', ({ message = '', detail = '' }) =>
    notices.push({ message, server: /:(\d+)/.exec(detail)?.[1] }),
  );
  await client.connect();
  await client.query(
    `SET citus.log_remote_commands = on; SET client_min_messages = notice;
     SET plan_cache_mode = force_custom_plan`,
  );
});
afterAll(() => client?.end());

/** Runs a statement. @returns its error, and the number of nodes that it sent commands to. */
async function run({ name, text }: Statement, user: string) {
  await client.query(`PREPARE probe AS ${text}`);
  const { rows } = await client.query<{ types: string[] }>(
    `SELECT parameter_types::text[] AS types FROM pg_prepared_statements WHERE name = 'probe'`,
  );
  await client.query('DEALLOCATE probe; BEGIN');
  notices = [];
  let error = '';
  const values = (rows[0]?.types ?? []).map((type, index) => valueOf(type, index, user));
  try {
    await client.query({ text, values });
  } catch (fault) {
    const { code = '', message } = fault as pg.DatabaseError;
    if (!isOfValues.test(code)) error = `${name}: ${code} ${message}`;
  }
  const commands = notices.filter(
    ({ message }) => message.startsWith('issuing') && !isControl.test(message),
  );
  await client.query('ROLLBACK');
  return { error, nodes: new Set(commands.map(({ server }) => server)).size };
}

describe('on a Citus cluster (CITUS_URL)', () => {
  it(
    'every statement runs, and those about one user on one node',
    { timeout: 300_000 },
    async () => {
      const [faults, spread]: [string[], string[]] = [[], []];
      for (const statement of named.values()) {
        const { name, text } = statement;
        if (/^(BEGIN|COMMIT|ROLLBACK)$/.test(text)) continue;
        const { error, nodes } = await run(statement, randomUUID());
        if (error) faults.push(error);
        const isOfUser = /user_id = \$1\b/.test(text) || (callsAlone(text) && /\(\$1/.test(text));
        const usesRows = tablesOfUsers(text).length > 0 || callsAlone(text);
        if (isOfUser && usesRows && nodes > 1) spread.push(`${name}: ${nodes} nodes`);
      }
      expect({ faults, spread }).toEqual({ faults: [], spread: [] });
    },
  );

  it('relays take rows of users on several nodes', async () => {
    const users = Array.from({ length: 8 }, () => randomUUID());
    const idsOf = async (sql: string) =>
      (await client.query<{ id: string }>(sql)).rows.map(({ id }) => id);
    await client.query('BEGIN');
    try {
      for (const user of users) {
        await client.query('SELECT sync.lock_clock($1)', [user]);
        await client.query('INSERT INTO sync.events (user_id, kinds) VALUES ($1, 1)', [user]);
        await client.query(
          'INSERT INTO deletion.erasures (user_id, requested) VALUES ($1, now())',
          [user],
        );
        await client.query('SELECT deletion.add_pending($1, 1, now(), NULL)', [user]);
      }
      for (const relay of [
        'sync.take_events(100000, 0)',
        'deletion.claim_due(100000, 0)',
        'deletion.claim_due_erasures(100000, 0)',
      ])
        expect(await idsOf(`SELECT user_id AS id FROM ${relay}`)).toEqual(
          expect.arrayContaining(users),
        );
    } finally {
      await client.query('ROLLBACK');
    }
  });

  it('the catalog of the cluster has every table of users', async () => {
    const { rows } = await client.query<{ name: string }>(
      `SELECT c.oid::regclass::text AS name FROM pg_class c
       JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'user_id'
       WHERE c.relkind = 'r' AND c.relnamespace::regnamespace::text
         IN ('sync', 'subscription', 'episode', 'deletion')
         AND NOT EXISTS (SELECT 1 FROM pg_dist_partition p WHERE p.logicalrelid = c.oid)`,
    );
    expect(rows).toEqual([]);
  });
});
