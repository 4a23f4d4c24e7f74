import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { AppStack, eventually, repository } from '#testing';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';

let stack: AppStack;
let owner: pg.Client;

beforeAll(async () => {
  stack = await AppStack.open();
  await stack.start(['deletion-worker']);
  owner = new pg.Client({ connectionString: stack.postgres.url });
  await owner.connect();
});
afterAll(async () => {
  await owner.end();
  await stack.close();
});

function accounts(...args: string[]): string {
  const env = { PATH: process.env['PATH'], DATABASE_URL: stack.postgres.urls.account, REDIS_URL: stack.redis.url };
  const script = join(repository, 'dist', 'programs', 'accounts.js');
  return execFileSync(process.execPath, [script, ...args], { env, encoding: 'utf8', stdio: 'pipe' });
}

it('accounts erase: nothing of the account is left, and nobody gets its data by its name again', async () => {
  accounts('create', 'ann', '--adopt');
  accounts('reset', 'ann');
  const [{ id = '' } = {}] = (await owner.query('SELECT id FROM account.accounts')).rows as { id?: string }[];
  expect(accounts('erase', 'ann')).toContain(`everything of the user ${id} is erased`);
  const left = async (table: string) => (await owner.query(`SELECT * FROM account.${table}`)).rows as unknown[];
  await eventually(async () => expect([...(await left('accounts')), ...(await left('links'))]).toEqual([]));
  expect(() => accounts('create', 'ann', '--adopt')).toThrow('the data of this user was erased');
  expect(accounts('create', 'ann')).toMatch(/^http:\/\/localhost:3002\/links\//);
});
