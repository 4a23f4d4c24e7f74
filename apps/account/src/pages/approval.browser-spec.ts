import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AccountBrowser, password } from '../../testing/account-browser.js';

/** Grant type of the device flow (RFC 8628, 3.4). */
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

let fixture: AccountBrowser;
beforeAll(async () => void (fixture = await AccountBrowser.open()));
afterAll(() => fixture.close());

/** Starts an app on this machine that receives the redirect. */
async function appOnThisMachine() {
  const server = createServer((_request, response) => response.end('back in the app'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    server,
    redirectUri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`,
  };
}

describe('an app in a browser', () => {
  it('is allowed by one button, listed on the account page, and removed there', async () => {
    const { server, redirectUri } = await appOnThisMachine();
    try {
      const { page } = await fixture.person();
      const clientId = await fixture.app('Podcatcher', redirectUri);
      const { path, verifier } = fixture.authorization(clientId, redirectUri);
      await page.goto(path);
      await page.getByRole('heading', { name: 'Allow access?' }).waitFor();
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.waitForURL(`${redirectUri}?*`);
      const code = new URL(page.url()).searchParams.get('code') ?? '';
      const grant = {
        grant_type: 'authorization_code',
        client_id: clientId,
        redirect_uri: redirectUri,
      };
      const tokens = await fixture.token({ ...grant, code, code_verifier: verifier });
      expect(tokens).toMatchObject({
        token_type: 'Bearer',
        scope: expect.stringContaining('write:subscriptions'),
      });

      await page.goto('/account');
      await page.getByRole('button', { name: 'Remove Podcatcher' }).click();
      await page.getByText('No app yet.').waitFor();
      const refresh = {
        grant_type: 'refresh_token',
        client_id: clientId,
        refresh_token: String(tokens['refresh_token']),
      };
      expect(await fixture.token(refresh)).toMatchObject({ error: 'invalid_grant' });
    } finally {
      server.close();
    }
  });

  it('receives the denial', async () => {
    const { server, redirectUri } = await appOnThisMachine();
    try {
      const { page } = await fixture.person();
      await page.goto(
        fixture.authorization(await fixture.app('Podcatcher', redirectUri), redirectUri).path,
      );
      await page.getByRole('button', { name: 'Deny' }).click();
      await page.waitForURL(`${redirectUri}?*`);
      expect(new URL(page.url()).searchParams.get('error')).toBe('access_denied');
    } finally {
      server.close();
    }
  });

  it('with a private scheme is reached by a link, since forms cannot redirect there', async () => {
    const redirectUri = 'com.example.podcatcher:/callback';
    const { page } = await fixture.person();
    await page.goto(
      fixture.authorization(await fixture.app('Podcatcher', redirectUri), redirectUri).path,
    );
    await page.getByText('an app on this device').waitFor();
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.url().endsWith('/forward')),
      page.getByRole('button', { name: 'Allow' }).click(),
    ]);
    expect(answer.status()).toBe(200);
    expect(answer.headers()['refresh']).toMatch(/^0; url=/);
  });

  it('waits for the sign-in of the user', async () => {
    const { server, redirectUri } = await appOnThisMachine();
    try {
      const { page, name } = await fixture.person();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.goto(
        fixture.authorization(await fixture.app('Podcatcher', redirectUri), redirectUri).path,
      );
      await page.getByLabel('Name').fill(name);
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.waitForURL(`${redirectUri}?*`);
    } finally {
      server.close();
    }
  });
});

describe('a device', () => {
  it('is allowed by its code, which the page shows', async () => {
    const { page } = await fixture.person();
    const { user_code, device_code } = await fixture.device();
    await page.goto('/device');
    await page.getByLabel('Device code').fill(user_code.toLowerCase());
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText(user_code, { exact: true }).waitFor();
    const poll = { grant_type: deviceGrant, client_id: 'podcast-sync-cli', device_code };
    expect(await fixture.token(poll)).toMatchObject({ error: 'authorization_pending' });
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByRole('heading', { name: 'Done' }).waitFor();
    expect(await fixture.token(poll)).toMatchObject({ access_token: expect.any(String) });
  });

  it('is allowed only after a recent sign-in', async () => {
    const { page, id } = await fixture.person();
    await fixture.backdateSignIns(id);
    await page.goto((await fixture.device()).verification_uri_complete);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('For your security').waitFor();
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'Allow' }).waitFor();
  });

  it('is not found by a wrong code', async () => {
    const { page } = await fixture.person();
    await page.goto('/device?user_code=AAAA-AAAA');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('This code is unknown or has expired').waitFor();
  });
});

describe('an app of the login flow', () => {
  const poll = (token: string) =>
    fetch(`${fixture.origin}/login/v2/poll`, {
      method: 'POST',
      body: new URLSearchParams({ token }),
    });

  it('gets an app password after approval', async () => {
    const { page, name } = await fixture.person();
    const { path, token } = await fixture.loginFlow('AntennaPod/3.12');
    expect((await poll(token)).status).toBe(404);
    await page.goto(path);
    await page.getByText('192.0.2.7').waitFor();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByRole('heading', { name: 'Done' }).waitFor();
    const answer = (await (await poll(token)).json()) as Record<string, string>;
    expect(answer).toMatchObject({ server: 'https://podcasts.example', loginName: name });
    expect(answer['appPassword']).toMatch(/^pst_[\w-]{28}$/);
    await page.goto('/account');
    await page.getByRole('button', { name: 'Remove AntennaPod' }).waitFor();
    await page.getByText('Not synced yet').waitFor();
    await page.getByText('No app password yet.').waitFor();
  });

  it('is not allowed at the limit of app passwords, until one is removed', async () => {
    const { page, id } = await fixture.person();
    await fixture.database.query(
      `INSERT INTO account.credentials (id, account_id, hash, label, scopes)
       SELECT gen_random_uuid(), $1, sha256(gen_random_uuid()::text::bytea), 'x', '{}'
       FROM generate_series(1, 100)`,
      [id],
    );
    const { path, token } = await fixture.loginFlow('AntennaPod/3.12');
    await page.goto(path);
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('Your account has the maximum number of app passwords.').waitFor();
    await page.getByRole('link', { name: 'Your account' }).click();
    await page.getByRole('button', { name: 'Revoke x' }).first().click();
    await page.getByText('Saved.').waitFor();
    await page.goto(path);
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByRole('heading', { name: 'Done' }).waitFor();
    expect((await poll(token)).status).toBe(200);
  });

  it('gets nothing after a denial', async () => {
    const { page } = await fixture.person();
    const { path, token } = await fixture.loginFlow('AntennaPod/3.12');
    await page.goto(path);
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByRole('heading', { name: 'Denied' }).waitFor();
    expect((await poll(token)).status).toBe(404);
    expect((await page.goto(path))?.status()).toBe(410);
    await page.getByText('start the sign-in in the app again').waitFor();
  });
});
