import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AppProcess, SharedStack, eventually } from '#testing';
import { decodeJwt } from 'jose';
import { Provider } from 'oidc-provider';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newKey } from '../../apps/gateway/testing/key-provider.js';
import { WebVisitor } from './testing/web-visitor.js';

/** The client app's redirect URI; nothing listens there. */
const redirect = 'http://127.0.0.1:1/signed-in';
const audience = 'https://sync.example';

/** A provider of OpenID Connect, with a public client and access tokens for this API. */
async function startProvider(): Promise<{ issuer: string; server: Server }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'player',
        token_endpoint_auth_method: 'none',
        redirect_uris: [redirect],
        application_type: 'native',
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    ],
    jwks: { keys: [{ ...(await newKey('provider', 'RS256')) }] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    ttl: {
      AccessToken: 600,
      AuthorizationCode: 60,
      Grant: 600,
      IdToken: 600,
      Interaction: 600,
      Session: 600,
    },
    scopes: ['openid', 'read:subscriptions', 'write:subscriptions'],
    features: {
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          audience,
          scope: 'read:subscriptions write:subscriptions',
          accessTokenFormat: 'jwt',
        }),
      },
    },
  });
  server.on('request', provider.callback());
  return { issuer, server };
}

/** Logs a person in with authorization code and PKCE (RFC 7636). @returns the access token. */
async function logIn(issuer: string, login: string, scope: string): Promise<string> {
  const verifier = randomBytes(32).toString('base64url');
  const authorize = new URL('/auth', issuer);
  const request = {
    client_id: 'player',
    response_type: 'code',
    redirect_uri: redirect,
    scope: `openid ${scope}`,
    resource: audience,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(request)) authorize.searchParams.set(name, value);
  const visitor = new WebVisitor();
  const loginPage = await visitor.open(authorize.href, redirect);
  const consentPage = await visitor.submit(loginPage, redirect, { login, password: 'any' });
  const back = await visitor.submit(consentPage, redirect);
  const answer = await fetch(new URL('/token', issuer), {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: 'player',
      redirect_uri: redirect,
      resource: audience,
      code: new URL(back.url).searchParams.get('code') ?? '',
      code_verifier: verifier,
    }),
  });
  const tokens = (await answer.json()) as { access_token?: string };
  expect(tokens).toHaveProperty('access_token');
  return tokens.access_token as string;
}

describe('a provider of OpenID Connect, discovered by its issuer', { timeout: 60_000 }, () => {
  let [stack, gateway, provider]: [SharedStack?, AppProcess?, Server?] = [];
  let issuer = '';
  beforeAll(async () => {
    ({ issuer, server: provider } = await startProvider());
    stack = await SharedStack.open();
    const variables = { AUTH_ISSUER: issuer, AUTH_AUDIENCE: audience, AUTH_JWKS_FILE: '' };
    [gateway] = (await stack.start(['gateway'], variables)) as [AppProcess];
  });
  afterAll(async () => {
    await stack?.close();
    provider?.closeAllConnections();
    provider?.close();
  });

  const call = (token: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${String(gateway?.facts['port'])}/subscriptions`, {
      ...init,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    });

  it('logs a person in with code and PKCE, and its access token reads and writes', async () => {
    const token = await logIn(issuer, 'ann', 'read:subscriptions write:subscriptions');
    expect(decodeJwt(token)).toMatchObject({ iss: issuer, aud: audience, sub: 'ann' });
    const body = JSON.stringify({ subscriptions: [{ feed_url: 'https://feeds.example/1.xml' }] });
    expect((await call(token, { method: 'POST', body })).status).toBe(200);
    const list = await call(token);
    expect([list.status, await list.json()]).toMatchObject([200, { total: 1 }]);
  });

  it('separates the lists of persons, and grants only the requested scopes', async () => {
    const token = await logIn(issuer, 'bob', 'read:subscriptions');
    expect(await (await call(token)).json()).toMatchObject({ total: 0 });
    expect((await call(token, { method: 'POST', body: '{"subscriptions":[]}' })).status).toBe(401);
    await eventually(() => expect(gateway?.output).toMatch(/"reason":"scope"/));
    expect(gateway?.output).not.toContain(token);
  });
});
