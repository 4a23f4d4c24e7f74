import { createHash, randomBytes, randomUUID } from 'node:crypto';
import pg from 'pg';
import { eventually } from '#testing';
import { appPasswordHash } from '#identity';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Authenticator } from '../../testing/authenticator.js';
import { countBlockedBy } from '../../testing/blocked-statements.js';
import { outcomeOf } from '../../testing/outcome.js';
import { openPeople, type PeopleFixture } from '../../testing/people.fixture.js';
import { AppPasswords } from '../credentials/app-passwords.js';
import { LoginFlows } from '../credentials/login-flows.js';
import { GpodderSessions } from '../gpodder/gpodder-sessions.js';
import { Accounts } from './accounts.js';
import { Emails } from './emails.js';
import { Links, type NewLink } from './links.js';
import { Notices } from './notices.js';
import { Passkeys } from './passkeys.js';
import { PasswordReset } from './password-reset.js';
import { Passwords } from './passwords.js';
import { RecoveryCodes } from './recovery-codes.js';
import { SecondFactor } from './second-factor.js';
import { Sessions } from './sessions.js';
import { accessByTable, SignOut } from './sign-out.js';
import { SignIn } from './sign-in.js';
import { Totp } from './totp.js';

const password = 'an unusual sentence';
const browser = { address: '192.0.2.1', userAgent: 'Firefox' };

let fixture: PeopleFixture;
let id: string;
let name: string;
beforeAll(async () => void (fixture = await openPeople()));
afterAll(() => fixture.close());
beforeEach(async () => {
  name = `ann-${randomUUID()}`;
  const made = await fixture.app.get(Passwords).hash(password, 'trustedDevice');
  ({ id } = await fixture.app.get(Accounts).create({ name, password: made }));
});

/** Session that does not exist. */
const noSession = { ...browser, id: randomUUID() };
const secretOf = ({ url }: NewLink) => url.slice(url.lastIndexOf('/') + 1);
const resetLink = async () =>
  secretOf(await fixture.app.get(Links).createLink('reset', { accountId: id }));
let network = 0;
const reset = async (secret: string) =>
  fixture.app
    .get(PasswordReset)
    .resetByLink(secret, 'another sentence', { ...browser, address: `10.9.${(network += 1)}.1` });

const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url');
const token = () => randomBytes(48).toString('base64url');
/** Starts a login flow of an app. */
async function flow() {
  const [poll, login] = [token(), token()];
  const address = `10.8.${(network += 1)}.1`;
  const request = { pollHash: sha256(poll), loginHash: sha256(login), userAgent: 'App', address };
  await fixture.app.get(LoginFlows).startFlow({ ...request, server: 'https://sync.example' });
  return { poll, login };
}

async function appPassword(label = 'An app') {
  const service = fixture.app.get(AppPasswords);
  const { secret, credential } = await service.create(id, {
    label,
    scopes: ['read:subscriptions'],
  });
  const check = () => service.findAndRecordUse(appPasswordHash(secret) as string);
  return { id: credential.id, works: async () => (await check()) !== null };
}

async function gpodderSession(credentialId: string) {
  const session = randomUUID();
  const works = async () =>
    (await fixture.app.get(GpodderSessions).findAndRecordUse(session, credentialId)) !== null;
  expect(await works()).toBe(true);
  return { id: session, works };
}

/** Makes one access of each kind. Each function returns true while it works. */
const accesses: Record<string, () => Promise<() => Promise<boolean>>> = {
  accounts: async () => {
    const totp = fixture.app.get(Totp);
    await totp.createSecret(id);
    return async () => (await totp.readPending(id)) !== undefined;
  },
  logins: async () => {
    const { poll, login } = await flow();
    await fixture.app.get(LoginFlows).approve(login, id);
    const open = 'SELECT FROM account.logins WHERE poll_hash = $1';
    const hash = createHash('sha256').update(poll).digest();
    return async () => (await fixture.owner.query(open, [hash])).rowCount === 1;
  },
  links: async () => {
    const secret = await resetLink();
    return async () => (await fixture.app.get(Links).readLink(secret)) !== undefined;
  },
  sessions: async () => {
    const { session } = await fixture.app.get(SignIn).signInWithoutPassword(id, browser);
    return async () =>
      (await fixture.app.get(Sessions).findAndRecordUse(session.cookie)) !== undefined;
  },
  oidc: async () => {
    await fixture.owner.query(
      `INSERT INTO account.oidc (model, id, grant_id, account_id, payload)
       VALUES ('Grant', sha256($1::text::bytea), $1::text, $1::uuid, '{}')`,
      [id],
    );
    const grants = `SELECT FROM account.oidc WHERE model = 'Grant' AND account_id = $1`;
    return async () => (await fixture.owner.query(grants, [id])).rowCount === 1;
  },
  credentials: async () => (await appPassword()).works,
  passkeys: async () => {
    const site = { id: 'accounts.example', origin: 'https://accounts.example' };
    const [passkeys, authenticator] = [fixture.app.get(Passkeys), new Authenticator(site)];
    const { session } = await fixture.app.get(SignIn).signInWithoutPassword(id, browser);
    const created = await passkeys.creationOptions({ id, name }, { binding: '' });
    const of = { binding: '', label: 'x', credential: authenticator.create(created) };
    await passkeys.addPasskey(id, of, { ...browser, id: session.id });
    return async () => {
      const credential = authenticator.get(await passkeys.requestOptions({ binding: '' }));
      const use = { binding: '', credential };
      const outcome = await outcomeOf(fixture.app.get(SignIn).signInWithPasskey(use, browser));
      return outcome === 'none';
    };
  },
  gpodder_sessions: async () => (await gpodderSession((await appPassword()).id)).works,
};

