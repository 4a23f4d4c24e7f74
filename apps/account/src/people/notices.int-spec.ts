import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { TOTP } from 'otpauth';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openPeople, type PeopleFixture } from '../../testing/people.fixture.js';
import { AppPasswords } from '../credentials/app-passwords.js';
import { LoginFlows } from '../credentials/login-flows.js';
import { Accounts } from './accounts.js';
import { Emails } from './emails.js';
import { Links } from './links.js';
import { Notices } from './notices.js';
import { PasswordReset } from './password-reset.js';
import { Passwords } from './passwords.js';
import { RecoveryCodes } from './recovery-codes.js';
import { SecondFactor } from './second-factor.js';
import { SignIn, type SignInResult } from './sign-in.js';

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

const signIn = async (device?: string) =>
  (await fixture.app
    .get(SignIn)
    .signIn({ name, password }, { ...browser, ...(device && { device }) })) as SignInResult;
const noticed = () => fixture.app.get(Notices).list(id);
const kinds = async () => (await noticed()).map(({ kind }) => kind);
/** Session of the browser; it does not end in these tests. */
const actor = async () => {
  const { session } = await fixture.app.get(SignIn).signInWithoutPassword(id, browser, true);
  return { ...browser, id: session.id };
};
async function link(kind: 'reset' | 'verify') {
  const of = { accountId: id, ...(kind === 'verify' && { email: 'a@b.example' }) };
  const { url } = await fixture.app.get(Links).createLink(kind, of);
  return url.slice(url.lastIndexOf('/') + 1);
}

describe('a notice', () => {
  it('reports a sign-in of a browser without the device cookie of this name', async () => {
    const { device } = await signIn();
    await signIn(device);
    expect(await noticed()).toEqual([
      { kind: 'sign_in', label: null, createdAt: expect.any(Date), ...browser },
    ]);
  });

  it('does not report the sign-in that follows the creation of the account', async () => {
    await fixture.app.get(SignIn).signInWithoutPassword(id, browser, true);
    expect(await kinds()).toEqual([]);
  });

  const changes: [string, string, () => Promise<unknown>][] = [
    [
      'password',
      'a changed password',
      async () =>
        fixture.app.get(Accounts).changePassword(id, password, 'another sentence', await actor()),
    ],
    [
      'password',
      'a reset by a link',
      async () =>
        fixture.app.get(PasswordReset).resetByLink(await link('reset'), 'another sentence', {
          ...browser,
          address: '192.0.2.2',
        }),
    ],
    [
      'recovery_codes',
      'new recovery codes',
      async () => fixture.app.get(RecoveryCodes).replaceAll(id, await actor()),
    ],
    [
      'email',
      'a confirmed address',
      async () => fixture.app.get(Emails).verifyAddress(await link('verify'), browser),
    ],
    ['email', 'a removed address', async () => fixture.app.get(Emails).removeAddress(id, browser)],
    [
      'second_factor_off',
      'the second factor switched off',
      async () => {
        const { secret } = await fixture.app.get(SecondFactor).totp.createSecret(id);
        const code = (step: number) =>
          new TOTP({ secret }).generate({ timestamp: Date.now() + step * 30_000 });
        await fixture.app.get(SecondFactor).totp.confirmSecret(id, code(0));
        const by = { id, name, session: randomUUID() };
        const proof = { kind: 'code', code: code(1) } as const;
        await fixture.app.get(SecondFactor).switchTotpOff(by, proof, browser);
      },
    ],
  ];
  it.each(changes)('%s reports %s', async (kind, _, change) => {
    await change();
    expect(await kinds()).toEqual([kind]);
  });

  it('names a new app password, also of a login flow or the operator', async () => {
    const wanted = { label: 'A script', scopes: ['read:subscriptions'] };
    await fixture.app.get(AppPasswords).create(id, wanted, await actor());
    await fixture.app.get(AppPasswords).create(id, { ...wanted, label: 'By the operator' });
    const [poll, login] = [0, 1].map(() => randomBytes(48).toString('base64url')) as [
      string,
      string,
    ];
    const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url');
    const flows = fixture.app.get(LoginFlows);
    await flows.startFlow({
      pollHash: sha256(poll),
      loginHash: sha256(login),
      userAgent: 'AntennaPod',
      address: '192.0.2.3',
      server: 'https://sync.example',
    });
    await flows.approve(login, id);
    await flows.poll(poll);
    // A repeated poll replaces the app password and causes no notice.
    await flows.poll(poll);
    expect(await noticed()).toMatchObject([
      { kind: 'app_password', label: 'AntennaPod', address: '192.0.2.3' },
      { kind: 'app_password', label: 'By the operator', address: '' },
      { kind: 'app_password', label: 'A script', ...browser },
    ]);
  });

  it('is limited to five per kind, and displaces no other kind', async () => {
    const notices = fixture.app.get(Notices);
    await notices.addNotice(id, 'second_factor_off', browser);
    for (let count = 0; count < 7; count += 1)
      await notices.addNotice(id, 'sign_in', { ...browser, address: `192.0.2.${count}` });
    const all = await noticed();
    expect(all.map(({ address }) => address)).toEqual([
      '192.0.2.6',
      '192.0.2.5',
      '192.0.2.4',
      '192.0.2.3',
      '192.0.2.2',
      '192.0.2.1',
    ]);
    expect(all.at(-1)?.kind).toBe('second_factor_off');
  });

  it('that cannot be stored does not fail the change', async () => {
    await fixture.app.get(Notices).addNotice(randomUUID(), 'password', browser);
  });
});
