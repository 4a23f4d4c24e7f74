import { Secret, TOTP } from 'otpauth';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { type AccountBrowser, password } from './account-browser.js';

/** Page in one visible state. `name` identifies page and state. */
export interface Step {
  readonly name: string;
  readonly page: Page;
}

/** Grant type of the device flow (RFC 8628, 3.4). */
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** Clicks the last button of a form, except those for passkeys. */
const press = (page: Page) => page.locator('main form:not([data-passkey]) button').last().click();

/** Returns the code of an authenticator app for the key on the page. */
export async function codeOn(page: Page): Promise<string> {
  const key = (await page.locator('.secret').first().textContent()) ?? '';
  return new TOTP({ secret: Secret.fromBase32(key.replaceAll(' ', '')) }).generate();
}

/** Yields the account pages in their visible states. Requires open registration and mail. */
export async function* everyPage(
  fixture: AccountBrowser,
  options: BrowserContextOptions,
): AsyncGenerator<Step> {
  yield* signedOutPages(fixture, await fixture.visitor(options));
  const { page, name, id } = await fixture.person(options);
  yield* accountPages(fixture, page, name);
  yield* peoplePages(fixture, page, id);
  yield* approvalPages(fixture, page);
  yield* secondStepPages(fixture, page, name, id);
}

async function* signedOutPages(fixture: AccountBrowser, page: Page): AsyncGenerator<Step> {
  for (const path of [
    '/sign-in',
    '/register',
    '/forgot',
    '/recover',
    '/nothing',
    '/sign-in?notice=out',
  ]) {
    await page.goto(path);
    yield { name: path.slice(1).replace('?', '-'), page };
  }
  await page.goto('/sign-in');
  await page.locator('[name=name]').fill('nobody');
  await page.locator('[name=password]').fill('not the password');
  await press(page);
  yield { name: 'sign-in-refused', page };
  await page.goto(await fixture.link('first'));
  yield { name: 'first', page };
  await page.goto(await fixture.link('invite'));
  yield { name: 'invite', page };
  await page.locator('[name=name]').fill('not a name');
  await page.locator('[name=password]').fill('long enough to be one');
  await press(page);
  yield { name: 'invite-refused-name', page };
  await page.locator('[name=name]').fill('a.name');
  await page.locator('[name=password]').fill('short');
  await press(page);
  yield { name: 'invite-refused-password', page };
  await page.goto('/links/wrong');
  yield { name: 'link-gone', page };
  await page.goto('/forgot');
  await page.locator('[name=name]').fill('nobody');
  await press(page);
  yield { name: 'forgot-sent', page };
  await page.goto('/auth?client_id=nobody');
  yield { name: 'issuer-error', page };
}

async function* accountPages(
  fixture: AccountBrowser,
  page: Page,
  name: string,
): AsyncGenerator<Step> {
  yield { name: 'home-new', page };
  for (const path of [
    'password',
    'totp',
    'passkeys',
    'recovery-codes',
    'app-passwords',
    'email',
    'erase',
    'device',
    'connect',
    'connect/antennapod',
    'connect/kasts',
    'connect/script',
    'connect/kasts/wait?since=1',
  ]) {
    await page.goto(`/${path}`);
    yield { name: path, page };
  }
  await page.goto('/recovery-codes');
  await press(page);
  yield { name: 'recovery-codes-shown', page };
  await page.goto('/app-passwords');
  await page.locator('[name=label]').fill('AntennaPod on my phone');
  await press(page);
  yield { name: 'app-password-shown', page };
  await page.goto('/connect/kasts');
  await page.getByRole('main').getByRole('button').last().click();
  yield { name: 'connect-app-password', page };
  await page.goto('/email');
  await page.locator('[name=email]').fill('person@example.com');
  await press(page);
  yield { name: 'email-sent', page };
  await page.goto('/password');
  await page.locator('[name=current]').fill('not the password');
  await page.locator('[name=password]').fill('another good password');
  await press(page);
  yield { name: 'password-refused', page };
  await page.goto('/erase');
  await page.locator('[name=name]').fill('somebody else');
  await press(page);
  yield { name: 'erase-refused', page };
  await page.goto(`/sign-in?next=/password`);
  yield { name: 'sign-in-again', page };
  const { rows } = await fixture.database.query('SELECT id FROM account.accounts WHERE name = $1', [
    name,
  ]);
  const { id: accountId } = rows[0] as { id: string };
  await fixture.database.query(
    `INSERT INTO account.devices (account_id, id, caption, type)
     VALUES ($1, 'phone-1', 'My phone', 'mobile')`,
    [accountId],
  );
  await page.goto('/account');
  yield { name: 'home-devices', page };
  await page.goto(await fixture.link('reset', { accountId }));
  yield { name: 'reset', page };
  await fixture.database.query(
    'UPDATE account.credentials SET suspended_at = now() WHERE account_id = $1',
    [accountId],
  );
  await page.goto('/account');
  yield { name: 'home-suspended', page };
  await page.goto('/app-passwords/keep');
  yield { name: 'app-passwords-keep', page };
  await page.goto(await fixture.link('verify', { accountId, email: 'person@example.com' }));
  yield { name: 'verify', page };
  await press(page);
  yield { name: 'verified', page };
}

