import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { appPasswordHash } from '#identity';
import { callProgram, startProgram } from '#testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { podcastSync } from '../../../cli/src/podcast-sync.js';
import { openPeople, type PeopleWorld } from '../../testing/people.world.js';
import { AppPasswords } from '../credentials/app-passwords.js';
import { Accounts } from '../people/accounts.js';
import { Links } from '../people/links.js';
import { Registration } from '../people/registration.js';
import { Sessions } from '../people/sessions.js';
import { SignIn } from '../people/sign-in.js';

let world: PeopleWorld;
let data: string;
let name: string;

beforeAll(async () => {
  world = await openPeople();
  data = mkdtempSync(join(tmpdir(), 'accounts-'));
  writeFileSync(join(data, 'account-database-url'), world.url);
  writeFileSync(join(data, 'redis-url'), world.redis.url);
  writeFileSync(join(data, 'account-url'), 'https://accounts.example');
});
afterAll(async () => {
  rmSync(data, { recursive: true });
  await world.close();
});
beforeEach(() => {
  name = `ann-${randomUUID()}`;
});

const environment = (url: string) => ({
  DATABASE_URL: url,
  REDIS_URL: world.redis.url,
  PUBLIC_URL: 'https://accounts.example',
});

const runProgram = (...args: string[]) =>
  startProgram('podcast-sync', ['accounts', ...args], environment(world.url));
/** Runs a command within the test process, which saves the start of the program. */
const call = (args: string[], url = world.url) => callProgram(podcastSync, args, environment(url));
const accounts = (...args: string[]) => call(['accounts', ...args]);
const find = (of = name) => world.app.get(Accounts).findByName(of);
const link = /^https:\/\/accounts\.example\/links\/([\w-]{43})\n$/;
const secretOf = (stdout: string) => link.exec(stdout)?.[1] ?? '';

describe('accounts create', () => {
  it('makes an account and prints a link by which its person chooses a password', async () => {
    const { code, stdout } = await runProgram('create', name);
    expect([code, stdout]).toEqual([0, expect.stringMatching(link)]);
    expect(await find()).toMatchObject({ name, hasPassword: false });
    expect(await world.app.get(Links).look(secretOf(stdout))).toMatchObject({
      kind: 'reset',
      name,
    });
  });

  it('refuses a name that is taken in any letter case, and one that can not be', async () => {
    await accounts('create', name);
    const { code, stderr } = await accounts('create', name.toUpperCase());
    expect([code, stderr]).toEqual([
      1,
      'accounts: there is an account of this name, or one that has its data\n',
    ]);
    expect((await accounts('create', 'an n')).stderr).toContain('a name has 1 to 64');
  });
});

