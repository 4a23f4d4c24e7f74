import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import * as client from 'openid-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  authorizationRequest,
  errorOf,
  insecure,
  registerApp,
  signIn,
  wholeScope,
} from '../../testing/app-client.js';
import { apiUrl, IssuerFixture } from '../../testing/issuer.fixture.js';
import { Grants } from './grants.js';

/** Requests alternate between two replicas, so that no flow can depend on state of a process. */
let fixture: IssuerFixture;
beforeAll(async () => {
  fixture = await IssuerFixture.open();
});
afterAll(() => fixture.close());

describe('an app that registered, by code and PKCE', () => {
  it('gets a token for the API for ten minutes, with user, scopes and grant', async () => {
    const { accountId, app, tokens } = await signIn(fixture);
    const keys = createRemoteJWKSet(new URL('/jwks', fixture.url));
    const { payload, protectedHeader } = await jwtVerify(tokens.access_token, keys, {
      issuer: fixture.url,
      audience: 'podcast-sync',
    });
    expect(protectedHeader.alg).toBe('EdDSA');
    expect(payload).toMatchObject({
      sub: accountId,
      client_id: app.clientMetadata().client_id,
      scope: 'read:subscriptions write:subscriptions',
      gid: expect.any(String) as string,
      jti: expect.any(String) as string,
    });
    expect(Number(payload.exp) - Number(payload.iat)).toBe(600);
    expect(tokens.claims()?.sub).toBe(accountId);
  });

  it('gets a refresh token without asking for offline access', async () => {
    const { app, refreshToken } = await signIn(fixture, {
      parameters: { scope: 'read:subscriptions' },
    });
    const refreshed = await client.refreshTokenGrant(app, refreshToken);
    expect(decodeJwt(refreshed.access_token)['scope']).toBe('read:subscriptions');
  });

  it('requests all scopes of the API by sending neither scope nor resource', async () => {
    const app = await registerApp(fixture);
    const { url, checks } = await authorizationRequest(app);
    for (const name of ['scope', 'resource']) url.searchParams.delete(name);
    const tokens = await client.authorizationCodeGrant(
      app,
      await fixture.browser(await fixture.account()).allow(url),
      checks,
    );
    expect(decodeJwt(tokens.access_token)).toMatchObject({
      aud: 'podcast-sync',
      scope: 'read:subscriptions write:subscriptions',
    });
  });

  it('never gets a token without a scope claim, which would allow everything', async () => {
    const { tokens } = await signIn(fixture, { parameters: { scope: 'openid' } });
    expect(decodeJwt(tokens.access_token)['scope']).toBe('');
  });

  it('refreshes, and gets a token with fewer scopes on request', async () => {
    const { app, refreshToken, accountId } = await signIn(fixture);
    const refreshed = await client.refreshTokenGrant(app, refreshToken, {
      scope: 'read:subscriptions',
    });
    expect(decodeJwt(refreshed.access_token)).toMatchObject({
      sub: accountId,
      scope: 'read:subscriptions',
    });
    expect(refreshed.refresh_token).not.toBe(refreshToken);
  });

  it('is allowed twice by the same user, in two tabs of a browser', async () => {
    const browser = fixture.browser(await fixture.account());
    const [one, two] = [await registerApp(fixture), await registerApp(fixture)];
    const [first, second] = [await authorizationRequest(one), await authorizationRequest(two)];
    const [firstPage, secondPage] = [await browser.ask(first.url), await browser.ask(second.url)];
    const secondAnswer = await browser.decide(secondPage);
    const firstAnswer = await browser.decide(firstPage);
    await client.authorizationCodeGrant(two, secondAnswer, second.checks);
    await client.authorizationCodeGrant(one, firstAnswer, first.checks);
  });

  it('always needs a decision of the user, even after earlier ones', async () => {
    const { app, accountId } = await signIn(fixture);
    const browser = fixture.browser(accountId);
    await browser.allow((await authorizationRequest(app)).url);
    const { url } = await authorizationRequest(app, { prompt: 'none' });
    const answer = await browser.fetch(url);
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
    const page = await answer.text();
    expect(page).toContain('login_required');
    expect(page).toContain('App that sent the request: com.example.app:');
  });
});

describe('the consent page', () => {
  it('gets app, scopes, address and time of the request', async () => {
    const app = await registerApp(fixture, { client_name: `Pod\u202Ecatcher ${'x'.repeat(100)}` });
    const browser = fixture.browser(await fixture.account());
    const page = await browser.ask((await authorizationRequest(app)).url);
    const shown = (await (await browser.fetch(page)).json()) as Record<string, unknown>;
    expect(shown).toMatchObject({
      scopes: ['read:subscriptions', 'write:subscriptions'],
      redirectHost: 'com.example.app:',
      address: '127.0.0.1',
    });
    const { name } = shown['client'] as { name: string };
    expect([name.slice(0, 12), name.length]).toEqual(['Podcatcher x', 64]);
  });

  it('shows nothing to another browser', async () => {
    const page = await fixture
      .browser()
      .ask((await authorizationRequest(await registerApp(fixture))).url);
    const other = fixture.browser(await fixture.account());
    expect((await other.fetch(page)).status).toBe(404);
    expect((await other.fetch(page, { method: 'POST' })).status).toBe(404);
  });

  it('requires a new sign-in if the app requests it', async () => {
    const browser = fixture.browser(await fixture.account());
    const page = await browser.ask(
      (await authorizationRequest(await registerApp(fixture), { prompt: 'login' })).url,
    );
    const shown = (await (await browser.fetch(page)).json()) as {
      signInAfter: string;
      startedAt: string;
    };
    expect(shown.signInAfter).toBe(shown.startedAt);
  });
});