describe('each table with rows of an account', () => {
  it('is declared with the access that it grants and what ends it', async () => {
    const { rows } = await fixture.owner.query<{ table: string }>(
      `SELECT DISTINCT table_name AS table FROM information_schema.columns
       WHERE table_schema = 'account' AND (column_name = 'account_id' OR table_name = 'accounts')`,
    );
    const declared = Object.values(accessByTable).flat();
    expect(declared.toSorted()).toEqual(rows.map(({ table }) => table).toSorted());
    expect(Object.keys(accesses).toSorted()).toEqual(accessByTable.endedBySignOut.toSorted());
  });

  const ends: [string, () => Promise<unknown>][] = [
    ['a reset by a link', async () => reset(await resetLink())],
    [
      'a reset by a recovery code',
      async () => {
        const [code = ''] = await fixture.app.get(RecoveryCodes).replaceAll(id);
        const entered = { name, code, password: 'another sentence' };
        await fixture.app.get(PasswordReset).resetByRecoveryCode(entered, browser);
      },
    ],
    [
      'a recovery code instead of the second factor',
      async () => {
        const [code = ''] = await fixture.app.get(RecoveryCodes).replaceAll(id);
        await fixture.app.get(SecondFactor).acceptRecoveryCode(id, code);
      },
    ],
  ];
  it.each(ends)('grants nothing after %s', async (_, end) => {
    const made: [string, () => Promise<boolean>][] = [];
    for (const [table, make] of Object.entries(accesses)) made.push([table, await make()]);
    const working = async () =>
      (await Promise.all(made.map(async ([table, works]) => ((await works()) ? table : ''))))
        .filter(Boolean)
        .toSorted();
    expect(await working()).toEqual(accessByTable.endedBySignOut.toSorted());
    await end();
    expect(await working()).toEqual([]);
  });
});

describe('app passwords after a reset', () => {
  it('work again, without gpodder sessions, if kept; others are deleted', async () => {
    const [kept, other] = [await appPassword('kept'), await appPassword('other')];
    const before = await gpodderSession(kept.id);
    await reset(await resetLink());
    const { session } = await fixture.app.get(SignIn).signInWithoutPassword(id, browser);
    const service = fixture.app.get(AppPasswords);
    expect((await service.list(id)).map(({ suspendedAt }) => suspendedAt)).toEqual([
      expect.any(Date),
      expect.any(Date),
    ]);
    const later = await appPassword('later');
    await service.restoreSuspended(id, [kept.id, 'no id'], session.id);
    expect([await kept.works(), await other.works(), await later.works()]).toEqual([
      true,
      false,
      true,
    ]);
    expect((await service.list(id)).map(({ label }) => label).toSorted()).toEqual([
      'kept',
      'later',
    ]);
    expect(await before.works()).toBe(false);
  });

  it('of another account stay unchanged', async () => {
    const mine = await appPassword();
    await reset(await resetLink());
    const other = await fixture.app.get(Accounts).create({ name: `o-${randomUUID()}` });
    const { session } = await fixture.app.get(SignIn).signInWithoutPassword(other.id, browser);
    await fixture.app.get(AppPasswords).restoreSuspended(other.id, [mine.id], session.id);
    expect(await mine.works()).toBe(false);
    expect(await fixture.app.get(AppPasswords).list(id)).toHaveLength(1);
  });

  it('stay valid after a password change and after the account was disabled', async () => {
    const { works } = await appPassword();
    await fixture.app.get(Accounts).changePassword(id, password, 'another sentence', noSession);
    await fixture.app.get(Accounts).disable(id);
    expect(await works()).toBe(false);
    await fixture.app.get(Accounts).enable(id);
    expect(await works()).toBe(true);
  });
});

