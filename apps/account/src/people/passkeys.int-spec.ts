import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Authenticator } from '../../testing/authenticator.js';
import { outcomeOf } from '../../testing/outcome.js';
import { openPeople, type PeopleFixture } from '../../testing/people.fixture.js';
import { Accounts } from './accounts.js';
import { Links } from './links.js';
import { Notices } from './notices.js';
import { PasswordReset } from './password-reset.js';
import { Passkeys } from './passkeys.js';
import { Passwords } from './passwords.js';
import { RecoveryCodes } from './recovery-codes.js';
import { Seal } from './seal.js';
import type { ActingSession } from './sessions.js';
import { Sessions } from './sessions.js';
import { type CodeRequired, SignIn } from './sign-in.js';

const password = 'an unusual sentence';
const site = { id: 'accounts.example', origin: 'https://accounts.example' };
const browser = { address: '192.0.2.1', userAgent: 'Firefox' };

let fixture: PeopleFixture;
let passkeys: Passkeys;
let signIn: SignIn;
let id: string;
let name: string;
let authenticator: Authenticator;
beforeAll(async () => {
  fixture = await openPeople();
  [passkeys, signIn] = [fixture.app.get(Passkeys), fixture.app.get(SignIn)];
});
afterAll(() => fixture.close());
beforeEach(async () => {
  ({ id, name } = await person());
  authenticator = new Authenticator(site);
});

async function person() {
  const created = `ann-${randomUUID()}`;
  const hash = await fixture.app.get(Passwords).hash(password, 'trustedDevice');
  const account = await fixture.app.get(Accounts).create({ name: created, password: hash });
  return { id: account.id, name: created };
}

async function actor(accountId = id): Promise<ActingSession> {
  const { session } = await signIn.signInWithoutPassword(accountId, browser);
  return { ...browser, id: session.id };
}

async function add(of = authenticator, label = 'My phone', accountId = id): Promise<void> {
  const [by, binding] = [await actor(accountId), randomUUID()];
  const options = await passkeys.creationOptions({ id: accountId, name }, { binding });
  await passkeys.addPasskey(accountId, { binding, label, credential: of.create(options) }, by);
}

/** Returns a response for a new challenge. */
async function response(of = authenticator, secondStepOf?: string) {
  const binding = randomUUID();
  const options = await passkeys.requestOptions({ binding }, secondStepOf);
  return { binding, credential: of.get(options) };
}

const alone = async (of = authenticator) =>
  outcomeOf(signIn.signInWithPasskey(await response(of), browser));

/** Returns the outcome of a second step with a passkey. */
async function afterPassword(of = authenticator, entered = password): Promise<string> {
  const { ticket } = (await signIn.signIn({ name, password: entered }, browser)) as CodeRequired;
  return outcomeOf(signIn.completeWithPasskey(ticket, await response(of, id), browser));
}

async function insertPasskeys(count: number): Promise<void> {
  await fixture.owner.query(
    `INSERT INTO account.passkeys (id, account_id, public_key, counter, transports, label)
     SELECT uuid_send(gen_random_uuid()), $1, '', 0, '{}', 'x' FROM generate_series(1, $2::int)`,
    [id, count],
  );
}

async function reset(newPassword: string): Promise<void> {
  const { url } = await fixture.app.get(Links).createLink('reset', { accountId: id });
  const visitor = { ...browser, address: `10.1.${Math.floor(Math.random() * 250)}.1` };
  const secret = url.slice(url.lastIndexOf('/') + 1);
  await fixture.app.get(PasswordReset).resetByLink(secret, newPassword, visitor);
}

