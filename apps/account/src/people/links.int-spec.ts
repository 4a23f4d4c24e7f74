import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { outcomeOf } from '../../testing/outcome.js';
import { openPeople, type PeopleWorld } from '../../testing/people.world.js';
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

let world: PeopleWorld;
let links: Links;
let accounts: Accounts;
let registration: Registration;
let reset: PasswordReset;
let name: string;

beforeAll(async () => {
  world = await openPeople();
  const { app } = world;
  [links, accounts, registration, reset] = [
    app.get(Links),
    app.get(Accounts),
    app.get(Registration),
    app.get(PasswordReset),
  ];
});
afterAll(() => world.close());
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
  world.app.get(SignIn).signIn(entered, newBrowser());
const expire = () =>
  world.owner.query(`UPDATE account.links SET expires_at = now() - interval '1 second'`);

describe('a link', () => {
  it('is kept as a hash only', async () => {
    const secret = secretOf(await links.make('invite'));
    const { rows } = await world.owner.query('SELECT l::text AS row FROM account.links l');
    expect(rows).not.toEqual([]);
    expect(JSON.stringify(rows)).not.toContain(secret);
  });

  it('is not spent by looking', async () => {
    const secret = secretOf(await links.make('invite'));
    for (let looks = 0; looks < 3; looks += 1)
      expect(await links.look(secret)).toMatchObject({ kind: 'invite' });
  });

  it('works once, for whoever comes first of a hundred', async () => {
    const secret = secretOf(await links.make('invite'));
    const takes = await Promise.all(
      Array.from({ length: 100 }, () =>
        world.transaction((manager) => links.take(manager, secret, 'invite')),
      ),
    );
    expect(takes.filter((taken) => taken !== undefined)).toHaveLength(1);
  });

  it('of one kind is none of another', async () => {
    const { id } = await accounts.create({ name });
    const secret = secretOf(
      await links.make('verify', { accountId: id, email: 'ann@example.com' }),
    );
    expect(await outcomeOf(reset.byLink(secret, password, from()))).toBe('link');
    expect(await outcomeOf(registration.byLink(secret, { name, password }, from()))).toBe('link');
    expect(await links.look(secret)).toMatchObject({
      kind: 'verify',
      email: 'ann@example.com',
      name,
    });
  });

  it('works no more when its time is up', async () => {
    const secret = secretOf(await links.make('invite'));
    await expire();
    expect(await links.look(secret)).toBeUndefined();
    expect(await outcomeOf(registration.byLink(secret, { name, password }, from()))).toBe('link');
  });

  it('is one of five of an account at most; the oldest go', async () => {
    const { id } = await accounts.create({ name });
    const made: string[] = [];
    for (let count = 0; count < 6; count += 1)
      made.push(secretOf(await links.make('reset', { accountId: id })));
    const found = await Promise.all(
      made.map(async (secret) => (await links.look(secret)) !== undefined),
    );
    expect(found).toEqual([false, true, true, true, true, true]);
  });
});

describe('links of an account', () => {
  let id: string;
  beforeEach(async () => {
    ({ id } = await accounts.create({
      name,
      password: await world.app.get(Passwords).hash(password, 'known'),
    }));
  });
  const outOf = async () =>
    Promise.all(
      [
        await links.make('reset', { accountId: id }),
        await links.make('verify', { accountId: id, email: 'a@b.example' }),
      ]
        .map(secretOf)
        .map(async (secret) => async () => (await links.look(secret)) !== undefined),
    );
  const alive = async (out: (() => Promise<boolean>)[]) => Promise.all(out.map((look) => look()));

  it('end with a change of its password', async () => {
    const out = await outOf();
    expect(await alive(out)).toEqual([true, true]);
    await accounts.changePassword(id, password, 'another sentence', noSession);
    expect(await alive(out)).toEqual([false, false]);
  });

  it('end when it is disabled, for good', async () => {
    const out = await outOf();
    await accounts.disable(id);
    await accounts.enable(id);
    expect(await alive(out)).toEqual([false, false]);
  });

  it('prove no address while it is disabled', async () => {
    const secret = secretOf(await links.make('verify', { accountId: id, email: 'a@b.example' }));
    await world.owner.query('UPDATE account.accounts SET disabled_at = now() WHERE id = $1', [id]);
    expect(await outcomeOf(world.app.get(Emails).verify(secret))).toBe('link');
    expect(await accounts.find(id)).toMatchObject({ email: null });
  });

  it('are not made when it is disabled or gone', async () => {
    await accounts.disable(id);
    expect(await outcomeOf(links.make('verify', { accountId: id, email: 'a@b.example' }))).toBe(
      'link',
    );
    expect(await outcomeOf(links.make('reset', { accountId: randomUUID() }))).toBe('link');
  });

  it('are used two at a time without waiting for each other for ever', async () => {
    const secrets = [
      secretOf(await links.make('reset', { accountId: id })),
      secretOf(await links.make('reset', { accountId: id })),
    ];
    const outcomes = secrets.map((secret, n) =>
      outcomeOf(reset.byLink(secret, `another sentence ${n}`, from())),
    );
    expect((await Promise.all(outcomes)).sort()).toEqual(['link', 'none']);
  });
});

