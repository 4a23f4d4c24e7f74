import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import pg from 'pg';
import { eventually } from '#testing';
import { outcomeOf } from '../../testing/outcome.js';
import { openPeople, type PeopleFixture } from '../../testing/people.fixture.js';
import { type Account, Accounts } from './accounts.js';
import { Administrators } from './administrators.js';
import { Links } from './links.js';
import { Notices } from './notices.js';
import { Registration } from './registration.js';
import { SignIn } from './sign-in.js';

const browser = { address: '192.0.2.1', userAgent: 'Firefox' };

let fixture: PeopleFixture;
let accounts: Accounts;
let administrators: Administrators;
beforeAll(async () => {
  fixture = await openPeople();
  accounts = fixture.app.get(Accounts);
  administrators = fixture.app.get(Administrators);
});
afterAll(() => fixture.close());
afterEach(() => fixture.owner.query('DELETE FROM account.accounts'));

async function create(isAdministrator = true, name = `ann-${randomUUID()}`): Promise<string> {
  return (await accounts.create({ name, isAdministrator })).id;
}

const isAdministrator = async (id: string) => (await accounts.find(id))?.isAdministrator;
const kinds = async (id: string) =>
  (await fixture.app.get(Notices).list(id)).map(({ kind }) => kind);

describe('an administrator', () => {
  it.each([
    ['first', true],
    ['invite', false],
  ] as const)('by a link of the kind %s: %s', async (kind, expected) => {
    const { url } = await fixture.app.get(Links).createLink(kind);
    const secret = url.slice(url.lastIndexOf('/') + 1);
    const entered = { name: 'ann', password: 'an unusual sentence' };
    const { id } = await fixture.app.get(Registration).registerByLink(secret, entered, '192.0.2.1');
    expect(await isAdministrator(id)).toBe(expected);
  });

  it('is appointed and dismissed, and notified once of each', async () => {
    await create();
    const id = await create(false);
    await administrators.appoint(id);
    await administrators.appoint(id);
    expect([await isAdministrator(id), await kinds(id)]).toEqual([true, ['appointed']]);
    await administrators.dismiss(id);
    await administrators.dismiss(id);
    expect([await isAdministrator(id), await kinds(id)]).toEqual([
      false,
      ['dismissed', 'appointed'],
    ]);
  });

  it('appoints nobody in a session that has ended', async () => {
    const id = await create(false);
    expect(await outcomeOf(administrators.appoint(id, randomUUID()))).toBe('credentials');
    expect([await isAdministrator(id), await kinds(id)]).toEqual([false, []]);
  });

  it('that is the last one is neither dismissed nor disabled', async () => {
    const id = await create();
    await create(false);
    // A disabled administrator manages nothing.
    const other = await create();
    await accounts.disable(other);
    expect(await outcomeOf(administrators.dismiss(id))).toBe('last_administrator');
    expect(await outcomeOf(accounts.disable(id))).toBe('last_administrator');
    expect(await accounts.find(id)).toMatchObject({ isAdministrator: true, disabled: false });
    const { rows } = await fixture.owner.query(
      'SELECT FROM sync.user_clock WHERE user_id = $1 AND refused IS NOT NULL',
      [id],
    );
    expect(rows).toEqual([]);
    await administrators.dismiss(other);
    await accounts.enable(other);
    await accounts.disable(other);
  });
});

describe('two administrators', () => {
  type Change = (id: string) => Promise<unknown>;
  const dismiss: Change = (id) => administrators.dismiss(id);
  const disable: Change = (id) => accounts.disable(id);

  /** Waits until a number of statements wait for locks. */
  const waiting = (count: number) =>
    eventually(async () => {
      const { rowCount } = await fixture.owner.query(
        `SELECT FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      expect(rowCount).toBe(count);
    });

  it.each<[string, Change, Change]>([
    ['dismissed', dismiss, dismiss],
    ['disabled', disable, disable],
    ['dismissed and disabled', dismiss, disable],
  ])('%s at the same moment: one stays', async (_, first, second) => {
    const ids = [await create(), await create()] as const;
    const holder = new pg.Client({ connectionString: fixture.ownerUrl });
    await holder.connect();
    try {
      // Both changes start before either of them commits.
      await holder.query('BEGIN');
      await holder.query('SELECT FROM account.accounts FOR UPDATE');
      const changes = [outcomeOf(first(ids[0])), outcomeOf(second(ids[1]))];
      await waiting(2);
      await holder.query('COMMIT');
      expect((await Promise.all(changes)).sort()).toEqual(['last_administrator', 'none']);
    } finally {
      await holder.end();
    }
    const { rowCount } = await fixture.owner.query(
      'SELECT FROM account.accounts WHERE is_administrator AND disabled_at IS NULL',
    );
    expect(rowCount).toBe(1);
  });
});

describe('the list of accounts', () => {
  it('is sorted by name in any case, ends without names, and has pages', async () => {
    for (const name of ['bob', 'Carol', 'Ann']) await create(false, name);
    const subject = randomUUID();
    await accounts.findOrCreateByProvider('https://provider.example', subject, subject);
    const names: (string | null)[] = [];
    for (let after: Account | undefined; ;) {
      const page = await accounts.list({ limit: 3, after });
      if (page.length === 0) break;
      names.push(...page.map(({ name }) => name));
      after = page.at(-1);
    }
    expect(names).toEqual(['Ann', 'bob', 'Carol', null]);
  });

  it('is searched by a part of the name, in which % and _ are characters', async () => {
    for (const name of ['Ann_a', 'annb', 'bob']) await create(false, name);
    const search = async (name: string) =>
      (await accounts.list({ limit: 9, name })).map((account) => account.name);
    expect(await search('AN')).toEqual(['Ann_a', 'annb']);
    expect(await search('n_')).toEqual(['Ann_a']);
    expect(await search('%')).toEqual([]);
  });

  it('has the time of the last sign-in', async () => {
    const id = await create();
    expect((await accounts.find(id))?.signedInAt).toBeNull();
    const before = Date.now();
    await fixture.app.get(SignIn).signInWithoutPassword(id, browser);
    const [listed] = await accounts.list({ limit: 1 });
    expect(Math.abs((listed?.signedInAt?.getTime() ?? 0) - before)).toBeLessThan(60_000);
  });
});