describe('a device', () => {
  const commandLine = async () => {
    const cli = await client.discovery(
      new URL(fixture.url),
      'podcast-sync-cli',
      undefined,
      client.None(),
      insecure,
    );
    return {
      cli,
      device: await client.initiateDeviceAuthorization(cli, { scope: 'read:subscriptions' }),
    };
  };

  it('is allowed by its code', async () => {
    const app = await registerApp(fixture, {
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
      redirect_uris: [],
    });
    const device = await client.initiateDeviceAuthorization(app, {
      scope: wholeScope,
      resource: apiUrl,
    });
    const accountId = await fixture.account();
    const page = device.verification_uri_complete ?? '';
    expect(await (await fixture.browser(accountId).fetch(page)).json()).toMatchObject({
      client: { name: 'An app' },
    });
    await fixture.browser(accountId).fetch(page.toLowerCase(), { method: 'POST' });
    const tokens = await client.pollDeviceAuthorizationGrant(app, device);
    expect(decodeJwt(tokens.access_token)['sub']).toBe(accountId);
    await client.refreshTokenGrant(app, tokens.refresh_token ?? '');
  });

  it('is allowed as the command line without registration', async () => {
    const { cli, device } = await commandLine();
    const accountId = await fixture.account();
    await fixture
      .browser(accountId)
      .fetch(device.verification_uri_complete ?? '', { method: 'POST' });
    const tokens = await client.pollDeviceAuthorizationGrant(cli, device);
    expect(decodeJwt(tokens.access_token)).toMatchObject({
      sub: accountId,
      scope: 'read:subscriptions',
    });
  });

  it('receives a final denial', async () => {
    const { cli, device } = await commandLine();
    const browser = fixture.browser(await fixture.account());
    const page = device.verification_uri_complete ?? '';
    expect(await (await browser.fetch(`${page}&deny`, { method: 'POST' })).json()).toBe(true);
    expect((await browser.fetch(page, { method: 'POST' })).status).toBe(404);
    expect(await errorOf(client.pollDeviceAuthorizationGrant(cli, device))).toBe('access_denied');
  });
});

describe('an app that is signed out', () => {
  it('by its own request loses its grant, and its access tokens are revoked', async () => {
    const { app, refreshToken, tokens } = await signIn(fixture);
    await client.tokenRevocation(app, refreshToken);
    expect(await errorOf(client.refreshTokenGrant(app, refreshToken))).toBe('invalid_grant');
    expect(await fixture.revoked()).toContain(
      `grant:${String(decodeJwt(tokens.access_token)['gid'])}`,
    );
  });

  it('by its user only loses its grant, and other apps of the user keep theirs', async () => {
    const { app, refreshToken, tokens, accountId } = await signIn(fixture);
    const other = await signIn(fixture, { accountId, app });
    const grantId = String(decodeJwt(tokens.access_token)['gid']);
    const grants = fixture.get(Grants);
    expect(await grants.endGrant(await fixture.account(), grantId)).toBe(false);
    expect(await grants.endGrant(accountId, grantId)).toBe(true);
    expect(await grants.endGrant(accountId, grantId)).toBe(false);
    expect(await errorOf(client.refreshTokenGrant(app, refreshToken))).toBe('invalid_grant');
    await client.refreshTokenGrant(app, other.refreshToken);
    expect((await grants.listApps(accountId)).map((each) => each.grantId)).toEqual([
      String(decodeJwt(other.tokens.access_token)['gid']),
    ]);
  });

  it('with its disabled account loses its grant', async () => {
    const { app, refreshToken, accountId } = await signIn(fixture);
    await fixture.owner.query('UPDATE account.accounts SET disabled_at = now() WHERE id = $1', [
      accountId,
    ]);
    expect(await errorOf(client.refreshTokenGrant(app, refreshToken))).toBe('invalid_grant');
  });
});

it('stores nothing that allows a reader of the tables to request a token', async () => {
  const { tokens, refreshToken } = await signIn(fixture);
  const { rows } = await fixture.owner.query<{ line: string }>(
    'SELECT o::text AS line FROM account.oidc o',
  );
  const all = rows.map(({ line }) => line).join('\n');
  expect(all).not.toContain(refreshToken);
  expect(all).not.toContain(tokens.access_token);
  expect(all).not.toContain(Buffer.from(refreshToken).toString('hex'));
});

it('publishes its metadata to any origin by both discovery paths', async () => {
  for (const path of ['openid-configuration', 'oauth-authorization-server']) {
    const answer = await fetch(`${fixture.url}/.well-known/${path}`, {
      headers: { origin: 'https://web.example' },
    });
    expect(answer.headers.get('access-control-allow-origin')).toMatch(/\*|https:\/\/web\.example/);
    expect(await answer.json()).toMatchObject({
      issuer: fixture.url,
      authorization_endpoint: `${fixture.url}/auth`,
      token_endpoint: `${fixture.url}/token`,
      registration_endpoint: `${fixture.url}/reg`,
      revocation_endpoint: `${fixture.url}/token/revocation`,
      device_authorization_endpoint: `${fixture.url}/device/auth`,
      jwks_uri: `${fixture.url}/jwks`,
      code_challenge_methods_supported: ['S256'],
      response_types_supported: ['code'],
      token_endpoint_auth_methods_supported: ['none'],
    });
  }
});
