import { randomUUID } from 'node:crypto';
import { TOTP } from 'otpauth';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { outcomeOf } from '../../testing/outcome.js';
import { openPeople, type PeopleFixture } from '../../testing/people.fixture.js';
import { Accounts } from './accounts.js';
import { Links } from './links.js';
import { PasswordReset } from './password-reset.js';
import { Passwords } from './passwords.js';
import { RecoveryCodes } from './recovery-codes.js';
import { SecondFactor } from './second-factor.js';
import { type Browser, Sessions } from './sessions.js';
import { type CodeRequired, SignIn, type SignInResult } from './sign-in.js';
import { Totp } from './totp.js';

const password = 'an unusual sentence';

let fixture: PeopleFixture;
let accounts: Accounts;
let signIn: SignIn;
let sessions: Sessions;
let name: string;
let accountId: string;
let browser: Browser;

/** Counter that gives each browser its own address, so that tests do not share rate limits. */
let address = 0;
const newBrowser = (): Browser => ({
  address: `10.0.${(address += 1) >> 8}.${address & 255}`,
  userAgent: 'Firefox',
});

beforeAll(async () => {
  fixture = await openPeople();
  [accounts, signIn, sessions] = [
    fixture.app.get(Accounts),
    fixture.app.get(SignIn),
    fixture.app.get(Sessions),
  ];
});
afterAll(() => fixture.close());
beforeEach(async () => {
  name = `ann-${randomUUID()}`;
  const made = await fixture.app.get(Passwords).hash(password, 'trustedDevice');
  accountId = (await accounts.create({ name, password: made })).id;
  browser = newBrowser();
});

async function signedIn(from = browser, as = { name, password }): Promise<SignInResult> {
  return (await signIn.signIn(as, from)) as SignInResult;
}
const wrong = (from: Browser, as = name) =>
  outcomeOf(signIn.signIn({ name: as, password: 'a wrong sentence' }, from));

describe('sign-in', () => {
  it('gives a session whose cookie is stored only as a hash', async () => {
    const { session } = await signedIn();
    expect(await sessions.findAndRecordUse(session.cookie)).toMatchObject({
      id: session.id,
      accountId,
      userAgent: 'Firefox',
    });
    const { rows } = await fixture.owner.query('SELECT s::text AS row FROM account.sessions s');
    expect(JSON.stringify(rows)).not.toContain(session.cookie);
  });

  it('ignores the letter case of names and the Unicode form of passwords', async () => {
    await fixture.owner.query('UPDATE account.accounts SET password = $2 WHERE id = $1', [
      accountId,
      await fixture.app
        .get(Passwords)
        .hash('Äußerst ungewöhnlich'.normalize('NFD'), 'trustedDevice'),
    ]);
    const as = { name: name.toUpperCase(), password: 'Äußerst ungewöhnlich'.normalize('NFC') };
    expect((await signedIn(browser, as)).session.accountId).toBe(accountId);
  });

  it('refuses unknown names, wrong passwords and disabled accounts in the same way', async () => {
    const disabled = await accounts.create({ name: `d-${randomUUID()}`, password: await hashed() });
    await accounts.disable(disabled.id);
    const none = await accounts.create({ name: `n-${randomUUID()}` });
    const tries = [
      { name, password: 'a wrong sentence' },
      { name: 'nobody', password },
      { name: 'no such\0name', password },
      { name: disabled.name as string, password },
      { name: none.name as string, password },
      { name: none.name as string, password: '' },
      { name, password: 'x'.repeat(1_001) },
    ];
    const refusals = await Promise.all(
      tries.map((as) => outcomeOf(signIn.signIn(as, newBrowser()))),
    );
    expect(refusals).toEqual(tries.map(() => 'credentials'));
  });

  it('rotates the cookie: the old one is invalid, and the session continues', async () => {
    const first = await signedIn();
    const second = await signedIn({ ...browser, session: first.session.cookie });
    expect(second.session.id).toBe(first.session.id);
    expect(await sessions.findAndRecordUse(first.session.cookie)).toBeUndefined();
    expect(await sessions.findAndRecordUse(second.session.cookie)).toMatchObject({
      id: first.session.id,
    });
  });

  it('ends the session of another account in the same browser', async () => {
    const other = await accounts.create({ name: `o-${randomUUID()}`, password: await hashed() });
    const first = await signedIn();
    const as = { name: other.name as string, password };
    const second = await signedIn({ ...browser, session: first.session.cookie }, as);
    expect(await sessions.findAndRecordUse(first.session.cookie)).toBeUndefined();
    expect(await sessions.findAndRecordUse(second.session.cookie)).toMatchObject({
      accountId: other.id,
    });
    expect(await fixture.revoked()).toContain(`session:${first.session.id}`);
  });

  const hashed = () => fixture.app.get(Passwords).hash(password, 'trustedDevice');
});

