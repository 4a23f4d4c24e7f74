import { afterAll, beforeAll, expect, it } from 'vitest';
import { AccountBrowser } from '../../testing/account-browser.js';

let browser: AccountBrowser;
beforeAll(async () => void (browser = await AccountBrowser.open()));
afterAll(() => browser.close());

it('follows a registration, and makes an app password that the script copies', async () => {
  const { page, id, name } = await browser.person({ javaScriptEnabled: true });
  await page.goto('/connect');
  await page.getByText('A phone cannot reach this address yet').waitFor();
  await page.getByRole('link', { name: 'Kasts' }).click();
  await page.getByText(browser.origin, { exact: true }).waitFor();
  await page.getByText(name, { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Make an app password' }).click();
  const secret = page.getByText(/^pst_/);
  const shown = (await secret.textContent()) ?? '';
  expect(shown).toMatch(/^pst_[\w-]{28}$/);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Copy' }).last().click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(shown);

  // The page waits, and changes when the app uses its password.
  await page.getByRole('link', { name: 'Done' }).click();
  await page.getByRole('heading', { name: 'Waiting for Kasts' }).waitFor();
  await browser.database.query(
    'UPDATE account.credentials SET last_used_at = now() WHERE account_id = $1',
    [id],
  );
  await page.getByText(/^Kasts synced .* ago\.$/).waitFor();
  await page.getByRole('link', { name: 'See your podcasts' }).waitFor();
});

it('works without scripts, and shows an app password once', async () => {
  const { page, id } = await browser.person();
  await page.getByRole('main').getByRole('link', { name: 'Connect an app' }).click();
  await page.getByRole('link', { name: 'gPodder Desktop' }).click();
  await page.getByRole('button', { name: 'Make an app password' }).click();
  await page.getByText(/^pst_/).waitFor();
  const wait = await page.getByRole('link', { name: 'Done' }).getAttribute('href');
  await page.reload();
  await page.getByRole('button', { name: 'Make an app password' }).waitFor();
  expect(await page.getByText(/^pst_/).count()).toBe(0);
  // Another app password does not count.
  await browser.database.query(
    `INSERT INTO account.credentials (id, account_id, hash, label, scopes, last_used_at)
     VALUES (gen_random_uuid(), $1, sha256('other'), 'Other', '{}', now())`,
    [id],
  );
  await page.goto(wait ?? '');
  await page.getByRole('link', { name: 'Check now' }).click();
  await page.getByRole('heading', { name: 'Waiting for gPodder' }).waitFor();
  await page.getByRole('link', { name: 'Back to the steps' }).click();
  await page.getByRole('heading', { name: 'Connect gPodder' }).waitFor();
});

it('reports an app that signed in by the browser, but none from before', async () => {
  const { page, id } = await browser.person();
  const insert = (label: string, at: string) =>
    browser.database.query(
      `INSERT INTO account.credentials
         (id, account_id, hash, label, scopes, created_at, last_used_at)
       VALUES (gen_random_uuid(), $1, sha256($2::text::bytea), $2, '{}', now() + $3::interval,
         now())`,
      [id, label, at],
    );
  await insert('Before', '-1 hour');
  await page.goto('/connect/antennapod');
  await page.getByRole('link', { name: 'Done' }).click();
  await page.getByRole('heading', { name: 'Waiting for AntennaPod' }).waitFor();
  await insert('AntennaPod on a phone', '1 second');
  await page.getByRole('link', { name: 'Check now' }).click();
  await page.getByText('AntennaPod on a phone synced').waitFor();
});

it.each(['/connect/nothing', '/connect/constructor', '/connect/nothing/wait?since=1'])(
  '%s does not exist',
  async (path) => {
    const { page } = await browser.person();
    expect((await page.goto(path))?.status()).toBe(404);
  },
);
