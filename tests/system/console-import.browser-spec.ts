import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findings, fits } from '../../apps/account/testing/account-browser.js';
import { FeedServer } from '../../libs/fetch/testing/feed-server.js';
import { login, password, serveAccount } from '../../libs/fetch/testing/source-account.js';
import { ConsoleFixture } from './testing/console.fixture.js';

let server: FeedServer;
let fixture: ConsoleFixture;
beforeAll(async () => {
  server = await FeedServer.open();
  fixture = await ConsoleFixture.open({ FEEDS_ALLOW: `127.0.0.1:${server.port}` });
});
afterAll(async () => {
  await fixture?.close();
  await server?.close();
});

/** Fills the form and submits it by the keyboard. */
async function start(page: Page, source: string, secret: string): Promise<void> {
  await page.getByLabel('Server', { exact: true }).selectOption('other');
  await page.getByLabel('Address of the server').fill(source);
  await page.getByLabel('Your name there').fill(login);
  await page.getByLabel('Your password there').fill(secret);
  await page.keyboard.press('Enter');
}

const title = 'Import from another server';

describe('an import from another server', () => {
  it('shows its numbers and the skipped entries, also after a reload', async () => {
    const { page } = await fixture.visit({}, '/console/data');
    const account = serveAccount(server, '/whole');
    let release = () => {};
    account.blocked = new Promise((resolve) => (release = resolve));
    await start(page, account.url, password);
    await page.getByRole('progressbar', { name: 'Importing from 127.0.0.1' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    release();
    await page.getByText('is complete. 2 podcasts, 2 actions').waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe(title);
    await page.getByText('2 skipped entries', { exact: true }).click();
    await page.getByText('Action: The entry is incomplete.').waitFor();
    await page.getByText('Podcast: The podcast has no valid address.').waitFor();
    expect(await findings(page)).toEqual([]);
    expect(await page.getByLabel('Your name there').inputValue()).toBe(login);
    expect(await page.getByLabel('Your password there').inputValue()).toBe('');
    await page.getByRole('link', { name: 'Podcasts', exact: true }).click();
    await page.getByText('Zero').first().waitFor();
  });

  it('explains a wrong password, and continues with the right one', async () => {
    const { page } = await fixture.visit({}, '/console/data');
    const account = serveAccount(server, '/wrong');
    await start(page, account.url, 'wrong');
    await page.getByText('rejects the name or the password. Check both.').waitFor();
    await page.getByLabel('Your password there').fill(password);
    await page.getByRole('button', { name: 'Start import' }).click();
    await page.getByText('is complete. 2 podcasts, 2 actions').waitFor();
  });

  it('continues after the token is rejected, as after a sleep of the computer', async () => {
    const { page } = await fixture.visit({}, '/console/data');
    const account = serveAccount(server, '/renewed');
    let release = () => {};
    account.blocked = new Promise((resolve) => (release = resolve));
    await start(page, account.url, password);
    await page.getByRole('progressbar', { name: 'Importing from 127.0.0.1' }).waitFor();
    let rejected: string | undefined;
    await page.route('**/feeds/import', (route) => {
      const { authorization } = route.request().headers();
      rejected ??= authorization;
      return authorization === rejected
        ? route.fulfill({ status: 401, headers: { 'access-control-allow-origin': '*' } })
        : route.continue();
    });
    await expect.poll(() => rejected).toBeDefined();
    release();
    await page.getByText('is complete. 2 podcasts, 2 actions').waitFor();
  });

  it('can be stopped', async () => {
    const { page } = await fixture.visit({}, '/console/data');
    const account = serveAccount(server, '/stopped');
    account.blocked = new Promise(() => {});
    await start(page, account.url, password);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('was stopped.').waitFor();
  });

  it('needs an address, a name and a password', async () => {
    const { page } = await fixture.visit({}, '/console/data');
    await start(page, 'other server', '');
    await page.getByText('This is not the address of a server.').waitFor();
    await page.getByText('Enter a password of at most 256 bytes.').waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('server-source');
  });

  it.each([
    ['en-GB', 390],
    ['de-DE', 390],
    ['en-GB', 1280],
    ['de-DE', 1280],
  ])('is accessible and fits in %s at %i px', async (locale, width) => {
    const options = { locale, viewport: { width, height: 900 } };
    const { page } = await fixture.visit(options, '/console/data');
    await page.locator('#server-kind').selectOption('nextcloud');
    await page.locator('#server-source').fill(server.url('/nothing'));
    await page.locator('#server-login').fill(login);
    await page.locator('#server-password').fill(password);
    await page.keyboard.press('Enter');
    await page.locator('.notice.bad').waitFor();
    expect(await fits(page)).toBe(true);
    // axe cannot judge what the sticky header covers, or what is scrolled out of the row of tabs.
    await page.setViewportSize({ width: 1_000, height: 3_000 });
    expect(await findings(page)).toEqual([]);
  });
});