/**
 * Starts calls one after the other while a transaction of the test holds a lock, each once the
 * previous one waits, and releases the lock when all wait. @returns their outcomes.
 */
async function meet(
  lock: string,
  value: unknown,
  calls: readonly (() => Promise<unknown>)[],
): Promise<unknown[]> {
  const holder = new pg.Client({ connectionString: fixture.databaseUrl });
  await holder.connect();
  try {
    await holder.query('BEGIN');
    expect((await holder.query(`${lock} FOR UPDATE`, [value])).rowCount).toBeGreaterThan(0);
    const waiting: Promise<unknown>[] = [];
    for (const call of calls) {
      waiting.push(
        call().then(
          (result) => result,
          (error: unknown) => outcomeOf(Promise.reject(error as Error)),
        ),
      );
      await eventually(async () => {
        const { rows } = await fixture.owner.query(
          `SELECT pid FROM pg_stat_activity
           WHERE datname = current_database() AND pg_blocking_pids(pid) <> '{}'`,
        );
        expect(rows).toHaveLength(waiting.length);
      });
    }
    await holder.query('COMMIT');
    return await Promise.all(waiting);
  } finally {
    await holder.end();
  }
}

describe('a sign-out concurrent with an erasure', () => {
  const locks: [string, string][] = [
    ['a grant', `SELECT FROM account.oidc WHERE model = 'Grant' AND account_id = $1`],
    ['an app password', 'SELECT FROM account.credentials WHERE account_id = $1'],
  ];
  it.each(locks)('does not deadlock if both wait for %s', async (_, lock) => {
    const worker = new pg.Client({ connectionString: fixture.ownerUrl });
    await worker.connect();
    const erase = async () => {
      const { rows } = await worker.query('SELECT account.erase_user($1, 1000) AS rows', [id]);
      return (rows[0] as { rows: number }).rows;
    };
    try {
      await accesses['oidc']?.();
      await appPassword();
      const signOut = () => fixture.app.get(SignOut).endAllAccess(id);
      expect(await meet(lock, id, [erase, signOut])).toEqual([expect.any(Number), undefined]);
      expect(await fixture.app.get(Accounts).find(id)).toBeUndefined();
    } finally {
      await worker.end();
    }
  });
});

describe('several rows of an account are deleted after a lock of the account', () => {
  const values = {
    sessions: `(hash, id, expires_at, address, user_agent, account_id, created_at, last_used_at)
      SELECT sha256(gen_random_uuid()::text::bytea), gen_random_uuid(), now() + interval '1 day',
        '', '', $1::uuid, t, t`,
    links: `(hash, kind, expires_at, account_id, created_at)
      SELECT sha256(gen_random_uuid()::text::bytea), 'reset', now() + interval '1 day',
        $1::uuid, t`,
    notices: `(id, kind, address, user_agent, account_id, created_at)
      SELECT gen_random_uuid(), 'password', '', '', $1::uuid, t`,
  };
  const changes: [string, keyof typeof values, number, () => Promise<unknown>][] = [
    [
      'the end of other sessions',
      'sessions',
      0,
      () => fixture.app.get(Sessions).endOthers(id, randomUUID()),
    ],
    ['a sign-in', 'sessions', 100, () => fixture.app.get(Sessions).startSession(id, browser)],
    ['a new link', 'links', 5, resetLink],
    ['a notice', 'notices', 5, () => fixture.app.get(Notices).addNotice(id, 'password')],
  ];
  it.each(changes)('by %s, without a deadlock', async (_, table, limit, change) => {
    await fixture.owner.query(
      `INSERT INTO account.${table} ${values[table]}
       FROM generate_series(1, $2::integer) n, LATERAL (
         SELECT now() - ($2::integer - n + 1) * interval '1 s' AS t) of`,
      [id, limit + 2],
    );
    const other = new pg.Client({ connectionString: fixture.ownerUrl });
    await other.connect();
    try {
      await other.query('BEGIN');
      const { rows } = await other.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await other.query('SELECT FROM account.accounts WHERE id = $1 FOR SHARE', [id]);
      const lockRow = (place: number) =>
        other.query(
          `SELECT FROM account.${table} WHERE ctid = (
             SELECT ctid FROM account.${table} WHERE account_id = $1
             ORDER BY created_at OFFSET $2 LIMIT 1) FOR UPDATE`,
          [id, place],
        );
      await lockRow(1);
      const changed = outcomeOf(change());
      await eventually(async () =>
        expect(await countBlockedBy(fixture.owner, rows[0]?.pid ?? 0)).toBe(1),
      );
      await lockRow(0);
      await other.query('COMMIT');
      expect(await changed).toBe('none');
    } finally {
      await other.end();
    }
    const { rows } = await fixture.owner.query(
      `SELECT FROM account.${table} WHERE account_id = $1`,
      [id],
    );
    expect(rows).toHaveLength(limit);
  });
});

