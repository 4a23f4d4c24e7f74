import { afterAll, beforeAll, expect, it } from 'vitest';
import { AccountBrowser, password } from '../../testing/account-browser.js';

let fixture: AccountBrowser;
beforeAll(async () => void (fixture = await AccountBrowser.open()));
afterAll(() => fixture.close());

it('the owner of a new server invites a person, and manages the account', async () => {
  const owner = await fixture.visitor();
  await owner.goto(await fixture.link('first'));
  await owner.locator('[name=name]').fill('owner');
  await owner.locator('[name=password]').fill(password);
  await owner.getByRole('button', { name: 'Create account' }).click();
  await owner.waitForURL('/connect');
  await owner.goto('/account');
  await owner.getByRole('link', { name: 'Manage people' }).click();
  await owner.getByRole('link', { name: 'Invite a person' }).click();
  await owner.getByRole('button', { name: 'Create the link' }).click();
  const link = (await owner.locator('#link').textContent()) ?? '';
  await owner.getByAltText('QR code with the link').waitFor();

  const guest = await fixture.visitor();
  await guest.goto(link);
  await guest.locator('[name=name]').fill('guest');
  await guest.locator('[name=password]').fill(password);
  await guest.getByRole('button', { name: 'Create account' }).click();
  await guest.waitForURL('/connect');
  expect((await guest.goto('/people'))?.status()).toBe(404);

  // A reload creates no second link.
  await owner.reload();
  await owner.getByRole('button', { name: 'Create the link' }).waitFor();
  await owner.goto('/people');
  await owner.getByLabel('Search by name').fill('GUE');
  await owner.getByRole('button', { name: 'Search' }).click();
  await owner.getByRole('link', { name: 'owner' }).waitFor({ state: 'detached' });
  await owner.getByRole('link', { name: 'guest' }).click();
  await owner.getByRole('button', { name: 'Disable' }).click();
  await owner.getByText('guest is disabled and signed out everywhere.').waitFor();
  await guest.goto('/account');
  expect(new URL(guest.url()).pathname).toBe('/sign-in');
  await owner.getByRole('button', { name: 'Enable' }).click();
  await owner.getByText('guest is enabled.').waitFor();
  await owner.getByRole('button', { name: 'Create a link' }).click();
  await owner.getByText('Give this link only to guest.').waitFor();
  await guest.goto((await owner.locator('#link').textContent()) ?? '');
  await guest.getByRole('heading', { name: 'Set a new password' }).waitFor();

  await owner.getByRole('button', { name: 'Appoint' }).click();
  await owner.getByText('guest is now an administrator.').waitFor();
  await owner.goto('/people');
  await owner.getByRole('link', { name: 'owner' }).click();
  await owner.getByRole('button', { name: 'Remove' }).click();
  await owner.getByRole('heading', { name: 'Hello, owner' }).waitFor();
  expect((await owner.goto('/people'))?.status()).toBe(404);
});