async function* peoplePages(fixture: AccountBrowser, page: Page, id: string): AsyncGenerator<Step> {
  await fixture.database.query('UPDATE account.accounts SET is_administrator = (id = $1)', [id]);
  await page.goto('/account');
  yield { name: 'home-administrator', page };
  for (const path of ['people', 'people?name=nobody', 'people/invitation', `people/${id}`]) {
    await page.goto(`/${path}`);
    yield { name: path.replace(id, 'own'), page };
  }
  await page.locator('button[class~=plain]').last().click();
  yield { name: 'person-refused', page };
  await page.locator('[value=reset] + button').click();
  yield { name: 'person-link', page };
  await page.goto('/people/invitation');
  await page.locator('[name=email]').fill('person@example');
  await press(page);
  yield { name: 'invitation-refused', page };
  await page.locator('[name=email]').fill('person@example.com');
  await press(page);
  yield { name: 'invitation-sent', page };
  await press(page);
  yield { name: 'invitation-link', page };
}

async function* approvalPages(fixture: AccountBrowser, page: Page): AsyncGenerator<Step> {
  const app = await fixture.app('Podcatcher', 'com.example.podcatcher:/callback');
  await page.goto(fixture.authorization(app, 'com.example.podcatcher:/callback').path);
  yield { name: 'consent', page };
  await page.goto('/device');
  await page.locator('[name=user_code]').fill('WRONG');
  await press(page);
  yield { name: 'device-unknown', page };
  const { verification_uri_complete: link, device_code } = await fixture.device();
  await page.goto(link);
  await press(page);
  yield { name: 'device-approval', page };
  await page.locator('[value=allow]').click();
  yield { name: 'device-allowed', page };
  await fixture.token({ grant_type: deviceGrant, client_id: 'podcast-sync-cli', device_code });
  const flow = await fixture.loginFlow('Mozilla/5.0 (Android) Nextcloud-android/3.29');
  await page.goto(flow.path);
  yield { name: 'login-flow', page };
  await page.locator('[value=deny]').click();
  yield { name: 'login-flow-denied', page };
}

async function* secondStepPages(
  fixture: AccountBrowser,
  page: Page,
  name: string,
  id: string,
): AsyncGenerator<Step> {
  await page.goto('/totp');
  await page.locator('[name=code]').fill('000000');
  await press(page);
  yield { name: 'totp-refused', page };
  await page.locator('[name=code]').fill(await codeOn(page));
  await press(page);
  await page.goto('/account');
  yield { name: 'home', page };
  await fixture.database.query(
    `INSERT INTO account.passkeys
       (id, account_id, public_key, counter, transports, label, suspended_at)
     VALUES (uuid_send(gen_random_uuid()), $1, '', 0, '{}', 'My phone', now())`,
    [id],
  );
  await page.goto('/passkeys');
  yield { name: 'passkeys-suspended', page };
  await page.goto('/totp/off');
  yield { name: 'totp-off', page };
  await page.locator('[name=code]').fill('000000');
  await page.locator('main form button').first().click();
  yield { name: 'totp-off-refused', page };
  await fixture.database.query('DELETE FROM account.sessions WHERE account_id = $1', [id]);
  await page.goto('/account');
  await page.locator('[name=name]').fill(name);
  await page.locator('[name=password]').fill(password);
  await press(page);
  yield { name: 'code', page };
  await page.locator('[name=code]').fill('000000');
  await page.locator('main form button').first().click();
  yield { name: 'code-refused', page };
  await page.locator('summary').click();
  await page.locator('[name=recovery]').fill('not a code');
  await press(page);
  yield { name: 'recovery-refused', page };
  await fixture.database.query(
    'UPDATE account.accounts SET totp_secret = NULL, totp_confirmed_at = NULL WHERE id = $1',
    [id],
  );
  await page.goto('/sign-in/code');
  yield { name: 'second-step-passkey', page };
}
