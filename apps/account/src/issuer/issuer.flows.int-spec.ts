import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import * as client from 'openid-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  authorization,
  errorOf,
  insecure,
  registeredApp,
  signIn,
  wholeScope,
} from '../../testing/app.client.js';
import { apiUrl, IssuerWorld } from '../../testing/issuer.world.js';
import { Grants } from './grants.js';

/** Requests alternate between two replicas, so that no flow can depend on state of a process. */
let world: IssuerWorld;
beforeAll(async () => {
  world = await IssuerWorld.open();
});
afterAll(() => world.close());

describe('an app that registered, by code and PKCE', () => {
  it('gets a token for the API, of ten minutes, that says who, what for and by which grant', async () => {
    const { accountId, app, tokens } = await signIn(world);
    const keys = createRemoteJWKSet(new URL('/jwks', world.url));
    const { payload, protectedHeader } = await jwtVerify(tokens.access_token, keys, {
      issuer: world.url,
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
    const { app, refreshToken } = await signIn(world, {
      parameters: { scope: 'read:subscriptions' },
    });
    const refreshed = await client.refreshTokenGrant(app, refreshToken);
    expect(decodeJwt(refreshed.access_token)['scope']).toBe('read:subscriptions');
  });

  it('may ask for all that the API has by asking for no scope and no resource', async () => {
    const app = await registeredApp(world);
    const { url, checks } = await authorization(app);
    for (const name of ['scope', 'resource']) url.searchParams.delete(name);
    const tokens = await client.authorizationCodeGrant(
      app,
      await world.browser(await world.account()).allow(url),
      checks,
    );
    expect(decodeJwt(tokens.access_token)).toMatchObject({
      aud: 'podcast-sync',
      scope: 'read:subscriptions write:subscriptions',
    });
  });

  it('never gets a token without a claim of scopes, which would allow everything', async () => {
    const { tokens } = await signIn(world, { parameters: { scope: 'openid' } });
    expect(decodeJwt(tokens.access_token)['scope']).toBe('');
  });

  it('refreshes, and gets a token with less where it asks for less', async () => {
    const { app, refreshToken, accountId } = await signIn(world);
    const refreshed = await client.refreshTokenGrant(app, refreshToken, {
      scope: 'read:subscriptions',
    });
    expect(decodeJwt(refreshed.access_token)).toMatchObject({
      sub: accountId,
      scope: 'read:subscriptions',
    });
    expect(refreshed.refresh_token).not.toBe(refreshToken);
  });

  it('is let in by the same person twice, in two tabs of one browser at once', async () => {
    const browser = world.browser(await world.account());
    const [one, two] = [await registeredApp(world), await registeredApp(world)];
    const [first, second] = [await authorization(one), await authorization(two)];
    const [firstPage, secondPage] = [await browser.ask(first.url), await browser.ask(second.url)];
    const secondAnswer = await browser.decide(secondPage);
    const firstAnswer = await browser.decide(firstPage);
    await client.authorizationCodeGrant(two, secondAnswer, second.checks);
    await client.authorizationCodeGrant(one, firstAnswer, first.checks);
  });

  it('is never let in without a person, however often it was', async () => {
    const { app, accountId } = await signIn(world);
    const browser = world.browser(accountId);
    await browser.allow((await authorization(app)).url);
    const { url } = await authorization(app, { prompt: 'none' });
    const answer = await browser.go(url);
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
    const page = await answer.text();
    expect(page).toContain('login_required');
    expect(page).toContain('App that sent the request: com.example.app:');
  });
});

describe('the page of consent', () => {
  it('is told who asks for what, from where and since when', async () => {
    const app = await registeredApp(world, { client_name: `Pod\u202Ecatcher ${'x'.repeat(100)}` });
    const browser = world.browser(await world.account());
    const page = await browser.ask((await authorization(app)).url);
    const shown = (await (await browser.go(page)).json()) as Record<string, unknown>;
    expect(shown).toMatchObject({
      scopes: ['read:subscriptions', 'write:subscriptions'],
      redirectHost: 'com.example.app:',
      address: '127.0.0.1',
    });
    const { name } = shown['client'] as { name: string };
    expect([name.slice(0, 12), name.length]).toEqual(['Podcatcher x', 64]);
  });

  it('has nothing to show to another browser than the one that began', async () => {
    const page = await world.browser().ask((await authorization(await registeredApp(world))).url);
    const other = world.browser(await world.account());
    expect((await other.go(page)).status).toBe(404);
    expect((await other.go(page, { method: 'POST' })).status).toBe(404);
  });

  it('is told that the person has to sign in anew where the app wants that', async () => {
    const browser = world.browser(await world.account());
    const page = await browser.ask(
      (await authorization(await registeredApp(world), { prompt: 'login' })).url,
    );
    const shown = (await (await browser.go(page)).json()) as {
      signInAfter: string;
      startedAt: string;
    };
    expect(shown.signInAfter).toBe(shown.startedAt);
  });
});

describe('a device', () => {
  const commandLine = async () => {
    const cli = await client.discovery(
      new URL(world.url),
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

  it('is let in by the code that it shows', async () => {
    const app = await registeredApp(world, {
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
      redirect_uris: [],
    });
    const device = await client.initiateDeviceAuthorization(app, {
      scope: wholeScope,
      resource: apiUrl,
    });
    const accountId = await world.account();
    const page = device.verification_uri_complete ?? '';
    expect(await (await world.browser(accountId).go(page)).json()).toMatchObject({
      client: { name: 'An app' },
    });
    await world.browser(accountId).go(page.toLowerCase(), { method: 'POST' });
    const tokens = await client.pollDeviceAuthorizationGrant(app, device);
    expect(decodeJwt(tokens.access_token)['sub']).toBe(accountId);
    await client.refreshTokenGrant(app, tokens.refresh_token ?? '');
  });

  it('is let in as the command line without registration', async () => {
    const { cli, device } = await commandLine();
    const accountId = await world.account();
    await world.browser(accountId).go(device.verification_uri_complete ?? '', { method: 'POST' });
    const tokens = await client.pollDeviceAuthorizationGrant(cli, device);
    expect(decodeJwt(tokens.access_token)).toMatchObject({
      sub: accountId,
      scope: 'read:subscriptions',
    });
  });

  it('is told no, once and for all', async () => {
    const { cli, device } = await commandLine();
    const browser = world.browser(await world.account());
    const page = device.verification_uri_complete ?? '';
    expect(await (await browser.go(`${page}&deny`, { method: 'POST' })).json()).toBe(true);
    expect((await browser.go(page, { method: 'POST' })).status).toBe(404);
    expect(await errorOf(client.pollDeviceAuthorizationGrant(cli, device))).toBe('access_denied');
  });
});

describe('an app that is signed out', () => {
  it('by itself has its grant ended and its access tokens revoked', async () => {
    const { app, refreshToken, tokens } = await signIn(world);
    await client.tokenRevocation(app, refreshToken);
    expect(await errorOf(client.refreshTokenGrant(app, refreshToken))).toBe('invalid_grant');
    expect(await world.revoked()).toContain(
      `grant:${String(decodeJwt(tokens.access_token)['gid'])}`,
    );
  });

  it('by the person, and nobody else, has its grant ended, and others of the same person go on', async () => {
    const { app, refreshToken, tokens, accountId } = await signIn(world);
    const other = await signIn(world, { accountId, app });
    const grantId = String(decodeJwt(tokens.access_token)['gid']);
    const grants = world.get(Grants);
    expect(await grants.endGrant(await world.account(), grantId)).toBe(false);
    expect(await grants.endGrant(accountId, grantId)).toBe(true);
    expect(await grants.endGrant(accountId, grantId)).toBe(false);
    expect(await errorOf(client.refreshTokenGrant(app, refreshToken))).toBe('invalid_grant');
    await client.refreshTokenGrant(app, other.refreshToken);
    expect((await grants.listApps(accountId)).map((each) => each.grantId)).toEqual([
      String(decodeJwt(other.tokens.access_token)['gid']),
    ]);
  });

  it('with its account, where that is disabled', async () => {
    const { app, refreshToken, accountId } = await signIn(world);
    await world.owner.query('UPDATE account.accounts SET disabled_at = now() WHERE id = $1', [
      accountId,
    ]);
    expect(await errorOf(client.refreshTokenGrant(app, refreshToken))).toBe('invalid_grant');
  });
});

it('keeps nothing by which somebody who reads the tables could ask for a token', async () => {
  const { tokens, refreshToken } = await signIn(world);
  const { rows } = await world.owner.query<{ line: string }>(
    'SELECT o::text AS line FROM account.oidc o',
  );
  const all = rows.map(({ line }) => line).join('\n');
  expect(all).not.toContain(refreshToken);
  expect(all).not.toContain(tokens.access_token);
  expect(all).not.toContain(Buffer.from(refreshToken).toString('hex'));
});

it('says where everything is, to any origin, by both ways to ask', async () => {
  for (const path of ['openid-configuration', 'oauth-authorization-server']) {
    const answer = await fetch(`${world.url}/.well-known/${path}`, {
      headers: { origin: 'https://web.example' },
    });
    expect(answer.headers.get('access-control-allow-origin')).toMatch(/\*|https:\/\/web\.example/);
    expect(await answer.json()).toMatchObject({
      issuer: world.url,
      authorization_endpoint: `${world.url}/auth`,
      token_endpoint: `${world.url}/token`,
      registration_endpoint: `${world.url}/reg`,
      revocation_endpoint: `${world.url}/token/revocation`,
      device_authorization_endpoint: `${world.url}/device/auth`,
      jwks_uri: `${world.url}/jwks`,
      code_challenge_methods_supported: ['S256'],
      response_types_supported: ['code'],
      token_endpoint_auth_methods_supported: ['none'],
    });
  }
});