describe('a second factor', () => {
  let secret: string;
  beforeEach(async () => {
    const started = await fixture.app.get(Totp).createSecret(accountId);
    ({ secret } = started);
    await fixture.app.get(Totp).confirmSecret(accountId, codeAt(0));
  });
  const codeAt = (step: number) =>
    new TOTP({ secret }).generate({ timestamp: Date.now() + step * 30_000 });
  const ticket = async () =>
    ((await signIn.signIn({ name, password }, browser)) as CodeRequired).ticket;

  it('is required after the password, and no access precedes it', async () => {
    expect(await signIn.signIn({ name, password }, browser)).toEqual({
      needs: 'second_factor',
      ticket: expect.any(String),
    });
    const { session } = await signIn.completeWithCode(await ticket(), codeAt(1), browser);
    expect(session.accountId).toBe(accountId);
  });

  it('accepts a code once, also under concurrency', async () => {
    const tickets = await Promise.all(Array.from({ length: 8 }, () => ticket()));
    const code = codeAt(1);
    const known = await fixture.app.get(SignIn).signInWithoutPassword(accountId, browser);
    const from = { ...browser, device: known.device };
    const outcomes = await Promise.all(
      tickets.map((one) => outcomeOf(signIn.completeWithCode(one, code, from))),
    );
    expect(outcomes.sort()).toEqual([...Array.from({ length: 7 }, () => 'code'), 'none']);
  });

  it('accepts no code older than an accepted one', async () => {
    await signIn.completeWithCode(await ticket(), codeAt(1), browser);
    expect(await outcomeOf(signIn.completeWithCode(await ticket(), codeAt(0), browser))).toBe(
      'code',
    );
  });

  it('is stored sealed', async () => {
    const { rows } = await fixture.owner.query(
      'SELECT totp_secret FROM account.accounts WHERE id = $1',
      [accountId],
    );
    const kept = (rows as { totp_secret: Buffer }[])[0]?.totp_secret as Buffer;
    expect(kept.toString('latin1')).not.toContain(secret);
  });

  it('is limited: after ten wrong codes of an account, none is checked for a while', async () => {
    for (let count = 0; count < 10; count += 1)
      expect(await outcomeOf(signIn.completeWithCode(await ticket(), '000000', newBrowser()))).toBe(
        'code',
      );
    expect(await outcomeOf(signIn.completeWithCode(await ticket(), codeAt(0), newBrowser()))).toBe(
      'limited',
    );
  });

  it('accepts a recovery code instead, once, which ends all other sessions', async () => {
    const before = await signIn.signInWithoutPassword(accountId, browser);
    const [code = ''] = await fixture.app.get(RecoveryCodes).replaceAll(accountId);
    const [one, two] = [await ticket(), await ticket()];
    const { session } = await signIn.completeWithRecoveryCode(
      one,
      code.toUpperCase().replaceAll('-', ' '),
      browser,
    );
    expect(await sessions.findAndRecordUse(session.cookie)).toBeDefined();
    expect(await sessions.findAndRecordUse(before.session.cookie)).toBeUndefined();
    expect(await outcomeOf(signIn.completeWithRecoveryCode(two, code, browser))).toBe('code');
    expect(await fixture.revoked()).toContain(`user:${accountId}`);
  });

  describe('is switched off', () => {
    const off = (kind: 'code' | 'recovery', code: string, session: string = randomUUID()) =>
      fixture.app
        .get(SecondFactor)
        .switchTotpOff({ id: accountId, name, session }, { kind, code }, browser);
    const isOn = async () => (await accounts.find(accountId))?.hasTotp;

    it('by an unused code', async () => {
      expect(await outcomeOf(off('code', '000000'))).toBe('code');
      // This code switched the second factor on, so it counts as used.
      expect(await outcomeOf(off('code', codeAt(0)))).toBe('code');
      expect(await isOn()).toBe(true);
      await off('code', codeAt(1));
      expect(await isOn()).toBe(false);
      expect(await signedIn()).toHaveProperty('session');
    });

    it('by a recovery code, which ends all other sessions', async () => {
      const [mine, other] = [
        await signIn.signInWithoutPassword(accountId, browser),
        await signIn.signInWithoutPassword(accountId, newBrowser()),
      ];
      const [code = ''] = await fixture.app.get(RecoveryCodes).replaceAll(accountId);
      expect(await outcomeOf(off('recovery', '0000-0000-0000-0000'))).toBe('code');
      await off('recovery', code, mine.session.id);
      expect(await isOn()).toBe(false);
      expect(await sessions.findAndRecordUse(mine.session.cookie)).toBeDefined();
      expect(await sessions.findAndRecordUse(other.session.cookie)).toBeUndefined();
    });

    it('by no code for a while after ten wrong ones', async () => {
      for (let count = 0; count < 10; count += 1)
        expect(await outcomeOf(off('code', '000000'))).toBe('code');
      expect(await outcomeOf(off('code', codeAt(1)))).toBe('limited');
      expect(await isOn()).toBe(true);
    });
  });

  it('refuses tickets that are forged, misused or older than a password change', async () => {
    const mine = await ticket();
    const { device } = await signIn.signInWithoutPassword(accountId, browser);
    await fixture.owner.query(`UPDATE account.accounts SET password = 'another' WHERE id = $1`, [
      accountId,
    ]);
    const refusals = await Promise.all(
      ['', 'x', device, mine].map((one) =>
        outcomeOf(signIn.completeWithCode(one, codeAt(0), browser)),
      ),
    );
    expect(refusals).toEqual(['ticket', 'ticket', 'ticket', 'ticket']);
  });
});