describe('a passkey', () => {
  it('signs in without name and password, and shows its last use', async () => {
    await add();
    const { session } = await signIn.signInWithPasskey(await response(), browser);
    expect(await fixture.app.get(Sessions).findAndRecordUse(session.cookie)).toMatchObject({
      accountId: id,
    });
    const [passkey] = await passkeys.list(id);
    expect(passkey).toMatchObject({ label: 'My phone', lastUsedAt: expect.any(Date) });
  });

  it('is required after the password, of the same account', async () => {
    await add();
    const other = new Authenticator(site);
    await add(other, 'Of somebody else', (await person()).id);
    expect(await afterPassword(other)).toBe('passkey');
    expect(await afterPassword()).toBe('none');
  });

  it('is no longer required after its removal, and the notices name it', async () => {
    await add();
    await passkeys.removePasskey((await person()).id, authenticator.id, browserActor);
    expect(await passkeys.list(id)).toHaveLength(1);
    await passkeys.removePasskey(id, authenticator.id, browserActor);
    await passkeys.removePasskey(id, authenticator.id, browserActor);
    expect(await alone()).toBe('passkey');
    expect(await signIn.signIn({ name, password }, browser)).toHaveProperty('session');
    const notices = await fixture.app.get(Notices).list(id);
    const named = notices.filter(({ label }) => label === 'My phone').map(({ kind }) => kind);
    expect(named).toEqual(['passkey_removed', 'passkey']);
  });
  const browserActor = { ...browser, id: randomUUID() };

  it('that did not verify its user is a second factor only', async () => {
    await add();
    authenticator.verifiesUser = false;
    expect(await alone()).toBe('passkey');
    expect(await afterPassword()).toBe('none');
  });

  it('with a signature counter must count on', async () => {
    authenticator.counter = 5;
    await add();
    expect(await alone()).toBe('passkey');
    authenticator.counter = 4;
    expect(await alone()).toBe('passkey');
    authenticator.counter = 6;
    expect(await alone()).toBe('none');
    authenticator.counter = 0;
    expect(await alone()).toBe('passkey');
  });

  it('of another origin or domain is refused', async () => {
    await add();
    for (const wrong of [
      { ...site, origin: 'https://evil.example' },
      { ...site, id: 'evil.example' },
    ]) {
      const relayed = Object.assign(Object.create(authenticator) as Authenticator, { site: wrong });
      expect(await alone(relayed)).toBe('passkey');
      expect(await outcomeOf(add(new Authenticator(wrong)))).toBe('passkey');
    }
  });

  it.each(['', '{}', 'null', '{"id":"!","response":{}}', '{"id":"AA","response":{}}'])(
    'is refused as %j',
    async (credential) => {
      const of = { binding: '', credential };
      expect(await outcomeOf(signIn.signInWithPasskey(of, browser))).toBe('passkey');
      const added = passkeys.addPasskey(id, { ...of, label: 'x' }, browserActor);
      expect(await outcomeOf(added)).toBe('passkey');
    },
  );
});

describe('a challenge', () => {
  beforeEach(() => add());

  it('is accepted once, also under concurrency', async () => {
    const one = await response();
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () => outcomeOf(signIn.signInWithPasskey(one, browser))),
    );
    expect(outcomes.sort()).toEqual(['none', ...Array.from({ length: 7 }, () => 'passkey')]);
  });

  it('is rejected if an accepted one is newer', async () => {
    const old = await response();
    await expect.poll(() => Date.now()).toBeGreaterThan(Date.now());
    expect(await alone()).toBe('none');
    expect(await outcomeOf(signIn.signInWithPasskey(old, browser))).toBe('passkey');
  });

  /** Returns the outcome of a sign-in whose challenge has an age, negative in the future. */
  function outcomeAtAge(minutes: number): Promise<string> {
    const createdAt = String(Date.now() - minutes * 60_000);
    const challenge = fixture.app.get(Seal).seal('passkey challenge', createdAt, 'b');
    const credential = authenticator.get({ challenge: challenge.toString('base64url') });
    return outcomeOf(signIn.signInWithPasskey({ binding: 'b', credential }, browser));
  }
  const acceptedAt = (time: string) =>
    fixture.owner.query(
      `UPDATE account.accounts SET passkey_challenge_at = now() + $2::interval WHERE id = $1`,
      [id, time],
    );

  it('is rejected after 10 minutes', async () => {
    await acceptedAt('-1 hour');
    expect(await outcomeAtAge(10)).toBe('passkey');
    expect(await outcomeAtAge(9)).toBe('none');
  });

  it('is accepted once after a clock was a month ahead', async () => {
    await acceptedAt('1 month');
    const one = await response();
    expect(await outcomeOf(signIn.signInWithPasskey(one, browser))).toBe('none');
    expect(await outcomeOf(signIn.signInWithPasskey(one, browser))).toBe('passkey');
  });

  it('is rejected if it is more than 10 minutes in the future', async () => {
    await acceptedAt('1 month');
    expect(await outcomeAtAge(-11)).toBe('passkey');
    await acceptedAt('-1 hour');
    expect(await outcomeAtAge(-11)).toBe('passkey');
    expect(await outcomeAtAge(-9)).toBe('none');
    expect(await alone()).toBe('passkey');
  });

  it('is bound to its session, ticket or browser, and sealed', async () => {
    const { credential } = await response();
    for (const binding of ['', randomUUID()]) {
      const moved = { binding, credential };
      expect(await outcomeOf(signIn.signInWithPasskey(moved, browser))).toBe('passkey');
    }
    const forged = authenticator.get({ challenge: Buffer.from('forged').toString('base64url') });
    const of = { binding: '', credential: forged };
    expect(await outcomeOf(signIn.signInWithPasskey(of, browser))).toBe('passkey');
  });
});

