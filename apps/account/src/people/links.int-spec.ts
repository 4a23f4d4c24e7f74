import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { outcomeOf } from '../../testing/outcome.js';
import { openPeople, type PeopleFixture } from '../../testing/people.fixture.js';
import { Accounts } from './accounts.js';
import { Emails } from './emails.js';
import { Links, type NewLink } from './links.js';
import { PasswordReset } from './password-reset.js';
import { Passwords } from './passwords.js';
import { RecoveryCodes } from './recovery-codes.js';
import { Registration } from './registration.js';
import { Sessions } from './sessions.js';
import { SignIn } from './sign-in.js';
import { Totp } from './totp.js';

const password = 'an unusual sentence';

let fixture: PeopleFixture;
let links: Links;
let accounts: Accounts;
let registration: Registration;
let reset: PasswordReset;
let name: string;

beforeAll(async () => {
  fixture = await openPeople();
  const { app } = fixture;
  [links, accounts, registration, reset] = [
    app.get(Links),
    app.get(Accounts),
    app.get(Registration),
    app.get(PasswordReset),
  ];
});
afterAll(() => fixture.close());
beforeEach(() => {
  name = `ann-${randomUUID()}`;
});

/** Session that does not exist. */
const noSession = { id: randomUUID(), address: '192.0.2.9', userAgent: '' };
const secretOf = ({ url }: NewLink) => url.slice(url.lastIndexOf('/') + 1);
let address = 0;
const from = () => `10.0.0.${(address += 1)}`;
const newBrowser = () => ({ address: from(), userAgent: '' });
const signIn = (entered: { name: string; password: string }) =>
  fixture.app.get(SignIn).signIn(entered, newBrowser());
const expire = () =>
  fixture.owner.query(`UPDATE account.links SET expires_at = now() - interval '1 second'`);

describe('a link', () => {
  it('is stored only as a hash', async () => {
    const secret = secretOf(await links.createLink('invite'));
    const { rows } = await fixture.owner.query('SELECT l::text AS row FROM account.links l');
    expect(rows).not.toEqual([]);
    expect(JSON.stringify(rows)).not.toContain(secret);
  });

  it('is not spent by reading it', async () => {
    const secret = secretOf(await links.createLink('invite'));
    for (let looks = 0; looks < 3; looks += 1)
      expect(await links.readLink(secret)).toMatchObject({ kind: 'invite' });
  });

  it('works once for 100 concurrent uses', async () => {
    const secret = secretOf(await links.createLink('invite'));
    const takes = await Promise.all(
      Array.from({ length: 100 }, () =>
        fixture.transaction((manager) => links.consumeLink(manager, secret, 'invite')),
      ),
    );
    expect(takes.filter((taken) => taken !== undefined)).toHaveLength(1);
  });

  it('of one kind does not work as another', async () => {
    const { id } = await accounts.create({ name });
    const secret = secretOf(
      await links.createLink('verify', { accountId: id, email: 'ann@example.com' }),
    );
    expect(await outcomeOf(reset.resetByLink(secret, password, newBrowser()))).toBe('link');
    expect(await outcomeOf(registration.registerByLink(secret, { name, password }, from()))).toBe(
      'link',
    );
    expect(await links.readLink(secret)).toMatchObject({
      kind: 'verify',
      email: 'ann@example.com',
      name,
    });
  });

  it('does not work after its expiry', async () => {
    const secret = secretOf(await links.createLink('invite'));
    await expire();
    expect(await links.readLink(secret)).toBeUndefined();
    expect(await outcomeOf(registration.registerByLink(secret, { name, password }, from()))).toBe(
      'link',
    );
  });

  it('is limited to five per account; the oldest are deleted', async () => {
    const { id } = await accounts.create({ name });
    const made: string[] = [];
    for (let count = 0; count < 6; count += 1)
      made.push(secretOf(await links.createLink('reset', { accountId: id })));
    const found = await Promise.all(
      made.map(async (secret) => (await links.readLink(secret)) !== undefined),
    );
    expect(found).toEqual([false, true, true, true, true, true]);
  });
});