describe('a reset concurrent with', () => {
  const grant = `SELECT FROM account.oidc WHERE model = 'Grant' AND account_id = $1`;

  it('an earlier poll of an approved login flow ends its app password', async () => {
    const { poll, login } = await flow();
    await fixture.app.get(LoginFlows).approve(login, id);
    const secret = await resetLink();
    const flows = fixture.app.get(LoginFlows);
    const [answer] = await meet('SELECT FROM account.accounts WHERE id = $1', id, [
      () => flows.poll(poll),
      () => reset(secret),
    ]);
    const hash = appPasswordHash((answer as { appPassword: string }).appPassword) as string;
    expect(await fixture.app.get(AppPasswords).findAndRecordUse(hash)).toBeNull();
    expect(await flows.poll(poll)).toBeUndefined();
  });

  it('a later poll of a login flow creates no app password', async () => {
    const { poll, login } = await flow();
    await fixture.app.get(LoginFlows).approve(login, id);
    await accesses['oidc']?.();
    const secret = await resetLink();
    const [, answer] = await meet(grant, id, [
      () => reset(secret),
      () => fixture.app.get(LoginFlows).poll(poll),
    ]);
    expect(answer).toBeUndefined();
    expect(await fixture.app.get(AppPasswords).list(id)).toEqual([]);
  });

  it('requests of an ended session refuses what they would grant', async () => {
    const { session } = await fixture.app.get(SignIn).signInWithoutPassword(id, browser);
    await accesses['oidc']?.();
    const [secret, { login }] = [await resetLink(), await flow()];
    const { app } = fixture;
    const by = { ...browser, id: session.id };
    const wanted = { label: 'late', scopes: ['read:subscriptions'] };
    const verify = { accountId: id, email: 'a@b.example', session: session.id };
    const [, ...outcomes] = await meet(grant, id, [
      () => reset(secret),
      () => app.get(AppPasswords).create(id, wanted, by),
      () => app.get(AppPasswords).restoreSuspended(id, [], session.id),
      () => app.get(LoginFlows).approve(login, id, session.id),
      () => app.get(RecoveryCodes).replaceAll(id, by),
      () => app.get(Totp).createSecret(id, session.id),
      () => app.get(Links).createLink('verify', verify),
    ]);
    expect(outcomes).toEqual(Array.from({ length: 6 }, () => 'credentials'));
    expect(await app.get(AppPasswords).list(id)).toEqual([]);
    expect(await app.get(RecoveryCodes).countUnused(id)).toBe(0);
    expect(await app.get(Totp).readPending(id)).toBeUndefined();
  });

  it('another link of the account invalidates it', async () => {
    await accesses['oidc']?.();
    const [secret, other] = [await resetLink(), await resetLink()];
    const of = { accountId: id, email: 'a@b.example' };
    const verify = secretOf(await fixture.app.get(Links).createLink('verify', of));
    const [, ...outcomes] = await meet(grant, id, [
      () => reset(secret),
      () => reset(other),
      () => fixture.app.get(Emails).verifyAddress(verify),
    ]);
    expect(outcomes).toEqual(['link', 'link']);
    expect(await fixture.app.get(Accounts).find(id)).toMatchObject({ email: null });
  });

  it('a new gpodder session starts none', async () => {
    const { id: credentialId } = await appPassword();
    const stored = await gpodderSession(credentialId);
    const secret = await resetLink();
    const held = 'SELECT FROM account.gpodder_sessions WHERE id = $1';
    const [, credential] = await meet(held, stored.id, [
      () => reset(secret),
      () => fixture.app.get(GpodderSessions).findAndRecordUse(randomUUID(), credentialId),
    ]);
    expect(credential).toBeNull();
  });

  it('new recovery codes waits for them', async () => {
    const [code = ''] = await fixture.app.get(RecoveryCodes).replaceAll(id);
    const entered = { name, code, password: 'another sentence' };
    const outcomes = await meet('SELECT FROM account.accounts WHERE id = $1', id, [
      () => fixture.app.get(RecoveryCodes).replaceAll(id),
      () => fixture.app.get(PasswordReset).resetByRecoveryCode(entered, browser),
    ]);
    expect(outcomes).toEqual([expect.any(Array), 'credentials']);
  });
});