describe('the limits of sign-in', () => {
  it('refuse the eleventh attempt, even with the right password', async () => {
    for (let count = 0; count < 10; count += 1) expect(await wrong(browser)).toBe('credentials');
    expect(await wrong(browser)).toBe('limited');
    expect(await outcomeOf(signIn.signIn({ name, password }, browser))).toBe('limited');
  });

  it('still accept a recovery code after too many wrong passwords', async () => {
    const [code = ''] = await fixture.app.get(RecoveryCodes).replaceAll(accountId);
    const device = await exhaustLimits();
    const as = { name, password: `${password}, a new one` };
    const newDevice = await fixture.app
      .get(PasswordReset)
      .resetByRecoveryCode({ ...as, code }, { ...browser, device });
    expect(await outcomeOf(signIn.signIn(as, { ...browser, device }))).toBe('limited');
    expect(await outcomeOf(signIn.signIn(as, { ...browser, device: newDevice }))).toBe('none');
  });

  it('still accept a reset link after too many wrong passwords', async () => {
    const device = await exhaustLimits();
    const { url } = await fixture.app.get(Links).createLink('reset', { accountId });
    const as = { name, password: `${password}, a new one` };
    const secret = url.slice(url.lastIndexOf('/') + 1);
    const newDevice = await fixture.app
      .get(PasswordReset)
      .resetByLink(secret, as.password, browser);
    expect(await outcomeOf(signIn.signIn(as, { ...browser, device }))).toBe('limited');
    expect(await outcomeOf(signIn.signIn(as, { ...browser, device: newDevice }))).toBe('none');
  });

  /** Uses up the limits of a trusted device and of its network. @returns the device cookie. */
  async function exhaustLimits(): Promise<string> {
    const { device } = await signedIn();
    for (const from of [browser, { ...browser, device }]) {
      for (let count = 0; count < 10; count += 1) await wrong(from);
      expect(await wrong(from)).toBe('limited');
    }
    return device;
  }

  it('count concurrent attempts', async () => {
    const outcomes = await Promise.all(Array.from({ length: 30 }, () => wrong(browser)));
    expect(outcomes.filter((outcome) => outcome !== 'limited').length).toBeLessThanOrEqual(10);
  });

  it('restart after a success', async () => {
    for (let round = 0; round < 3; round += 1) {
      for (let count = 0; count < 9; count += 1) await wrong(browser);
      await signedIn();
    }
  });

  it('do not let attackers lock a user out, or a trusted device in their network', async () => {
    const known = await signedIn(browser);
    const strangers = newBrowser();
    for (let count = 0; count < 15; count += 1) await wrong(strangers);
    await Promise.all(
      Array.from({ length: 100 }, (_, count) => wrong(strangers, `nobody-${count}`)),
    );
    expect(await outcomeOf(signIn.signIn({ name, password }, strangers))).toBe('limited');
    expect(await outcomeOf(signIn.signIn({ name, password }, newBrowser()))).toBe('none');
    expect(
      await outcomeOf(signIn.signIn({ name, password }, { ...strangers, device: known.device })),
    ).toBe('none');
  });

  it('do not accept the trusted device of another user', async () => {
    const other = await signIn.signInWithoutPassword(
      (await accounts.create({ name: `o-${randomUUID()}` })).id,
      newBrowser(),
    );
    for (let count = 0; count < 10; count += 1) await wrong({ ...browser, device: other.device });
    expect(await wrong({ ...browser, device: other.device })).toBe('limited');
    expect(await wrong(browser)).toBe('limited');
  });

  it('count an IPv6 network as one', async () => {
    for (let count = 0; count < 10; count += 1)
      await wrong({ ...browser, address: `2001:db8:1:2::${count}` });
    expect(await wrong({ ...browser, address: '2001:db8:1:2:ffff::1' })).toBe('limited');
  });

  it('apply per process while Redis is unavailable', async () => {
    const alone = await openPeople();
    try {
      await alone.redis.stop();
      const made = await alone.app.get(Passwords).hash(password, 'trustedDevice');
      await alone.app.get(Accounts).create({ name, password: made });
      const service = alone.app.get(SignIn);
      expect(await service.signIn({ name, password }, browser)).toHaveProperty('session');
      const outcomes: string[] = [];
      for (let count = 0; count < 11; count += 1)
        outcomes.push(
          await outcomeOf(service.signIn({ name, password: 'a wrong sentence' }, browser)),
        );
      expect(outcomes).toEqual([...Array.from({ length: 10 }, () => 'credentials'), 'limited']);
    } finally {
      await alone.close();
    }
  });
});
