import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import pg from 'pg';
import { eventually } from '#testing';
import { countBlockedBy } from '../../testing/blocked.statements.js';
import { openPeople, type PeopleWorld } from '../../testing/people.world.js';
import { Accounts } from './accounts.js';
import { Passwords } from './passwords.js';
import { Refusal } from './refusal.js';
import { Sessions } from './sessions.js';
import { SignIn } from './sign-in.js';

const password = 'an unusual sentence';
const browser = { address: '192.0.2.1', userAgent: 'Firefox' };

let world: PeopleWorld;
let signIn: SignIn;
let name: string;
let id: string;
beforeAll(async () => {
  world = await openPeople();
  signIn = world.app.get(SignIn);
});
afterAll(() => world.close());
beforeEach(async () => {
  name = `ann-${randomUUID().slice(0, 8)}`;
  const made = await world.app.get(Passwords).hash(password, 'known');
  ({ id } = await world.app.get(Accounts).create({ name, password: made }));
});

const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => 'none',
    (error: unknown) => (error instanceof Refusal ? error.code : String(error)),
  );

/** Changes the account in a transaction, which is committed once a sign-in waits for it. */
async function during(change: string, run: () => Promise<unknown>): Promise<string> {
  const other = new pg.Client({ connectionString: world.url });
  await other.connect();
  try {
    await other.query('BEGIN');
    const { rows } = await other.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await other.query(`UPDATE account.accounts SET ${change} WHERE id = $1`, [id]);
    await other.query('DELETE FROM account.sessions WHERE account_id = $1', [id]);
    const outcome = refusal(run());
    await eventually(async () => expect(await countBlockedBy(world.owner, rows[0]?.pid ?? 0)).toBe(1));
    await other.query('COMMIT');
    return await outcome;
  } finally {
    await other.end();
  }
}

it.each([
  ['password is changed', `password = 'another'`],
  ['account is disabled', 'disabled_at = now()'],
])('a sign-in with a password that is verified while the %s begins no session', async (_, change) => {
  expect(await during(change, () => signIn.signIn({ name, password }, browser))).toBe('credentials');
  expect(await world.app.get(Sessions).list(id)).toEqual([]);
});

it('a session that goes on does not outlive a change of the password meanwhile', async () => {
  const { session } = await signIn.forAccount(id, browser);
  const again = () => signIn.signIn({ name, password }, { ...browser, session: session.cookie });
  expect(await during(`password = 'another'`, again)).toBe('credentials');
  expect(await world.app.get(Sessions).list(id)).toEqual([]);
});

it('who was made sure of otherwise begins none while the account is disabled', async () => {
  expect(await during('disabled_at = now()', () => signIn.forAccount(id, browser))).toBe('credentials');
  expect(await world.app.get(Sessions).list(id)).toEqual([]);
});

it('a sign-in that came first is signed out by what comes then', async () => {
  const { session } = await signIn.forAccount(id, browser);
  await world.app.get(Accounts).changePassword(id, password, 'another sentence', randomUUID());
  expect(await world.app.get(Sessions).find(session.cookie)).toBeUndefined();
});