describe('links of an account', () => {
  let id: string;
  beforeEach(async () => {
    ({ id } = await accounts.create({
      name,
      password: await fixture.app.get(Passwords).hash(password, 'trustedDevice'),
    }));
  });
  const outOf = async () =>
    Promise.all(
      [
        await links.createLink('reset', { accountId: id }),
        await links.createLink('verify', { accountId: id, email: 'a@b.example' }),
      ]
        .map(secretOf)
        .map(async (secret) => async () => (await links.readLink(secret)) !== undefined),
    );
  const alive = async (out: (() => Promise<boolean>)[]) => Promise.all(out.map((look) => look()));

  it('end with a change of the password', async () => {
    const out = await outOf();
    expect(await alive(out)).toEqual([true, true]);
    await accounts.changePassword(id, password, 'another sentence', noSession);
    expect(await alive(out)).toEqual([false, false]);
  });

  it('end permanently when the account is disabled', async () => {
    const out = await outOf();
    await accounts.disable(id);
    await accounts.enable(id);
    expect(await alive(out)).toEqual([false, false]);
  });

  it('verify no address while the account is disabled', async () => {
    const secret = secretOf(
      await links.createLink('verify', { accountId: id, email: 'a@b.example' }),
    );
    await fixture.owner.query('UPDATE account.accounts SET disabled_at = now() WHERE id = $1', [
      id,
    ]);
    expect(await outcomeOf(fixture.app.get(Emails).verifyAddress(secret))).toBe('link');
    expect(await accounts.find(id)).toMatchObject({ email: null });
  });

  it('are not created for a disabled or missing account', async () => {
    await accounts.disable(id);
    expect(
      await outcomeOf(links.createLink('verify', { accountId: id, email: 'a@b.example' })),
    ).toBe('link');
    expect(await outcomeOf(links.createLink('reset', { accountId: randomUUID() }))).toBe('link');
  });

  it('are used concurrently without a deadlock', async () => {
    const secrets = [
      secretOf(await links.createLink('reset', { accountId: id })),
      secretOf(await links.createLink('reset', { accountId: id })),
    ];
    const outcomes = secrets.map((secret, n) =>
      outcomeOf(reset.resetByLink(secret, `another sentence ${n}`, newBrowser())),
    );
    expect((await Promise.all(outcomes)).sort()).toEqual(['link', 'none']);
  });
});

describe('passwords by links', () => {
  it('are counted by network before hashing, and refunded on success', async () => {
    const at = from();
    for (let count = 0; count < 12; count += 1) {
      const secret = secretOf(await links.createLink('invite'));
      expect(
        await outcomeOf(
          registration.registerByLink(secret, { name: `${name}-${count}`, password }, at),
        ),
      ).toBe('none');
    }
    const secret = secretOf(await links.createLink('invite'));
    const again = () =>
      outcomeOf(registration.registerByLink(secret, { name: `${name}-0`, password }, at));
    for (let count = 0; count < 10; count += 1) expect(await again()).toBe('name_taken');
    expect(await again()).toBe('limited');
  });
});

describe('an invitation', () => {
  it('ends after seven days', async () => {
    const secret = secretOf(await links.createLink('invite'));
    const advance = (interval: string) =>
      fixture.owner.query('UPDATE account.links SET expires_at = expires_at - $1::interval', [
        interval,
      ]);
    await advance('6 days 23 hours 59 minutes');
    expect(await links.readLink(secret)).toMatchObject({ kind: 'invite' });
    await advance('1 minute');
    expect(await links.readLink(secret)).toBeUndefined();
  });

  it('creates an account with a free name', async () => {
    const secret = secretOf(await links.createLink('invite'));
    await registration.registerByLink(secret, { name, password }, from());
    expect(await signIn({ name, password })).toHaveProperty('session');
    expect(
      await outcomeOf(registration.registerByLink(secret, { name: `${name}2`, password }, from())),
    ).toBe('link');
  });

  it('is not spent for a taken name or a bad password', async () => {
    await accounts.create({ name });
    const secret = secretOf(await links.createLink('invite'));
    expect(
      await outcomeOf(
        registration.registerByLink(secret, { name: name.toUpperCase(), password }, from()),
      ),
    ).toBe('name_taken');
    expect(
      await outcomeOf(
        registration.registerByLink(secret, { name: `${name}2`, password: 'short' }, from()),
      ),
    ).toBe('password_short');
    expect(
      await outcomeOf(registration.registerByLink(secret, { name: 'an n', password }, from())),
    ).toBe('name');
    expect(await links.readLink(secret)).toBeDefined();
  });
});