describe('accounts', () => {
  it('prints links for an invitation and for a new password', async () => {
    await accounts('create', name);
    const [invitation, reset] = [await accounts('invite'), await accounts('reset', name)];
    const links = world.app.get(Links);
    expect(await links.look(secretOf(invitation.stdout))).toMatchObject({
      kind: 'invite',
      name: null,
    });
    expect(await links.look(secretOf(reset.stdout))).toMatchObject({ kind: 'reset', name });
  });

  it('prints a link for the first account until there is one, and nothing then', async () => {
    const empty = await openPeople();
    try {
      const { stdout } = await call(['accounts', 'first-link'], empty.url);
      await empty.app
        .get(Registration)
        .byLink(secretOf(stdout), { name, password: 'an unusual sentence' }, '192.0.2.1');
      expect(await call(['accounts', 'first-link'], empty.url)).toMatchObject({
        code: 0,
        stdout: '',
      });
    } finally {
      await empty.close();
    }
  });

  it('disables a person at once, and enables again', async () => {
    await accounts('create', name);
    const { id } = (await find()) as { id: string };
    const browser = { address: '192.0.2.1', userAgent: '' };
    const { session } = await world.app.get(SignIn).forAccount(id, browser);
    expect(await accounts('disable', name)).toMatchObject({ code: 0, stderr: '' });
    expect(await world.app.get(Sessions).find(session.cookie)).toBeUndefined();
    expect(await world.revoked()).toEqual(
      expect.arrayContaining([`user:${id}`, `session:${session.id}`]),
    );
    const refused = async () =>
      (await world.owner.query('SELECT refused FROM sync.user_clock WHERE user_id = $1', [id]))
        .rows as unknown[];
    expect(await refused()).toEqual([{ refused: 1 }]);
    await accounts('enable', name);
    expect([await refused(), (await find())?.disabled]).toEqual([[{ refused: null }], false]);
  });

  it('lists everybody as an aligned table, and as JSON', async () => {
    await accounts('create', name);
    const { stdout } = await accounts('list');
    const [heading = '', ...lines] = stdout.trimEnd().split('\n');
    expect(lines.find((line) => line.startsWith(name))?.indexOf('no password')).toBe(
      heading.indexOf('STATE'),
    );
    const all = JSON.parse((await accounts('list', '--json')).stdout) as unknown[];
    expect(all).toContainEqual(expect.objectContaining({ name, disabled: false }));
  });

  it('erases nothing while the deletion worker is away, and says so', async () => {
    await accounts('create', name);
    const { code, stderr } = await accounts('erase', name);
    expect([code, stderr]).toEqual([1, expect.stringContaining('nothing has changed')]);
    expect(await find()).toMatchObject({ disabled: false });
  });

  it.each(['reset', 'disable', 'enable', 'erase'])(
    '%s: says where there is no such account',
    async (verb) => {
      expect(await accounts(verb, name)).toEqual({
        code: 1,
        stdout: '',
        stderr: `accounts: there is no account ${name}\n`,
      });
    },
  );

  it('says so with exit code 1 when Postgres can not be reached, and shows no password', async () => {
    const { code, stderr } = await call(['accounts', 'list'], 'postgres://u:secret@127.0.0.1:1/d');
    expect([code, stderr]).toEqual([1, expect.stringContaining('Postgres could not do it')]);
    expect(stderr).not.toContain('secret');
  });

  it('names the variable with exit code 78 when it can not be used', async () => {
    const { code, stderr } = await call(['accounts', 'list'], 'mysql://x');
    expect([code, stderr]).toEqual([
      78,
      expect.stringContaining('DATABASE_URL: must be a URL like'),
    ]);
  });

  it('works on the system of --data', async () => {
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

  it('prints an app password of the account and nothing else, which reads and writes and does not expire', async () => {
    const { id } = await world.app.get(Accounts).create({ name });
    const { code, stdout, stderr } = await appPassword(name.toUpperCase());
    expect([code, stdout, stderr]).toEqual([0, expect.stringMatching(/^pst_[\w-]{28}\n$/), '']);
    expect(
      await world.app.get(AppPasswords).check(appPasswordHash(stdout.trim()) as string),
    ).toEqual({
      credentialId: expect.any(String),
      userId: id,
      name,
      scopes: ['read:subscriptions', 'write:subscriptions'],
    });
  });

  it('is named by --label on the page of the account', async () => {
    const { id } = await world.app.get(Accounts).create({ name });
    await appPassword(name);
    await appPassword(name, '--label', 'My phone');
    const labels = (await world.app.get(AppPasswords).list(id)).map(({ label }) => label);
    expect(labels).toEqual(['My phone', 'podcast-sync app-password']);
  });

  it('makes no account, none of a disabled one, and none with a bad label', async () => {
    const refused = async (...args: string[]) => {
      const { code, stdout, stderr } = await appPassword(name, ...args);
      expect([code, stdout]).toEqual([1, '']);
      return stderr;
    };
    expect(await refused()).toBe(`app-password: there is no account ${name}\n`);
    const { id } = await world.app.get(Accounts).create({ name });
    expect(await refused('--label', 'x'.repeat(65))).toContain(
      'the label has more than 64 characters',
    );
    await world.app.get(Accounts).disable(id);
    expect(await refused()).toContain('is disabled');
    expect(await world.app.get(AppPasswords).list(id)).toEqual([]);
  });
});

describe('podcast-sync token', () => {
  const token = (...args: string[]) =>
    callProgram(podcastSync, ['token', ...args, '--data', data], {});
  const check = (printed: string) =>
    world.app.get(AppPasswords).check(appPasswordHash(printed.trim()) as string);

  it('prints an app password and nothing else, of an account that it makes', async () => {
    const { code, stdout } = await token(name);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^pst_[\w-]{28}\n$/)]);
    expect(await check(stdout)).toMatchObject({ userId: (await find())?.id, name });
    expect(await find()).toMatchObject({ hasPassword: false });
  });

  it('is of the account that is there, with the scope and the lifetime that are asked for', async () => {
    const { id } = await world.app.get(Accounts).create({ name });
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
