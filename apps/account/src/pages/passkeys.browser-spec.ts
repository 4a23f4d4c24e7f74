import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AccountBrowser, password } from '../../testing/account-browser.js';

let fixture: AccountBrowser;
beforeAll(async () => void (fixture = await AccountBrowser.open({}, [], 'localhost')));
afterAll(() => fixture.close());

/**
 * Gives a browser an authenticator, which answers each request as if a person touched it: also the
 * request of autofill, so browsers have none by default.
 */
async function addAuthenticator(page: Page, hasAutofill = false): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable');
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
    },
  });
  if (!hasAutofill)
    await page.addInitScript(() => {
      PublicKeyCredential.isConditionalMediationAvailable = async () => false;
    });
}

/** Creates an account with a passkey, and signs it out. */
async function personWithPasskey(hasAutofill = false) {
  const person = await fixture.person({ javaScriptEnabled: true });
  const { page } = person;
  await addAuthenticator(page, hasAutofill);
  await page.goto('/passkeys');
  await page.getByLabel('Name of the new passkey').fill('My laptop');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByRole('heading', { name: 'Recovery codes' }).waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  return person;
}

async function signIn(page: Page, name: string): Promise<void> {
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** Sends a response of a passkey by the form of the sign-in page. */
async function send(page: Page, credential: string): Promise<void> {
  await page.evaluate((value) => {
    const form = document.querySelector('form[data-passkey]') as HTMLFormElement;
    (form.elements.namedItem('credential') as HTMLInputElement).value = value;
    form.submit();
  }, credential);
}

it('signs in without name and password, by the button', async () => {
  const { page, name } = await personWithPasskey();
  await page.getByRole('button', { name: 'Sign in with a passkey' }).press('Enter');
  await page.waitForURL('/console/');
  await page.goto('/account');
  await page.getByRole('heading', { name: `Hello, ${name}` }).waitFor();
  await page.getByText('A new passkey was added: “My laptop”.').waitFor();
});

it('signs in by a choice in the field of the name', async () => {
  const { page } = await personWithPasskey(true);
  // The virtual authenticator makes the choice.
  await page.waitForURL('/console/');
});

it('is asked for after the password, also in the sign-in of an app', async () => {
  const { page, name } = await personWithPasskey();
  const app = await fixture.app('Podcatcher', 'com.example.podcatcher:/callback');
  await page.goto(fixture.authorization(app, 'com.example.podcatcher:/callback').path);
  await signIn(page, name);
  await page.getByRole('heading', { name: 'Use your passkey' }).waitFor();
  expect(await page.getByLabel('Code', { exact: true }).count()).toBe(0);
  await page.getByRole('button', { name: 'Use a passkey' }).press('Enter');
  await page.getByRole('heading', { name: 'Allow access?' }).waitFor();
});

it('replaces the password in the sign-in of an app', async () => {
  const { page } = await personWithPasskey();
  const app = await fixture.app('Podcatcher', 'com.example.podcatcher:/callback');
  await page.goto(fixture.authorization(app, 'com.example.podcatcher:/callback').path);
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByRole('heading', { name: 'Allow access?' }).waitFor();
});

it('shows a failure if the browser has no passkey, and allows another attempt', async () => {
  const page = await fixture.visitor({ javaScriptEnabled: true });
  await addAuthenticator(page);
  await page.goto('/sign-in');
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByText('The browser returned no passkey. Try again.').waitFor();
  await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
});

it('refuses a response that was used before', async () => {
  const { page } = await personWithPasskey();
  const sent = page.waitForRequest((request) => request.url().endsWith('/sign-in/passkey'));
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  const credential = new URLSearchParams((await sent).postData() ?? '').get('credential') ?? '';
  await page.waitForURL('/console/');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
  await send(page, credential);
  await page.getByText('The passkey was not accepted.').waitFor();
});

it('refuses a response that a page of another origin requested', async () => {
  const { page } = await personWithPasskey();
  const options = await page.locator('form[data-passkey]').getAttribute('data-passkey');
  const server = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end('<title>Another site</title>'),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/`);
    const credential = await page.evaluate(async (json) => {
      const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(JSON.parse(json));
      const answer = await navigator.credentials.get({ publicKey });
      return JSON.stringify((answer as PublicKeyCredential).toJSON());
    }, options ?? '');
    await page.goto('/sign-in');
    await send(page, credential);
    await page.getByText('The passkey was not accepted.').waitFor();
  } finally {
    server.close();
  }
});

it('is removed, after which the password is enough', async () => {
  const { page, name } = await personWithPasskey();
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.waitForURL('/console/');
  await page.goto('/account');
  await page.getByText('1 passkey.').waitFor();
  await page.getByRole('link', { name: 'Manage' }).press('Enter');
  await page.getByText(/Last used/).waitFor();
  await page.getByRole('button', { name: 'Remove My laptop' }).press('Enter');
  await page.getByText('A passkey was removed: “My laptop”.').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await signIn(page, name);
  await page.waitForURL('/console/');
});

it('leaves the password and a recovery code without scripts', async () => {
  const { name, id } = await personWithPasskey();
  const page = await fixture.visitor();
  await page.goto('/sign-in');
  expect(await page.getByRole('button', { name: 'Sign in with a passkey' }).count()).toBe(0);
  await signIn(page, name);
  await page.getByText('This needs JavaScript').waitFor();
  await page.getByText('No access to your passkeys? Use a recovery code').waitFor();

  await fixture.database.query('DELETE FROM account.passkeys WHERE account_id = $1', [id]);
  await page.goto('/sign-in');
  await signIn(page, name);
  await page.goto('/passkeys');
  await page.getByText('To add a passkey, you need JavaScript').waitFor();
  expect(await page.getByRole('button', { name: 'Add a passkey' }).count()).toBe(0);
});