describe('REGISTRATION', () => {
  const outcomes = async ({ app }: PeopleFixture) => {
    const secret = secretOf(await app.get(Links).createLink('invite'));
    const alone = (n: number) =>
      app.get(Registration).register({ name: `${name}-${n}`, password }, '2001:db8::1');
    const made = [
      await outcomeOf(app.get(Registration).registerByLink(secret, { name, password }, from())),
    ];
    for (let n = 0; n < 11; n += 1) made.push(await outcomeOf(alone(n)));
    return made;
  };
  const times = (count: number, outcome: string) => Array.from({ length: count }, () => outcome);

  it('invite: only by invitation', async () =>
    expect(await outcomes(fixture)).toEqual(['none', ...times(11, 'registration')]));

  it.each([
    [
      'open: also without invitation, ten accounts a day per network',
      'open',
      ['none', ...times(10, 'none'), 'limited'],
    ],
    ['closed: by nobody', 'closed', times(12, 'registration')],
  ] as const)('%s', async (_, setting, expected) => {
    const other = await openPeople({ REGISTRATION: setting });
    try {
      await other.app.get(Accounts).create({ name: 'first' });
      expect(await outcomes(other)).toEqual(expected);
    } finally {
      await other.close();
    }
  });
});

describe('the first account', () => {
  it('is created although accounts without sign-in exist', async () => {
    const empty = await openPeople();
    try {
      await empty.app.get(Accounts).create({ name: 'scripts' });
      const service = empty.app.get(Registration);
      const secret = secretOf((await service.createFirstLink()) as NewLink);
      const { id } = await service.registerByLink(secret, { name, password }, from());
      expect(await empty.app.get(Accounts).findByName(name)).toMatchObject({ id });
      expect(await service.createFirstLink()).toBeUndefined();
    } finally {
      await empty.close();
    }
  });

  it('is created by one of the printed links, and then by no other', async () => {
    const empty = await openPeople();
    try {
      const service = empty.app.get(Registration);
      const secrets = await Promise.all(
        Array.from({ length: 10 }, async () =>
          secretOf((await service.createFirstLink()) as NewLink),
        ),
      );
      const made = await Promise.allSettled(
        secrets.map((secret, n) =>
          service.registerByLink(secret, { name: `${name}-${n}`, password }, from()),
        ),
      );
      const [first, ...others] = made.flatMap((outcome) =>
        outcome.status === 'fulfilled' ? [outcome.value] : [],
      );
      expect(others).toEqual([]);
      expect(first).toBeDefined();
      expect(await service.createFirstLink()).toBeUndefined();
    } finally {
      await empty.close();
    }
  });
});

