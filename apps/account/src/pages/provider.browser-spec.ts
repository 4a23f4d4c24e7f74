import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AccountBrowser, password } from '../../testing/account-browser.js';

/** Second account app with its own users, which is the OpenID provider. */
let provider: AccountBrowser;
let fixture: AccountBrowser;
beforeAll(async () => {
  provider = await AccountBrowser.open();
  // On the loopback interface, any port matches the redirect URI (RFC 8252, 7.3).
  const client = await provider.app('Podcasts', 'http://127.0.0.1/sign-in/provider/callback');
  fixture = await AccountBrowser.open({
    SIGN_IN_ISSUER: provider.origin,
    SIGN_IN_CLIENT_ID: client,
  });
});
afterAll(async () => {
  await fixture.close();
  await provider.close();
});

/** Creates a user of the provider without a session. */
async function person(): Promise<{ page: Page; name: string }> {
  const { page, name } = await provider.person({ baseURL: provider.origin });
  await page.context().clearCookies();
  return { page, name };
}

async function passProvider(page: Page, name: string): Promise<void> {
  await page
    .getByRole('button', { name: `Continue with ${new URL(provider.origin).host}` })
    .click();
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Allow' }).click();
}

it('signs a user in by the provider, who then chooses a name once', async () => {
  const { page, name } = await person();
  await page.goto(`${fixture.origin}/account`);
  expect(await page.getByLabel('Password').count()).toBe(0);
  await passProvider(page, name);
  await page.getByRole('heading', { name: 'Choose a name' }).waitFor();
  await page.getByLabel('Name').fill('not a name');
  await page.getByRole('button', { name: 'Save' }).click();
  const chosen = `here-${name}`.slice(0, 64);
  await page.getByLabel('Name').fill(chosen);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: `Hello, ${chosen}` }).waitFor();
  expect(new URL(page.url()).origin).toBe(fixture.origin);
  const { rows } = await fixture.database.query(
    'SELECT issuer, password FROM account.accounts WHERE name = $1',
    [chosen],
  );
  expect(rows).toEqual([{ issuer: provider.origin, password: null }]);

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are signed out.').waitFor();
  await passProvider(page, name);
  await page.getByRole('heading', { name: `Hello, ${chosen}` }).waitFor();
});

it('returns to the requested page', async () => {
  const { page, name } = await person();
  await page.goto(`${fixture.origin}/device?user_code=ABCD-EFGH`);
  await passProvider(page, name);
  await page.getByLabel('Name').fill(`to-${name}`.slice(0, 64));
  await page.getByRole('button', { name: 'Save' }).click();
  await page.waitForURL('**/device?user_code=ABCD-EFGH');
  expect(new URL(page.url()).origin).toBe(fixture.origin);
});
