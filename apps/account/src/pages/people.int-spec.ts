import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { freePort } from '#embedded';
import { type AppProcess, AppStack, eventually } from '#testing';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HttpBrowser } from '../../testing/http-browser.js';

let stack: AppStack;
let database: pg.Client;
let app: AppProcess;
let origin: string;
beforeAll(async () => {
  [stack, origin] = [await AppStack.open(), `http://127.0.0.1:${await freePort()}`];
  database = new pg.Client({ connectionString: stack.postgres.url });
  await database.connect();
  const own = { PUBLIC_URL: origin, PORT: new URL(origin).port };
  [app] = (await stack.start(['account'], own)) as [AppProcess];
});
afterAll(async () => {
  await database?.end();
  await stack?.close();
});

/** Creates a signed-in person. @param minutes since the sign-in. */
async function createPerson(isAdministrator = false, minutes = 0) {
  const [id, cookie] = [randomUUID(), randomBytes(32).toString('base64url')];
  const name = `p-${id}`;
  await database.query(
    `INSERT INTO account.accounts (id, name, password, is_administrator)
     VALUES ($1, $2, 'a hash', $3)`,
    [id, name, isAdministrator],
  );
  await database.query(
    `INSERT INTO account.sessions
       (hash, id, account_id, expires_at, address, user_agent, authenticated_at)
     VALUES ($1, $2, $2, now() + interval '1 hour', '192.0.2.1', 'a browser',
       now() - $3 * interval '1 minute')`,
    [createHash('sha256').update(cookie).digest(), id, minutes],
  );
  const browser = new HttpBrowser({ origin });
  browser.cookies.push({ name: 'account-session', value: cookie, path: '/' });
  return { id, name, browser };
}
type Created = Awaited<ReturnType<typeof createPerson>>;

const get = ({ browser }: Created, path: string) => browser.fetch(origin + path);
const post = ({ browser }: Created, path: string, action = '') =>
  browser.fetch(origin + path, { method: 'POST', body: new URLSearchParams({ action }) });

/** Sends a form, and returns the page to which it redirects. */
async function change(by: Created, path: string, action?: string): Promise<string> {
  const answer = await post(by, path, action);
  expect(answer.status).toBe(303);
  return (await by.browser.fetch(HttpBrowser.target(answer, origin))).text();
}

async function stateOf({ id }: Created) {
  const { rows } = await database.query<{ administrator: boolean; disabled: boolean }>(
    `SELECT is_administrator AS administrator, disabled_at IS NOT NULL AS disabled
     FROM account.accounts WHERE id = $1`,
    [id],
  );
  return rows[0];
}

/** Waits until the log has these changes by a person, as action and account. */
async function expectLogged({ id }: Created, changes: readonly (readonly unknown[])[]) {
  await eventually(async () => {
    const lines = app.output.split('\n').filter((line) => line.includes(`"administrator":"${id}"`));
    const logged = lines.map((line) => JSON.parse(line) as { action: string; account?: string });
    expect(logged.map(({ action, account }) => [action, account])).toEqual(changes);
  });
}

describe('the pages of people', () => {
  const paths = ['/people', '/people/invitation', `/people/${randomUUID()}`];

  it.each(paths)('%s does not exist for others than administrators', async (path) => {
    const [person, old] = [await createPerson(), await createPerson(false, 6)];
    for (const by of [person, old]) {
      const answer = await get(by, path);
      expect([answer.status, await answer.text()]).toEqual([
        404,
        expect.stringContaining('This server has no page at this address.'),
      ]);
      // A list has no form; its status is 405.
      expect((await post(by, path, 'disable')).status).toBe(path === '/people' ? 405 : 404);
    }
    const { rows } = await database.query(`SELECT FROM account.links WHERE kind = 'invite'`);
    expect(rows).toEqual([]);
  });

  it.each(paths)('%s asks signed-out visitors to sign in', async (path) => {
    const answer = await new HttpBrowser({ origin }).fetch(origin + path);
    expect(HttpBrowser.target(answer, origin).pathname).toBe('/sign-in');
  });

  it('change nothing long after the last sign-in', async () => {
    const [by, other] = [await createPerson(true, 6), await createPerson()];
    expect((await get(by, '/people')).status).toBe(200);
    for (const path of ['/people/invitation', `/people/${other.id}`]) {
      const answer = await post(by, path, 'disable');
      const target = HttpBrowser.target(answer, origin);
      expect([target.pathname, target.searchParams.get('next')]).toEqual(['/sign-in', path]);
    }
    expect(await stateOf(other)).toEqual({ administrator: false, disabled: false });
    await expectLogged(by, []);
  });

  it('are linked for administrators only', async () => {
    const [by, other] = [await createPerson(true), await createPerson()];
    expect(await (await get(by, '/account')).text()).toContain('href="/people"');
    expect(await (await get(other, '/account')).text()).not.toContain('href="/people"');
  });

  it('list accounts with their state, and find one by its name', async () => {
    const [by, other] = [await createPerson(true), await createPerson()];
    await database.query('UPDATE account.accounts SET disabled_at = now() WHERE id = $1', [
      other.id,
    ]);
    const page = await (await get(by, `/people?name=${other.name.toUpperCase()}`)).text();
    expect(page).toContain(`href="/people/${other.id}"`);
    expect(page).toContain('<span class="tag bad">disabled</span>');
    expect(page).not.toContain(`href="/people/${by.id}"`);
    expect(page).toContain('setting REGISTRATION: invite');
  });

  it('have 50 accounts each', async () => {
    const by = await createPerson(true);
    const word = `w-${randomUUID().slice(0, 8)}`;
    await database.query(
      `INSERT INTO account.accounts (id, name)
       SELECT gen_random_uuid(), $1 || '-' || lpad(i::text, 3, '0')
       FROM generate_series(1, 51) i`,
      [word],
    );
    const namesIn = (page: string) =>
      [...page.matchAll(new RegExp(`>${word}-(\\d+)</bdi>`, 'g'))].map(([, place]) =>
        Number(place),
      );
    const first = await (await get(by, `/people?name=${word}`)).text();
    expect(namesIn(first)).toEqual(Array.from({ length: 50 }, (_, at) => at + 1));
    const next = /href="(\/people\?[^"]*after=[^"]+)"/.exec(first)?.[1]?.replaceAll('&amp;', '&');
    const second = await (await get(by, next ?? '')).text();
    expect(namesIn(second)).toEqual([51]);
    expect(second).not.toContain('after=');
  });
});

