import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { appPasswordHash } from '#identity';
import { callProgram, startProgram } from '#testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { podcastSync } from '../../../cli/src/podcast-sync.js';
import { openPeople, type PeopleFixture } from '../../testing/people.fixture.js';
import { AppPasswords } from '../credentials/app-passwords.js';
import { Accounts } from '../people/accounts.js';
import { Links } from '../people/links.js';
import { Registration } from '../people/registration.js';
import { Sessions } from '../people/sessions.js';
import { SignIn } from '../people/sign-in.js';

let fixture: PeopleFixture;
let data: string;
let name: string;

beforeAll(async () => {
  fixture = await openPeople();
  data = mkdtempSync(join(tmpdir(), 'accounts-'));
  writeFileSync(join(data, 'account-database-url'), fixture.databaseUrl);
  writeFileSync(join(data, 'redis-url'), fixture.redis.url);
  writeFileSync(join(data, 'account-url'), 'https://accounts.example');
});
afterAll(async () => {
  rmSync(data, { recursive: true });
  await fixture.close();
});
beforeEach(() => {
  name = `ann-${randomUUID()}`;
});

const environment = (url: string) => ({
  DATABASE_URL: url,
  REDIS_URL: fixture.redis.url,
  PUBLIC_URL: 'https://accounts.example',
});

const runProgram = (...args: string[]) =>
  startProgram('podcast-sync', ['accounts', ...args], environment(fixture.databaseUrl));
/** Runs a command within the test process, which saves the start of the program. */
const call = (args: string[], url = fixture.databaseUrl) =>
  callProgram(podcastSync, args, environment(url));
const accounts = (...args: string[]) => call(['accounts', ...args]);
const find = (of = name) => fixture.app.get(Accounts).findByName(of);
const link = /^https:\/\/accounts\.example\/links\/([\w-]{43})\n$/;
const secretOf = (stdout: string) => link.exec(stdout)?.[1] ?? '';

describe('accounts create', () => {
  it('creates an account and prints a link that sets its password', async () => {
    const { code, stdout } = await runProgram('create', name);
    expect([code, stdout]).toEqual([0, expect.stringMatching(link)]);
    expect(await find()).toMatchObject({ name, hasPassword: false });
    expect(await fixture.app.get(Links).readLink(secretOf(stdout))).toMatchObject({
      kind: 'reset',
      name,
    });
  });

  it('refuses an invalid name, and a taken one ignoring letter case', async () => {
    await accounts('create', name);
    const { code, stderr } = await accounts('create', name.toUpperCase());
    expect([code, stderr]).toEqual([
      1,
      'accounts: the name is taken, or its user id belongs to another account: ' +
        'choose another one\n',
    ]);
    expect((await accounts('create', 'an n')).stderr).toContain('a name must have 1 to 64');
  });
});

describe('token', () => {
  it('creates an account once, also for concurrent commands', async () => {
    const results = await Promise.all(Array.from({ length: 4 }, () => call(['token', name])));
    for (const result of results) expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(new Set(results.map(({ stdout }) => stdout)).size).toBe(4);
  });
});

describe('accounts', () => {
  it('prints links for an invitation and a new password', async () => {
    await accounts('create', name);
    const [invitation, reset] = [await accounts('invite'), await accounts('reset', name)];
    const links = fixture.app.get(Links);
    expect(await links.readLink(secretOf(invitation.stdout))).toMatchObject({
      kind: 'invite',
      name: null,
    });
    expect(await links.readLink(secretOf(reset.stdout))).toMatchObject({ kind: 'reset', name });
  });

  it('prints a link for the first account until an account exists', async () => {
    const empty = await openPeople();
    try {
      const { stdout } = await call(['accounts', 'first-link'], empty.databaseUrl);
      await empty.app
        .get(Registration)
        .registerByLink(secretOf(stdout), { name, password: 'an unusual sentence' }, '192.0.2.1');
      expect(await call(['accounts', 'first-link'], empty.databaseUrl)).toMatchObject({
        code: 0,
        stdout: '',
      });
    } finally {
      await empty.close();
    }
  });

  it('disables an account immediately, and enables it again', async () => {
    await accounts('create', name);
    const { id } = (await find()) as { id: string };
    const browser = { address: '192.0.2.1', userAgent: '' };
    const { session } = await fixture.app.get(SignIn).signInWithoutPassword(id, browser);
    expect(await accounts('disable', name)).toMatchObject({ code: 0, stderr: '' });
    expect(await fixture.app.get(Sessions).findAndRecordUse(session.cookie)).toBeUndefined();
    expect(await fixture.revoked()).toEqual(
      expect.arrayContaining([`user:${id}`, `session:${session.id}`]),
    );
    const refused = async () =>
      (await fixture.owner.query('SELECT refused FROM sync.user_clock WHERE user_id = $1', [id]))
        .rows as unknown[];
    expect(await refused()).toEqual([{ refused: 1 }]);
    await accounts('enable', name);
    expect([await refused(), (await find())?.disabled]).toEqual([[{ refused: null }], false]);
  });

  it('lists all accounts as an aligned table and as JSON', async () => {
    await accounts('create', name);
    const { stdout } = await accounts('list');
    const [heading = '', ...lines] = stdout.trimEnd().split('\n');
    expect(lines.find((line) => line.startsWith(name))?.indexOf('no password')).toBe(
      heading.indexOf('STATE'),
    );
    const all = JSON.parse((await accounts('list', '--json')).stdout) as unknown[];
    expect(all).toContainEqual(expect.objectContaining({ name, disabled: false }));
  });

  it('reports that it erased nothing while the deletion worker is unavailable', async () => {
    await accounts('create', name);
    const { code, stderr } = await accounts('erase', name);
    expect([code, stderr]).toEqual([1, expect.stringContaining('nothing changed')]);
    expect(await find()).toMatchObject({ disabled: false });
  });

  it('appoints and dismisses administrators, but not the last one', async () => {
    const other = `bob-${name}`.slice(0, 64);
    for (const each of [name, other]) await accounts('create', each);
    await fixture.owner.query('UPDATE account.accounts SET is_administrator = false');
    expect((await accounts('appoint', name)).stdout).toBe(`${name} is an administrator.\n`);
    expect(await find()).toMatchObject({ isAdministrator: true });
    for (const verb of ['dismiss', 'disable'])
      expect(await accounts(verb, name)).toEqual({
        code: 1,
        stdout: '',
        stderr:
          'accounts: the account is the only enabled administrator: appoint another one first\n',
      });
    await accounts('appoint', other);
    expect((await accounts('dismiss', name)).stdout).toBe(
      `${name} is no longer an administrator.\n`,
    );
    const { stdout } = await accounts('list');
    expect(stdout.split('\n').find((line) => line.startsWith(other))).toMatch(/ yes$/);
  });

  it.each(['reset', 'disable', 'enable', 'appoint', 'dismiss', 'erase'])(
    '%s: reports a missing account',
    async (verb) => {
      expect(await accounts(verb, name)).toEqual({
        code: 1,
        stdout: '',
        stderr: `accounts: no account is named ${name}: see "accounts list"\n`,
      });
    },
  );

  it('exits with 1 without Postgres, and shows no password', async () => {
    const { code, stderr } = await call(['accounts', 'list'], 'postgres://u:secret@127.0.0.1:1/d');
    expect([code, stderr]).toEqual([1, expect.stringContaining('Postgres failed')]);
    expect(stderr).not.toContain('secret');
  });

  it('exits with 78 for an invalid variable, and names it', async () => {
    const { code, stderr } = await call(['accounts', 'list'], 'mysql://x');
    expect([code, stderr]).toEqual([
      78,
      expect.stringContaining('DATABASE_URL: must be a URL like'),
    ]);
  });

  it('uses the system of --data', async () => {
    const { stdout } = await callProgram(
      podcastSync,
      ['accounts', 'create', name, '--data', data],
      {},
    );
    expect([stdout, await find()]).toEqual([
      expect.stringMatching(link),
      expect.objectContaining({ name }),
    ]);
  });
});

