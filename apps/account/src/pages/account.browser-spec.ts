import { afterAll, beforeAll, expect, it } from 'vitest';
import { AccountBrowser } from '../../testing/account-browser.js';

let fixture: AccountBrowser;
beforeAll(async () => {
  fixture = await AccountBrowser.open({}, ['deletion-worker', 'subscription']);
});
afterAll(() => fixture.close());

it('creates an app password that is shown once, and revokes it', async () => {
  const { page, id } = await fixture.person();
  await page.getByRole('link', { name: 'New app password' }).click();
  await page.getByLabel('What is it for?').fill('A script <b>of mine</b>');
  await page.getByLabel('read only').check();
  await page.getByLabel('after 30 days').check();
  await page.getByRole('button', { name: 'Create app password' }).click();
  const secret = (await page.locator('.secret').textContent()) ?? '';
  expect(secret).toMatch(/^pst_[\w-]{28}$/);

  // A reload and Back repeat no form, and show no secret.
  await page.reload();
  await page.getByRole('heading', { name: /^Hello/ }).waitFor();
  await page.goBack();
  await page.getByRole('button', { name: 'Create app password' }).waitFor();
  await page.goto('/account');
  // In 29 days; "next month" if less than a second has passed.
  await page.getByText(/can read · Expires (in|next) /).waitFor();
  expect(await page.content()).not.toContain(secret);
  await page.getByRole('button', { name: 'Revoke A script <b>of mine</b>' }).click();
  await page.getByText('No app password yet.').waitFor();
  const { rows } = await fixture.database.query(
    'SELECT id FROM account.credentials WHERE account_id = $1',
    [id],
  );
  expect(rows).toEqual([]);
});

it('lists apps by their last sync, apart from scripts', async () => {
  const { page, id } = await fixture.person();
  await page.getByText('No app yet.').waitFor();
  const insert = (label: string, isApp: boolean, ago: string | null, suspended = false) =>
    fixture.database.query(
      `INSERT INTO account.credentials
         (id, account_id, hash, label, scopes, is_app, last_used_at, suspended_at)
       VALUES (gen_random_uuid(), $1, sha256($2::text::bytea), $3,
         '{read:subscriptions,write:subscriptions}', $4, now() - $5::interval,
         CASE WHEN $6 THEN now() END)`,
      [id, id + label, label, isApp, ago, suspended],
    );
  await insert('Kasts', true, null);
  await insert('gPodder', true, '2 hours', true);
  await insert('AntennaPod', true, '3 minutes');
  await insert('Backup', false, '1 day');
  await page.reload();
  await page.getByText('0 podcasts, the same in all apps.').waitFor();
  const card = (name: string) =>
    page.locator('.card').filter({ has: page.getByRole('heading', { name, exact: true }) });
  const texts = await card('Apps').getByRole('listitem').allInnerTexts();
  expect(texts.map((text) => text.split('\n').filter(Boolean).slice(0, 3))).toEqual([
    ['AntennaPod', 'Synced 3 minutes ago', expect.stringContaining('can read and change')],
    ['gPodder', 'suspended', 'Synced 2 hours ago'],
    ['Kasts', 'Not synced yet', expect.stringContaining('Connected')],
  ]);
  const title = await card('Apps').locator('time').first().getAttribute('title');
  expect(title).toMatch(/ 20\d\d, .* UTC$/);
  await card('App passwords').getByText('Last used yesterday').waitFor();
  await page.getByRole('button', { name: 'Remove AntennaPod' }).click();
  await page.getByText('Saved.').waitFor();
  expect(await card('Apps').getByRole('listitem').count()).toBe(2);
});

it('shows devices, and forgets one', async () => {
  const { page, id } = await fixture.person();
  const heading = page.getByRole('heading', { name: 'Devices', exact: true });
  expect(await heading.count()).toBe(0);
  await fixture.database.query(
    `INSERT INTO account.devices (account_id, id, caption, type)
     VALUES ($1, 'phone-1', 'My <b>phone</b>', 'mobile'), ($1, 'tv', '', 'other')`,
    [id],
  );
  await page.reload();
  await page.getByText('phone-1').waitFor();
  await page.getByRole('button', { name: 'Forget My <b>phone</b>' }).click();
  await page.getByText('Saved.').waitFor();
  await page.getByRole('button', { name: 'Forget tv' }).click();
  await page.getByText('Saved.').waitFor();
  await heading.waitFor({ state: 'detached' });
  const { rows } = await fixture.database.query(
    'SELECT id FROM account.devices WHERE account_id = $1',
    [id],
  );
  expect(rows).toEqual([]);
});

it('asks for a sign-in before it creates an app password long after the last one', async () => {
  const { page, id } = await fixture.person();
  await fixture.backdateSignIns(id);
  await page.getByRole('link', { name: 'New app password' }).click();
  await page.getByText('For your security').waitFor();
});

it('erases an account after the entry of its name, and signs out', async () => {
  const { page, name } = await fixture.person();
  await page.getByRole('link', { name: 'Erase account' }).click();
  await page.getByLabel('Enter your name').fill('somebody else');
  await page.getByRole('button', { name: 'Erase everything' }).click();
  await page.getByText('The name does not match.').waitFor();
  await page.getByLabel('Enter your name').fill(name);
  await page.getByRole('button', { name: 'Erase everything' }).click();
  await page.getByRole('heading', { name: 'Your account is being erased' }).waitFor();
  await page.goto('/account');
  expect(new URL(page.url()).pathname).toBe('/sign-in');
});