describe('passwords by links', () => {
  it('are counted by network before any is hashed, and given back where they are used', async () => {
    const at = from();
    for (let count = 0; count < 12; count += 1) {
      const secret = secretOf(await links.make('invite'));
      expect(
        await outcomeOf(registration.byLink(secret, { name: `${name}-${count}`, password }, at)),
      ).toBe('none');
    }
    const secret = secretOf(await links.make('invite'));
    const again = () => outcomeOf(registration.byLink(secret, { name: `${name}-0`, password }, at));
    for (let count = 0; count < 10; count += 1) expect(await again()).toBe('name_taken');
    expect(await again()).toBe('limited');
  });
});

describe('an invitation', () => {
  it('makes an account of whatever free name', async () => {
    const secret = secretOf(await links.make('invite'));
    await registration.byLink(secret, { name, password }, from());
    expect(await signIn({ name, password })).toHaveProperty('session');
    expect(
      await outcomeOf(registration.byLink(secret, { name: `${name}2`, password }, from())),
    ).toBe('link');
  });

  it('is not spent on a name that is taken or a password that is no good', async () => {
    await accounts.create({ name });
    const secret = secretOf(await links.make('invite'));
    expect(
      await outcomeOf(registration.byLink(secret, { name: name.toUpperCase(), password }, from())),
    ).toBe('name_taken');
    expect(
      await outcomeOf(registration.byLink(secret, { name: `${name}2`, password: 'short' }, from())),
    ).toBe('password_short');
    expect(await outcomeOf(registration.byLink(secret, { name: 'an n', password }, from()))).toBe(
      'name',
    );
    expect(await links.look(secret)).toBeDefined();
  });
});