describe('podcast-sync app-password', () => {
  const appPassword = (...args: string[]) => call(['app-password', ...args]);

  it('prints only an app password with all scopes and no expiry', async () => {
    const { id } = await fixture.app.get(Accounts).create({ name });
    const { code, stdout, stderr } = await appPassword(name.toUpperCase());
    expect([code, stdout, stderr]).toEqual([0, expect.stringMatching(/^pst_[\w-]{28}\n$/), '']);
    expect(
      await fixture.app
        .get(AppPasswords)
        .findAndRecordUse(appPasswordHash(stdout.trim()) as string),
    ).toEqual({
      credentialId: expect.any(String),
      userId: id,
      name,
      scopes: ['read:subscriptions', 'write:subscriptions'],
    });
  });

  it('labels the app password by --label', async () => {
    const { id } = await fixture.app.get(Accounts).create({ name });
    await appPassword(name);
    await appPassword(name, '--label', 'My phone');
    const labels = (await fixture.app.get(AppPasswords).list(id)).map(({ label }) => label);
    expect(labels).toEqual(['My phone', 'podcast-sync app-password']);
  });

  it('fails for a missing or disabled account and for an invalid label', async () => {
    const refused = async (...args: string[]) => {
      const { code, stdout, stderr } = await appPassword(name, ...args);
      expect([code, stdout]).toEqual([1, '']);
      return stderr;
    };
    expect(await refused()).toBe(
      `app-password: no account is named ${name}: see "accounts list"\n`,
    );
    const { id } = await fixture.app.get(Accounts).create({ name });
    expect(await refused('--label', 'x'.repeat(65))).toContain(
      'the label must have 1 to 64 characters',
    );
    await fixture.app.get(Accounts).disable(id);
    expect(await refused()).toContain('is disabled');
    expect(await fixture.app.get(AppPasswords).list(id)).toEqual([]);
  });
});

describe('podcast-sync token', () => {
  const token = (...args: string[]) =>
    callProgram(podcastSync, ['token', ...args, '--data', data], {});
  const check = (printed: string) =>
    fixture.app.get(AppPasswords).findAndRecordUse(appPasswordHash(printed.trim()) as string);

  it('prints only an app password, and creates the account', async () => {
    const { code, stdout } = await token(name);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^pst_[\w-]{28}\n$/)]);
    expect(await check(stdout)).toMatchObject({ userId: (await find())?.id, name });
    expect(await find()).toMatchObject({ hasPassword: false });
  });

  it('uses an existing account, and the requested scope and lifetime', async () => {
    const { id } = await fixture.app.get(Accounts).create({ name });
    const { stdout } = await token(
      name.toUpperCase(),
      '--scope',
      'read:subscriptions',
      '--expires',
      '12h',
    );
    const checked = await check(stdout);
    expect(checked).toMatchObject({ userId: id, scopes: ['read:subscriptions'] });
    const hours = (Date.parse(checked?.expiresAt ?? '') - Date.now()) / 3_600_000;
    expect(Math.round(hours)).toBe(12);
  });

  it.each([
    ['--scope', 'everything'],
    ['--expires', 'soon'],
  ])('refuses %s %s', async (...option) => {
    const { code, stdout } = await token(name, ...option);
    expect([code > 0, stdout]).toEqual([true, '']);
  });
});