describe('adding a passkey', () => {
  it('is refused at the limit of 20, also under concurrency', async () => {
    await insertPasskeys(19);
    const outcomes = await Promise.all(
      Array.from({ length: 4 }, () => outcomeOf(add(new Authenticator(site)))),
    );
    expect(outcomes.filter((outcome) => outcome === 'none')).toHaveLength(1);
    expect(await passkeys.list(id)).toHaveLength(20);
    expect(await outcomeOf(add())).toBe('passkeys_full');
  });

  it('needs a name, and the session of the request', async () => {
    expect(await outcomeOf(add(authenticator, ' \u200b '))).toBe('label');
    const binding = randomUUID();
    const options = await passkeys.creationOptions({ id, name }, { binding });
    const of = { binding, label: 'x', credential: authenticator.create(options) };
    const ended = { ...browser, id: randomUUID() };
    expect(await outcomeOf(passkeys.addPasskey(id, of, ended))).toBe('credentials');
  });

  it('is refused for the passkey of another account', async () => {
    await add(authenticator, 'x', (await person()).id);
    expect(await outcomeOf(add())).toBe('passkey');
  });

  it('accepts each challenge once, also after a removal', async () => {
    const [by, binding] = [await actor(), randomUUID()];
    const options = await passkeys.creationOptions({ id, name }, { binding });
    const of = { binding, label: 'x', credential: authenticator.create(options) };
    await passkeys.addPasskey(id, of, by);
    await passkeys.removePasskey(id, authenticator.id, by);
    expect(await outcomeOf(passkeys.addPasskey(id, of, by))).toBe('passkey');
  });

  it('refuses attestations, whose certificates can name URLs', async () => {
    authenticator.attestation = ['apple', new Map([['x5c', [new Uint8Array(3)]]])];
    expect(await outcomeOf(add())).toBe('passkey');
    authenticator.attestation = ['packed', new Map([['x5c', [new Uint8Array(3)]]])];
    expect(await outcomeOf(add())).toBe('passkey');
  });

  it('offers no authenticator that has a passkey of the account', async () => {
    await add();
    const options = await passkeys.creationOptions({ id, name }, { binding: '' });
    expect(options?.excludeCredentials?.map((one) => one.id)).toEqual([authenticator.id]);
  });
});

describe('a passkey of an account', () => {
  beforeEach(() => add());
  const newPassword = 'another sentence';

  it('after a reset is a second factor, until it was used with the new password', async () => {
    await reset(newPassword);
    expect(await alone()).toBe('passkey');
    expect(await afterPassword(authenticator, newPassword)).toBe('none');
    expect(await alone()).toBe('none');
  });

  it('is suspended by a recovery code instead of the second factor', async () => {
    const [code = ''] = await fixture.app.get(RecoveryCodes).replaceAll(id);
    const { ticket } = (await signIn.signIn({ name, password }, browser)) as CodeRequired;
    await signIn.completeWithRecoveryCode(ticket, code, browser);
    expect(await alone()).toBe('passkey');
  });

  it('that a reset overtakes starts no session', async () => {
    const verified = await passkeys.verifyUse(await response());
    await reset(newPassword);
    const start = fixture.app
      .get(Sessions)
      .startSession(id, browser, '', verified.account.password, verified.recordUse);
    expect(await outcomeOf(start)).toBe('credentials');
  });

  it('that a recovery code overtakes starts no session', async () => {
    const verified = await passkeys.verifyUse(await response());
    const [code = ''] = await fixture.app.get(RecoveryCodes).replaceAll(id);
    const { ticket } = (await signIn.signIn({ name, password }, browser)) as CodeRequired;
    await signIn.completeWithRecoveryCode(ticket, code, browser);
    const start = fixture.app
      .get(Sessions)
      .startSession(id, browser, '', verified.account.password, verified.recordUse);
    expect(await outcomeOf(start)).toBe('passkey');
  });

  it('stays valid after a change of the password by its owner', async () => {
    await fixture.app.get(Accounts).changePassword(id, password, newPassword, await actor());
    expect(await alone()).toBe('none');
  });

  it('is invalid while the account is disabled', async () => {
    await fixture.app.get(Accounts).disable(id);
    expect(await alone()).toBe('passkey');
    await fixture.app.get(Accounts).enable(id);
    expect(await alone()).toBe('none');
  });

  it('is invalid for an account of an OpenID provider', async () => {
    await fixture.owner.query(
      `UPDATE account.accounts SET issuer = 'https://idp.example', subject = id::text
       WHERE id = $1`,
      [id],
    );
    expect(await alone()).toBe('passkey');
  });
});
