import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import pg from 'pg';
import { eventually } from '#testing';
import { countBlockedBy } from '../../testing/blocked-statements.js';
import { outcomeOf } from '../../testing/outcome.js';
import { openPeople, type PeopleFixture } from '../../testing/people.fixture.js';
import { Accounts } from './accounts.js';
import { Passwords } from './passwords.js';
import { Sessions } from './sessions.js';
import { SignIn } from './sign-in.js';

const password = 'an unusual sentence';
const browser = { address: '192.0.2.1', userAgent: 'Firefox' };

let fixture: PeopleFixture;
let signIn: SignIn;
let name: string;
let id: string;
beforeAll(async () => {
  fixture = await openPeople();
  signIn = fixture.app.get(SignIn);
});
afterAll(() => fixture.close());
beforeEach(async () => {
  name = `ann-${randomUUID().slice(0, 8)}`;
  const made = await fixture.app.get(Passwords).hash(password, 'trustedDevice');
  ({ id } = await fixture.app.get(Accounts).create({ name, password: made }));
});

const withPassword = (session?: string) =>
  signIn.signIn({ name, password }, { ...browser, ...(session !== undefined && { session }) });

/** Changes the account in a transaction that commits while `run` waits for its lock. */
async function during(change: string, run: () => Promise<unknown>): Promise<string> {
  const other = new pg.Client({ connectionString: fixture.databaseUrl });
  await other.connect();
  try {
    await other.query('BEGIN');
    const { rows } = await other.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await other.query(`UPDATE account.accounts SET ${change} WHERE id = $1`, [id]);
    await other.query('DELETE FROM account.sessions WHERE account_id = $1', [id]);
    const outcome = outcomeOf(run());
    await eventually(async () =>
      expect(await countBlockedBy(fixture.owner, rows[0]?.pid ?? 0)).toBe(1),
    );
    await other.query('COMMIT');
    return await outcome;
  } finally {
    await other.end();
  }
}

it.each([
  ['with a password that is changed', `password = 'another'`, withPassword],
  ['with a password, of an account that is disabled', 'disabled_at = now()', withPassword],
  [
    'without a password, of an account that is disabled',
    'disabled_at = now()',
    () => signIn.signInWithoutPassword(id, browser),
  ],
])('a sign-in %s meanwhile begins no session', async (_, change, run) => {
  expect(await during(change, run)).toBe('credentials');
  expect(await fixture.app.get(Sessions).listValid(id)).toEqual([]);
});

it('a renewed session does not outlive a concurrent password change', async () => {
  const { session } = await signIn.signInWithoutPassword(id, browser);
  expect(await during(`password = 'another'`, () => withPassword(session.cookie))).toBe(
    'credentials',
  );
  expect(await fixture.app.get(Sessions).listValid(id)).toEqual([]);
});