describe('REGISTRATION', () => {
  const outcomes = async ({ app }: PeopleWorld) => {
    const secret = secretOf(await app.get(Links).make('invite'));
    const alone = (n: number) =>
      app.get(Registration).open({ name: `${name}-${n}`, password }, '2001:db8::1');
    const made = [
      await outcomeOf(app.get(Registration).byLink(secret, { name, password }, from())),
    ];
    for (let n = 0; n < 11; n += 1) made.push(await outcomeOf(alone(n)));
    return made;
  };
  const times = (count: number, outcome: string) => Array.from({ length: count }, () => outcome);

  it('invite: by an invitation, and not by oneself', async () =>
    expect(await outcomes(world)).toEqual(['none', ...times(11, 'registration')]));

  it.each([
    [
      'open: by oneself, too, ten accounts a day from one network',
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
  it('is created although accounts exist that nobody can sign in to', async () => {
    const empty = await openPeople();
    try {
      await empty.app.get(Accounts).create({ name: 'scripts' });
      const service = empty.app.get(Registration);
      const secret = secretOf((await service.firstLink()) as NewLink);
      const { id } = await service.byLink(secret, { name, password }, from());
      expect(await empty.app.get(Accounts).findByName(name)).toMatchObject({ id });
      expect(await service.firstLink()).toBeUndefined();
    } finally {
      await empty.close();
    }
  });

  it('is made by one of the links that were shown, by nobody else then', async () => {
    const empty = await openPeople();
    try {
      const service = empty.app.get(Registration);
      const secrets = await Promise.all(
        Array.from({ length: 10 }, async () => secretOf((await service.firstLink()) as NewLink)),
      );
      const made = await Promise.allSettled(
        secrets.map((secret, n) =>
          service.byLink(secret, { name: `${name}-${n}`, password }, from()),
        ),
      );
      const [first, ...others] = made.flatMap((outcome) =>
        outcome.status === 'fulfilled' ? [outcome.value] : [],
      );
      expect(others).toEqual([]);
      expect(first).toBeDefined();
      expect(await service.firstLink()).toBeUndefined();
    } finally {
      await empty.close();
    }
  });
});

describe('a new password', () => {
  let accountId: string;
  beforeEach(async () => {
    const invitation = secretOf(await links.make('invite'));
    accountId = (await registration.byLink(invitation, { name, password }, from())).id;
  });

  it('by a link: sessions end, and other links work no more', async () => {
    const { session } = await world.app.get(SignIn).forAccount(accountId, newBrowser());
    const [secret, other] = [
      secretOf(await links.make('reset', { accountId })),
      secretOf(await links.make('reset', { accountId })),
    ];
    expect(await reset.byLink(secret, 'another sentence', from())).toEqual({ accountId, name });
    expect(await world.app.get(Sessions).find(session.cookie)).toBeUndefined();
    expect(await outcomeOf(reset.byLink(other, 'a third sentence', from()))).toBe('link');
    expect(await outcomeOf(signIn({ name, password }))).toBe('credentials');
    expect(await signIn({ name, password: 'another sentence' })).toHaveProperty('session');
    expect(await world.revoked()).toEqual(
      expect.arrayContaining([`user:${accountId}`, `session:${session.id}`]),
    );
  });

  it('by a recovery code, each of ten once, however many come with it at the same time', async () => {
    const codes = await world.app.get(RecoveryCodes).make(accountId);
    expect(new Set(codes).size).toBe(10);
    const [code = ''] = codes;
    const tries = await Promise.all(
      Array.from({ length: 9 }, () =>
        outcomeOf(reset.byRecoveryCode({ name, code, password: 'another sentence' }, newBrowser())),
      ),
    );
    expect(tries.filter((outcome) => outcome === 'none')).toHaveLength(1);
    expect(await world.app.get(RecoveryCodes).left(accountId)).toBe(9);
    expect(await signIn({ name, password: 'another sentence' })).toHaveProperty('session');
  });

  it('by a recovery code: is refused alike for a wrong code, an unknown name and a disabled account', async () => {
    const [code = ''] = await world.app.get(RecoveryCodes).make(accountId);
    const by = (as: string, typed: string) =>
      outcomeOf(
        reset.byRecoveryCode({ name: as, code: typed, password: 'another sentence' }, newBrowser()),
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

  it('is chosen by who knows the old one: twenty wrong ones end in a limit', async () => {
    const mine = await world.app.get(SignIn).forAccount(accountId, newBrowser());
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

  it('of one account is hashed one at a time: the others find room', async () => {
    const passwords = world.app.get(Passwords);
    const changes = Array.from({ length: 20 }, () =>
      outcomeOf(
        accounts.changePassword(accountId, 'a wrong sentence', 'another sentence', noSession),
      ),
    );
    const waiting = new Set<number>();
    const watch = setInterval(() => waiting.add(passwords.waiting), 1);
    const outcomes = await Promise.all(changes);
    clearInterval(watch);
    expect(Math.max(0, ...waiting)).toBe(0);
    expect(outcomes.filter((outcome) => outcome === 'credentials').length).toBeGreaterThanOrEqual(
      1,
    );
    expect(outcomes.filter((outcome) => outcome === 'none')).toEqual([]);
    expect(outcomes).toContain('limited');
  });

  it('ends the secret of a second factor that waits for its first code', async () => {
    const totp = world.app.get(Totp);
    await totp.begin(accountId);
    await reset.byLink(
      secretOf(await links.make('reset', { accountId })),
      'another sentence',
      from(),
    );
    expect(await totp.pending(accountId)).toBeUndefined();
  });

  it('makes earlier recovery codes of no use when new ones are made', async () => {
    const [old = ''] = await world.app.get(RecoveryCodes).make(accountId);
    await world.app.get(RecoveryCodes).make(accountId);
    const entered = { name, code: old, password: 'another sentence' };
    expect(await outcomeOf(reset.byRecoveryCode(entered, newBrowser()))).toBe('credentials');
  });

  it('chosen by somebody who knows the old one ends all other sessions', async () => {
    const mine = await world.app.get(SignIn).forAccount(accountId, newBrowser());
    const other = await world.app.get(SignIn).forAccount(accountId, newBrowser());
    const change = (current: string) =>
      accounts.changePassword(accountId, current, 'another sentence', {
        ...noSession,
        id: mine.session.id,
      });
    expect(await outcomeOf(change('a wrong sentence'))).toBe('credentials');
    await change(password);
    const sessions = world.app.get(Sessions);
    expect(await sessions.find(mine.session.cookie)).toBeDefined();
    expect(await sessions.find(other.session.cookie)).toBeUndefined();
  });
});