describe('an administrator', () => {
  it('disables, enables, appoints and dismisses; each change is confirmed and logged', async () => {
    const [by, other] = [await createPerson(true), await createPerson()];
    const path = `/people/${other.id}`;
    expect(await change(by, path, 'appoint')).toContain('is now an administrator.');
    expect(await stateOf(other)).toEqual({ administrator: true, disabled: false });
    expect(await change(by, path, 'dismiss')).toContain('is no longer an administrator.');
    expect(await change(by, path, 'disable')).toContain('is disabled and signed out everywhere.');
    expect(await stateOf(other)).toEqual({ administrator: false, disabled: true });
    expect((await get(other, '/account')).status).toBe(303);
    expect(await change(by, path, 'enable')).toContain('is enabled.');
    expect(await stateOf(other)).toEqual({ administrator: false, disabled: false });
    expect(await (await get(by, path)).text()).not.toContain('is enabled.');
    const changes = ['appoint', 'dismiss', 'disable', 'enable'];
    await expectLogged(
      by,
      changes.map((action) => [action, other.id]),
    );
  });

  it.each([
    ['reset', 'reset'],
    ['invite', 'invite'],
  ] as const)('creates a link, shown once: %s', async (action, kind) => {
    const [by, other] = [await createPerson(true), await createPerson()];
    const path = action === 'reset' ? `/people/${other.id}` : '/people/invitation';
    const page = await change(by, path, action);
    const secret = /\/links\/([\w-]{43})</.exec(page)?.[1] ?? '';
    const { rows } = await database.query<{ kind: string }>(
      'SELECT kind FROM account.links WHERE hash = $1',
      [createHash('sha256').update(secret).digest()],
    );
    expect(rows).toEqual([{ kind }]);
    expect(await (await get(by, path)).text()).not.toContain('/links/');
    await expectLogged(by, [[action, action === 'reset' ? other.id : undefined]]);
    expect(app.output).not.toContain(secret);
  });

  it('reads why a change is refused, which is not logged', async () => {
    const [by, other] = [await createPerson(true), await createPerson()];
    await database.query('UPDATE account.accounts SET is_administrator = (id = $1)', [by.id]);
    const own = await change(by, `/people/${by.id}`, 'dismiss');
    expect(own).toContain('This is the only enabled administrator.');
    await database.query('UPDATE account.accounts SET disabled_at = now() WHERE id = $1', [
      other.id,
    ]);
    expect(await change(by, `/people/${other.id}`, 'reset')).toContain('Enable it first.');
    expect((await post(by, `/people/${other.id}`, 'erase')).status).toBe(400);
    expect((await post(by, `/people/${randomUUID()}`, 'disable')).status).toBe(404);
    await expectLogged(by, []);
  });

  it('who dismisses the own account returns to its page', async () => {
    const [by] = [await createPerson(true), await createPerson(true)];
    expect(HttpBrowser.target(await post(by, `/people/${by.id}`, 'dismiss'), origin).pathname).toBe(
      '/account',
    );
    expect((await get(by, '/people')).status).toBe(404);
  });
});
