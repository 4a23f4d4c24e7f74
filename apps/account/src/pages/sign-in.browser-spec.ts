import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AccountBrowser, password } from '../../testing/account-browser.js';
import { codeOn } from '../../testing/page-walk.js';

let fixture: AccountBrowser;
beforeAll(async () => void (fixture = await AccountBrowser.open()));
afterAll(() => fixture.close());

async function signIn(page: Page, name: string, entered = password): Promise<void> {
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(entered);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

it('creates the first account by the printed link, without scripts, and signs in', async () => {
  const page = await fixture.visitor();
  await page.goto(await fixture.link('first'));
  await page.getByLabel('Name').fill('first.person');
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('heading', { name: 'Connect an app' }).waitFor();

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are signed out.').waitFor();
  await signIn(page, 'First.Person');
  await page.getByRole('heading', { name: 'Hello, first.person' }).waitFor();
});

it('opens the podcasts after a sign-in; each page has the same tabs', async () => {
  const { name } = await fixture.person();
  const page = await fixture.visitor({ javaScriptEnabled: true });
  await page.goto('/');
  await page.waitForURL('/sign-in');
  await signIn(page, name);
  await page.waitForURL('/console/');
  for (const tab of ['Podcasts', 'Connect an app', 'Account', 'Podcasts']) {
    await page.getByRole('link', { name: tab, exact: true }).click();
    const current = page.getByRole('navigation').locator('[aria-current=page]');
    await current.getByText(tab, { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
  }
  await page.goto('/');
  await page.waitForURL('/console/');
});

it('shows the same text for a wrong password and an unknown name', async () => {
  const { page, name } = await fixture.person();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await signIn(page, name, 'not the password');
  const wrong = await page.getByRole('alert').textContent();
  await signIn(page, 'nobody', 'not the password');
  expect(await page.getByRole('alert').textContent()).toBe(wrong);
});

it('allows Back and reload after a wrong password', async () => {
  const page = await fixture.visitor();
  await page.goto('/sign-in?next=/password');
  await signIn(page, 'nobody', 'not the password');
  await page.getByRole('alert').waitFor();
  expect((await page.reload())?.request().method()).toBe('GET');
  expect(await page.getByRole('alert').count()).toBe(0);
  expect((await page.goBack())?.status()).toBe(200);
  await page.getByLabel('Password').waitFor();
});

it('continues to the page that required the sign-in, and never to another site', async () => {
  const { page, name } = await fixture.person();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.goto('/password');
  await signIn(page, name);
  await page.waitForURL('/password');

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.goto('/sign-in?next=//evil.example/');
  await signIn(page, name);
  await page.waitForURL('/account');
});

it('asks for the second step after its setup, or once for a recovery code', async () => {
  const { page, name } = await fixture.person();
  await page.getByRole('link', { name: 'Set up' }).click();
  await page.getByLabel('Code').fill(await codeOn(page));
  await page.getByRole('button', { name: 'Switch on' }).click();
  await page.getByRole('button', { name: 'Create new codes' }).click();
  const code = (await page.getByRole('listitem').first().textContent()) ?? '';
  await page.goto('/account');
  await page.getByText('On. Signing in asks for a code').waitFor();

  await page.getByRole('button', { name: 'Sign out' }).click();
  await signIn(page, name);
  await page.getByText('Use a recovery code').click();
  await page.getByLabel('Recovery code').fill(code);
  await page.getByRole('button', { name: 'Sign in' }).last().click();
  await page.getByText('9 codes are left.').waitFor();

  await page.getByRole('button', { name: 'Sign out' }).click();
  await signIn(page, name);
  await page.getByText('Use a recovery code').click();
  await page.getByLabel('Recovery code').fill(code);
  await page.getByRole('button', { name: 'Sign in' }).last().click();
  await page.getByText('This recovery code is wrong or was already used.').waitFor();
});

it('shows a password on request, and sends it hidden', async () => {
  const { name } = await fixture.person();
  const page = await fixture.visitor({ javaScriptEnabled: true });
  await page.goto('/sign-in');
  const field = page.locator('#password');
  await page.getByLabel('Name').fill(name);
  await field.fill(password);
  await page.getByRole('button', { name: 'Show password' }).click();
  expect(await field.getAttribute('type')).toBe('text');
  await page.getByRole('button', { name: 'Hide password' }).click();
  expect(await field.getAttribute('type')).toBe('password');
  await page.getByRole('button', { name: 'Show password' }).click();
  await page.evaluate(() =>
    document.forms[0]?.addEventListener('submit', ({ target }) => {
      const { type } = (target as HTMLFormElement)['password'] as HTMLInputElement;
      sessionStorage.setItem('sent', type);
    }),
  );
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL('/console/');
  expect(await page.evaluate(() => sessionStorage.getItem('sent'))).toBe('password');
});

it('copies, prints and downloads recovery codes, and links the key of an app', async () => {
  const { page } = await fixture.person({ javaScriptEnabled: true, acceptDownloads: true });
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto('/totp');
  const key = page.getByRole('link', { name: 'Open in an app on this device' });
  expect(await key.getAttribute('href')).toMatch(/^otpauth:\/\/totp\/.*secret=/);
  await page.goto('/recovery-codes');
  await page.getByRole('button', { name: 'Create new codes' }).click();
  const codes = await page.getByRole('listitem').allInnerTexts();
  expect(codes).toHaveLength(10);
  await page.getByRole('button', { name: 'Copy' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(codes.join('\n'));
  await page.evaluate(() => (globalThis.print = () => void (document.title = 'printed')));
  await page.getByRole('button', { name: 'Print' }).click();
  expect(await page.title()).toBe('printed');
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Download' }).click();
  const file = await (await download).path();
  expect(readFileSync(file, 'utf8')).toContain(codes.join('\n'));
});

it('switches the second step off only by a valid code', async () => {
  const { page } = await fixture.person();
  await page.getByRole('link', { name: 'Set up' }).click();
  await page.getByLabel('Code').fill(await codeOn(page));
  await page.getByRole('button', { name: 'Switch on' }).click();
  await page.getByRole('button', { name: 'Create new codes' }).click();
  const code = (await page.getByRole('listitem').first().textContent()) ?? '';
  await page.goto('/totp/off');
  await page.getByLabel('Code', { exact: true }).fill('000000');
  await page.getByRole('button', { name: 'Switch off' }).first().click();
  await page.getByText('This code is wrong or was already used.').waitFor();
  await page.reload();
  expect(await page.getByText('This code is wrong or was already used.').count()).toBe(0);
  await page.getByText('Use a recovery code').click();
  await page.getByLabel('Recovery code').fill(code);
  await page.getByRole('button', { name: 'Switch off' }).last().click();
  await page.getByText('Off. With a second step,').waitFor();
});

it('changes the password, which signs out every other browser', async () => {
  const { page, name } = await fixture.person();
  const other = await fixture.visitor();
  await other.goto('/sign-in');
  await signIn(other, name);
  await other.getByRole('heading', { name: `Hello, ${name}` }).waitFor();

  await page.goto('/password');
  await page.getByLabel('Current password').fill(password);
  await page.getByLabel('New password').fill('another good password');
  await page.getByRole('button', { name: 'Change password' }).click();
  await page.getByText('Saved.').waitFor();
  await other.goto('/account');
  await signIn(other, name, 'another good password');
  await other.getByRole('heading', { name: `Hello, ${name}` }).waitFor();
});

it('sets a new password by a link, which works once', async () => {
  const { id, name } = await fixture.person();
  const link = await fixture.link('reset', { accountId: id });
  const page = await fixture.visitor();
  await page.goto(link);
  await page.getByLabel('New password').fill('another good password');
  await page.getByRole('button', { name: 'Set the password' }).click();
  await page.getByText('Your password was changed.').waitFor();
  const cookies = await page.context().cookies();
  expect(cookies.map((cookie) => cookie.name)).toContain('account-browser');
  await signIn(page, name, 'another good password');
  await page.getByRole('heading', { name: `Hello, ${name}` }).waitFor();
  expect((await page.goto(link))?.status()).toBe(410);
});

it('sets a new password by a recovery code after too many wrong passwords', async () => {
  const { page, name } = await fixture.person();
  await page.goto('/recovery-codes');
  await page.getByRole('button', { name: 'Create new codes' }).click();
  const code = (await page.getByRole('listitem').first().textContent()) ?? '';
  await page.goto('/account');
  await page.getByRole('button', { name: 'Sign out' }).click();
  for (let count = 0; count < 11; count += 1) await signIn(page, name, 'not the password');
  await page.getByText('Too many wrong passwords').waitFor();
  await page.goto('/recover');
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Recovery code').fill(code);
  await page.getByLabel('New password').fill('another good password');
  await page.getByRole('button', { name: 'Set the password' }).click();
  await page.getByText('Your password was changed.').waitFor();
  await signIn(page, name, 'another good password');
  await page.getByRole('heading', { name: `Hello, ${name}` }).waitFor();
});

it('keeps the ticked app passwords after a reset and deletes the others', async () => {
  const { page, id, name } = await fixture.person();
  for (const label of ['My phone', 'Not mine']) {
    await page.goto('/app-passwords');
    await page.getByLabel('What is it for?').fill(label);
    await page.getByRole('button', { name: 'Create app password' }).click();
    await page.getByRole('heading', { name: 'Your new app password' }).waitFor();
  }
  await page.goto(await fixture.link('reset', { accountId: id }));
  await page.getByLabel('New password').fill('another good password');
  await page.getByRole('button', { name: 'Set the password' }).click();
  await signIn(page, name, 'another good password');
  await page.getByRole('heading', { name: 'Keep app passwords?' }).waitFor();
  await page.goto('/account');
  await page.getByRole('link', { name: 'Choose which app passwords to keep' }).click();
  await page.getByLabel('My phone').check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  const { rows } = await fixture.database.query(
    'SELECT label, suspended_at AS suspended FROM account.credentials WHERE account_id = $1',
    [id],
  );
  expect(rows).toEqual([{ label: 'My phone', suspended: null }]);
});

it('ends another browser from the list of sessions', async () => {
  const { page, name } = await fixture.person();
  const other = await fixture.visitor();
  await other.goto('/sign-in');
  await signIn(other, name);
  await page.goto('/account');
  await page.getByRole('button', { name: /^End Chrome/ }).click();
  await page.getByText('Saved.').waitFor();
  await other.goto('/account');
  await other.getByText('You were signed out: in another window').waitFor();
  await signIn(other, name);
  await other.getByRole('heading', { name: `Hello, ${name}` }).waitFor();
});

/** Starts another site, whose page submits a form to this one. */
async function strangersSite(action: string): Promise<{ server: Server; url: string }> {
  const text =
    `<form method="post" action="${action}"><input name="name" value="x"></form>` +
    '<script>document.forms[0].submit()</script>';
  const server = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end(text),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { server, url: `http://localhost:${(server.address() as AddressInfo).port}/` };
}

it('refuses a form that another site sends', async () => {
  const { page } = await fixture.person({ javaScriptEnabled: true });
  const { server, url } = await strangersSite(`${fixture.origin}/sign-out`);
  try {
    const [answer] = await Promise.all([
      page.waitForResponse(`${fixture.origin}/sign-out`),
      page.goto(url),
    ]);
    expect(answer.status()).toBe(403);
    await page.getByText('The form was sent from another site.').waitFor();
  } finally {
    server.close();
  }
  await page.goto('/account');
  await page.getByRole('heading', { name: /^Hello/ }).waitFor();
});

it('sets cookies that are hidden from scripts and other sites', async () => {
  const { page } = await fixture.person();
  const cookies = await page.context().cookies();
  expect(cookies.map(({ name, httpOnly, sameSite }) => ({ name, httpOnly, sameSite }))).toEqual([
    { name: 'account-session', httpOnly: true, sameSite: 'Lax' },
    { name: 'account-browser', httpOnly: true, sameSite: 'Lax' },
  ]);
});
