import { callProgram, eventually, freshUser, SharedStack } from '#testing';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { podcastSync } from '../../../cli/src/podcast-sync.js';

let stack: SharedStack;
let owner: pg.Client;

beforeAll(async () => {
  stack = await SharedStack.open();
  owner = new pg.Client({ connectionString: stack.postgres.url });
  await owner.connect();
});
afterAll(() => owner.end());

const accounts = (...args: string[]) =>
  callProgram(podcastSync, ['accounts', ...args], stack.variables('account'));

it('accounts erase: deletes all data of the account and frees its name', async () => {
  const name = `ann-${freshUser()}`;
  await accounts('create', name);
  await accounts('reset', name);
  const { rows } = await owner.query<{ id: string }>(
    'SELECT id FROM account.accounts WHERE name = $1',
    [name],
  );
  const id = rows[0]?.id ?? '';
  expect((await accounts('erase', name)).stdout).toContain(
    `All data of user ${id} is being erased`,
  );
  const left = `SELECT id FROM account.accounts WHERE id = $1
     UNION ALL SELECT account_id FROM account.links WHERE account_id = $1`;
  await eventually(async () => expect((await owner.query(left, [id])).rows).toEqual([]));
  expect((await accounts('create', name)).stdout).toMatch(/^http:\/\/127\.0\.0\.1:3002\/links\//);
});