describe('a new password', () => {
  let accountId: string;
  beforeEach(async () => {
    const invitation = secretOf(await links.createLink('invite'));
    accountId = (await registration.registerByLink(invitation, { name, password }, from())).id;
  });

  it('by a link ends sessions and other links', async () => {
    const { session } = await fixture.app
      .get(SignIn)
      .signInWithoutPassword(accountId, newBrowser());
    const [secret, other] = [
      secretOf(await links.createLink('reset', { accountId })),
      secretOf(await links.createLink('reset', { accountId })),
    ];
    await reset.resetByLink(secret, 'another sentence', newBrowser());
    expect(await fixture.app.get(Sessions).findAndRecordUse(session.cookie)).toBeUndefined();
    expect(await outcomeOf(reset.resetByLink(other, 'a third sentence', newBrowser()))).toBe(
      'link',
    );
    expect(await outcomeOf(signIn({ name, password }))).toBe('credentials');
    expect(await signIn({ name, password: 'another sentence' })).toHaveProperty('session');
    expect(await fixture.revoked()).toEqual(
      expect.arrayContaining([`user:${accountId}`, `session:${session.id}`]),
    );
  });

  it('by a recovery code, each of ten once, also under concurrency', async () => {
    const codes = await fixture.app.get(RecoveryCodes).replaceAll(accountId);
    expect(new Set(codes).size).toBe(10);
    const [code = ''] = codes;
    const tries = await Promise.all(
      Array.from({ length: 9 }, () =>
        outcomeOf(
          reset.resetByRecoveryCode({ name, code, password: 'another sentence' }, newBrowser()),
        ),
      ),
    );
    expect(tries.filter((outcome) => outcome === 'none')).toHaveLength(1);
    expect(await fixture.app.get(RecoveryCodes).countUnused(accountId)).toBe(9);
    expect(await signIn({ name, password: 'another sentence' })).toHaveProperty('session');
  });

  it('by a recovery code is refused equally for a wrong code or account', async () => {
    const [code = ''] = await fixture.app.get(RecoveryCodes).replaceAll(accountId);
    const by = (as: string, typed: string) =>
      outcomeOf(
        reset.resetByRecoveryCode(
          { name: as, code: typed, password: 'another sentence' },
          newBrowser(),
        ),
      );
    const outcomes = [
      await by(name, '0000-0000-0000-0000'),
      await by('nobody', code),
      await by(name, 'x'),
    ];
    await accounts.disable(accountId);
    expect([...outcomes, await by(name, code)]).toEqual(
      Array.from({ length: 4 }, () => 'credentials'),
    );
  });

  it('requires the old one, of which twenty wrong ones reach a limit', async () => {
    const mine = await fixture.app.get(SignIn).signInWithoutPassword(accountId, newBrowser());
    const outcomes: string[] = [];
    for (let count = 0; count < 20; count += 1)
      outcomes.push(
        await outcomeOf(
          accounts.changePassword(accountId, 'a wrong sentence', 'another sentence', {
            ...noSession,
            id: mine.session.id,
          }),
        ),
      );
    expect(outcomes.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 'credentials'));
    expect(new Set(outcomes.slice(10))).toEqual(new Set(['limited']));
  });

  it('of one account is hashed one at a time, which leaves slots for others', async () => {
    const passwords = fixture.app.get(Passwords);
    const changes = Array.from({ length: 20 }, () =>
      outcomeOf(
        accounts.changePassword(accountId, 'a wrong sentence', 'another sentence', noSession),
      ),
    );
    const waiting = new Set<number>();
    const watch = setInterval(() => waiting.add(passwords.waitingCount), 1);
    const outcomes = await Promise.all(changes);
    clearInterval(watch);
    expect(Math.max(0, ...waiting)).toBe(0);
    expect(outcomes.filter((outcome) => outcome === 'credentials').length).toBeGreaterThanOrEqual(
      1,
    );
    expect(outcomes.filter((outcome) => outcome === 'none')).toEqual([]);
    expect(outcomes).toContain('limited');
  });

  it('deletes an unconfirmed second factor', async () => {
    const totp = fixture.app.get(Totp);
    await totp.createSecret(accountId);
    await reset.resetByLink(
      secretOf(await links.createLink('reset', { accountId })),
      'another sentence',
      newBrowser(),
    );
    expect(await totp.readPending(accountId)).toBeUndefined();
  });

  it('does not accept recovery codes that were replaced', async () => {
    const [old = ''] = await fixture.app.get(RecoveryCodes).replaceAll(accountId);
    await fixture.app.get(RecoveryCodes).replaceAll(accountId);
    const entered = { name, code: old, password: 'another sentence' };
    expect(await outcomeOf(reset.resetByRecoveryCode(entered, newBrowser()))).toBe('credentials');
  });

  it('with the old one ends all other sessions', async () => {
    const mine = await fixture.app.get(SignIn).signInWithoutPassword(accountId, newBrowser());
    const other = await fixture.app.get(SignIn).signInWithoutPassword(accountId, newBrowser());
    const change = (current: string) =>
      accounts.changePassword(accountId, current, 'another sentence', {
        ...noSession,
        id: mine.session.id,
      });
    expect(await outcomeOf(change('a wrong sentence'))).toBe('credentials');
    await change(password);
    const sessions = fixture.app.get(Sessions);
    expect(await sessions.findAndRecordUse(mine.session.cookie)).toBeDefined();
    expect(await sessions.findAndRecordUse(other.session.cookie)).toBeUndefined();
  });
});
