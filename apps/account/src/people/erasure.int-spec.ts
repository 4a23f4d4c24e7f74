import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import pg from 'pg';
import { eventually } from '#testing';
import { countBlockedBy } from '../../testing/blocked-statements.js';
import { openPeople, type PeopleFixture } from '../../testing/people.fixture.js';
import { AppPasswords } from '../credentials/app-passwords.js';
import { Accounts } from './accounts.js';
import { Passwords } from './passwords.js';
import { Sessions } from './sessions.js';
import { SignIn } from './sign-in.js';

const password = 'an unusual sentence';
const browser = { address: '192.0.2.1', userAgent: 'Firefox' };

let fixture: PeopleFixture;
let accounts: Accounts;
let name: string;
let id: string;

beforeAll(async () => {
  fixture = await openPeople();
  accounts = fixture.app.get(Accounts);
});
afterAll(() => fixture.close());
beforeEach(async () => {
  name = `ann-${randomUUID().slice(0, 8)}`;
  ({ id } = await accounts.create({
    name,
    password: await fixture.app.get(Passwords).hash(password, 'trustedDevice'),
  }));
});

/** Records an erasure as the deletion worker does, without deleting rows. */
const erase = (user = id) =>
  fixture.owner.query('SELECT deletion.record_erasure($1, NULL)', [user]);

it('a user whose erasure is recorded cannot sign in and has no sessions', async () => {
  const signIn = fixture.app.get(SignIn);
  const { session } = await signIn.signInWithoutPassword(id, browser);
  const app = await fixture.app
    .get(AppPasswords)
    .create(id, { label: 'An app', scopes: ['read:subscriptions'] });
  const { rows } = await fixture.owner.query<{ hash: Buffer }>(
    'SELECT hash FROM account.credentials WHERE id = $1',
    [app.credential.id],
  );
  const hash = rows[0]?.hash.toString('base64url') ?? '';
  expect(await fixture.app.get(AppPasswords).findAndRecordUse(hash)).not.toBeNull();
  await erase();
  expect(await fixture.app.get(Sessions).findAndRecordUse(session.cookie)).toBeUndefined();
  expect(await fixture.app.get(AppPasswords).findAndRecordUse(hash)).toBeNull();
  await expect(signIn.signIn({ name, password }, browser)).rejects.toMatchObject({
    code: 'credentials',
  });
  await expect(signIn.signInWithoutPassword(id, browser)).rejects.toMatchObject({
    code: 'credentials',
  });
});

it('an erased user cannot return by the operator, a new account or a provider', async () => {
  const refusal = { code: 'erased' };
  await erase();
  await expect(accounts.enable(id)).rejects.toMatchObject(refusal);
  expect(await accounts.find(id)).toMatchObject({ disabled: true });
  const other = randomUUID();
  await erase(other);
  await expect(accounts.create({ name: `${name}-2`, id: other })).rejects.toMatchObject(refusal);
  await expect(
    accounts.findOrCreateByProvider('https://id.example', other, other),
  ).rejects.toMatchObject(refusal);
  expect(await accounts.find(other)).toBeUndefined();
});

it('an account that is created during the erasure of its user is disabled', async () => {
  const user = randomUUID();
  let erased: Promise<unknown> | undefined;
  const watcher = new pg.Client({ connectionString: fixture.databaseUrl });
  await watcher.connect();
  await fixture.transaction(async (manager) => {
    await accounts.create({ name: `${name}-2`, id: user }, manager);
    const [{ pid = 0 } = {}] = (await manager.query('SELECT pg_backend_pid() AS pid')) as {
      pid?: number;
    }[];
    erased = erase(user);
    await eventually(async () => expect(await countBlockedBy(watcher, pid)).toBe(1));
  });
  await erased;
  await watcher.end();
  expect(await accounts.find(user)).toMatchObject({ disabled: true });
});

it('concurrent disabling and erasure complete in any order', async () => {
  await Promise.all(
    Array.from({ length: 20 }, (_, count) => (count % 2 ? erase() : accounts.disable(id))),
  );
  expect(await accounts.find(id)).toMatchObject({ disabled: true });
  const { rows } = await fixture.owner.query(
    'SELECT refused FROM sync.user_clock WHERE user_id = $1',
    [id],
  );
  expect(rows).toEqual([{ refused: 2 }]);
});

it('concurrent sign-ins by a provider create one account', async () => {
  const subject = randomUUID();
  const made = await Promise.all(
    Array.from({ length: 10 }, () =>
      accounts.findOrCreateByProvider('https://id.example', subject, subject),
    ),
  );
  expect(new Set(made.map((account) => account.id))).toEqual(new Set([subject]));
});
