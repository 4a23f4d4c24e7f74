import { SignJWT } from 'jose';
import * as client from 'openid-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#testing';
import {
  allowApp,
  authorizationRequest,
  errorOf,
  redirectUri,
  registerApp,
  signIn,
  wholeScope,
} from '../../testing/app-client.js';
import { IssuerFixture } from '../../testing/issuer.fixture.js';
import { DeviceAuthorizations } from './device-authorizations.js';

/**
 * Attacks of unauthenticated clients on each route of the issuer. Each request gets a standard
 * error that reveals nothing.
 */
let fixture: IssuerFixture;
let app: client.Configuration;
let clientId: string;
beforeAll(async () => {
  fixture = await IssuerFixture.open();
  app = await registerApp(fixture);
  clientId = app.clientMetadata().client_id;
});
afterAll(() => fixture.close());

const deviceGrant = {
  grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
  redirect_uris: [],
};

/** Sends an authorization request with changed parameters. */
async function tampered(change: (parameters: URLSearchParams) => void): Promise<Response> {
  const { url } = await authorizationRequest(app);
  change(url.searchParams);
  return fixture.browser().fetch(url);
}

function post(
  path: string,
  form: Record<string, string> | [string, string][],
  headers: Record<string, string> = {},
) {
  return fetch(`${fixture.url}${path}`, {
    method: 'POST',
    body: new URLSearchParams(form),
    headers,
    redirect: 'manual',
  });
}

async function errorIn(answer: Response): Promise<[number, string]> {
  return [answer.status, ((await answer.json()) as { error: string }).error];
}

describe('GET /auth never redirects to an unregistered URI', () => {
  const places = [
    'https://evil.example/callback',
    'com.example.app:/callback/../other',
    'com.example.app:/callback?next=https://evil.example',
    'com.example.app.evil:/callback',
    'com.example.app:/callback#',
    '//evil.example',
    'javascript:alert(1)',
    'data:text/html,hello',
    'http://127.0.0.1:1/callback',
    `com.example.app:/callback\r\nSet-Cookie: a=b`,
  ];
  it.each(places)('%j', async (place) => {
    const answer = await tampered((parameters) => parameters.set('redirect_uri', place));
    expect(answer.status).toBe(400);
    expect(answer.headers.get('location')).toBeNull();
    expect(answer.headers.getSetCookie()).toEqual([]);
  });

  it('shows an error page for two redirect URIs', async () => {
    const answer = await tampered((parameters) =>
      parameters.append('redirect_uri', 'https://evil.example'),
    );
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
  });
});

describe('GET /auth without a decision of a person', () => {
  it.each(['query', 'fragment', 'form_post'])(
    'names the registered host of an app without a redirect: %s',
    async (mode) => {
      const uri = 'https://phish.example/callback';
      const phisher = await registerApp(fixture, { redirect_uris: [uri] });
      const { url } = await authorizationRequest(phisher, {
        redirect_uri: uri,
        prompt: 'none',
        response_mode: mode,
      });
      const answer = await fixture.browser().fetch(url);
      expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
      const page = await answer.text();
      expect(page).toContain('App that sent the request: phish.example');
      expect(page).not.toContain(uri);
    },
  );
});

describe('GET /auth refuses', () => {
  const refused: [string, (parameters: URLSearchParams) => void, string][] = [
    [
      'a request without PKCE',
      (parameters) => parameters.delete('code_challenge'),
      'invalid_request',
    ],
    [
      'PKCE in plain',
      (parameters) => parameters.set('code_challenge_method', 'plain'),
      'invalid_request',
    ],
    [
      'PKCE without a method',
      (parameters) => parameters.delete('code_challenge_method'),
      'invalid_request',
    ],
    [
      'the implicit flow',
      (parameters) => parameters.set('response_type', 'token'),
      'unsupported_response_type',
    ],
    [
      'the hybrid flow',
      (parameters) => parameters.set('response_type', 'code id_token'),
      'unsupported_response_type',
    ],
    [
      'the response mode form_post',
      (parameters) => parameters.set('response_mode', 'form_post'),
      'unsupported_response_mode|unauthorized_client|invalid_request',
    ],
    [
      'an unknown API',
      (parameters) => parameters.set('resource', 'https://evil.example'),
      'invalid_target',
    ],
    [
      'a request in a token',
      (parameters) => parameters.set('request', 'e30.e30.'),
      'request_not_supported',
    ],
    [
      'a request elsewhere',
      (parameters) => parameters.set('request_uri', 'https://evil.example/r'),
      'request_uri_not_supported',
    ],
    [
      'a prompt that contradicts itself',
      (parameters) => parameters.set('prompt', 'none login'),
      'invalid_request',
    ],
  ];
  it.each(refused)('%s', async (_name, change, error) => {
    const answer = await tampered(change);
    expect(answer.headers.get('location')).toBeNull();
    expect(await answer.text()).toMatch(new RegExp(error));
  });

  it('an unknown app, without information about others', async () => {
    const answer = await tampered((parameters) => parameters.set('client_id', 'unknown'));
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain('invalid_client');
  });

  it('markup in parameters, which the page escapes', async () => {
    const answer = await tampered((parameters) =>
      parameters.set('client_id', '<script>alert(1)</script>'),
    );
    expect(await answer.text()).not.toContain('<script>');
  });
});

describe('POST /token refuses', () => {
  it('a code with another verifier, without effect on other apps', async () => {
    const { answer, checks } = await allowApp(fixture, { app });
    const other = { ...checks, pkceCodeVerifier: client.randomPKCECodeVerifier() };
    expect(await errorOf(client.authorizationCodeGrant(app, answer, other))).toBe('invalid_grant');
  });

  it('a code of another app', async () => {
    const { answer, checks } = await allowApp(fixture, { app });
    const other = await registerApp(fixture);
    expect(await errorOf(client.authorizationCodeGrant(other, answer, checks))).toBe(
      'invalid_grant',
    );
  });

  it('a code with a different redirect URI', async () => {
    const { answer, checks } = await allowApp(fixture, { app });
    const form = {
      grant_type: 'authorization_code',
      client_id: clientId,
      code: answer.searchParams.get('code') ?? '',
      code_verifier: checks.pkceCodeVerifier,
      redirect_uri: 'com.example.app:/elsewhere',
    };
    expect(await errorIn(await post('/token', form))).toEqual([400, 'invalid_grant']);
  });

  it('a code without its verifier', async () => {
    const { answer } = await allowApp(fixture, { app });
    const code = answer.searchParams.get('code') ?? '';
    const form = {
      grant_type: 'authorization_code',
      client_id: clientId,
      code,
      redirect_uri: redirectUri,
    };
    expect(await errorIn(await post('/token', form))).toEqual([400, 'invalid_grant']);
  });

  const others: [string, Record<string, string>, number, string][] = [
    [
      'passwords',
      { grant_type: 'password', username: 'a', password: 'b' },
      400,
      'unsupported_grant_type',
    ],
    ['apps without a user', { grant_type: 'client_credentials' }, 400, 'unsupported_grant_type'],
    ['no grant at all', {}, 400, 'invalid_request'],
    [
      'an unknown refresh token',
      { grant_type: 'refresh_token', refresh_token: 'x'.repeat(43) },
      400,
      'invalid_grant',
    ],
    [
      'an unknown app',
      { grant_type: 'refresh_token', refresh_token: 'x', client_id: 'unknown' },
      401,
      'invalid_client',
    ],
  ];
  it.each(others)('%s', async (_name, form, status, error) => {
    expect(await errorIn(await post('/token', { client_id: clientId, ...form }))).toEqual([
      status,
      error,
    ]);
  });

  it('an app that authenticates by its own token', async () => {
    const assertion = await new SignJWT({ sub: clientId, iss: clientId, aud: fixture.url })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new TextEncoder().encode('x'.repeat(32)));
    const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
    const form = {
      grant_type: 'refresh_token',
      refresh_token: 'x',
      client_assertion: assertion,
      client_assertion_type: type,
    };
    expect((await errorIn(await post('/token', form)))[1]).toMatch(/invalid_(client|request)/);
  });

  it('a refresh that requests more scopes than granted', async () => {
    const { app: other, refreshToken } = await signIn(fixture);
    expect(
      await errorOf(
        client.refreshTokenGrant(other, refreshToken, { resource: 'https://other.example' }),
      ),
    ).toBe('invalid_target');
    expect(
      await errorOf(
        client.refreshTokenGrant(other, refreshToken, { scope: `${wholeScope} admin` }),
      ),
    ).toBe('invalid_scope');
    await client.refreshTokenGrant(other, refreshToken);
  });

  it('bodies that are too large, no form, or repeat a field', async () => {
    expect(
      (await post('/token', { client_id: clientId, grant_type: 'x'.repeat(100_000) })).status,
    ).toBe(400);
    const json = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } };
    expect((await fetch(`${fixture.url}/token`, json)).status).toBe(400);
    const twice: [string, string][] = [
      ['client_id', clientId],
      ['grant_type', 'refresh_token'],
      ['refresh_token', 'a'],
      ['refresh_token', 'b'],
    ];
    expect(await errorIn(await post('/token', twice))).toEqual([400, 'invalid_request']);
  });

  it('pages of origins that the app has not registered', async () => {
    const form = { client_id: clientId, grant_type: 'refresh_token', refresh_token: 'x' };
    const answer = await post('/token', form, { origin: 'https://evil.example' });
    expect(answer.status).toBe(400);
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('POST /reg', () => {
  const register = (body: unknown, headers: Record<string, string> = {}) =>
    fetch(`${fixture.url}/reg`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });

  const wrong: [string, unknown, string][] = [
    [
      'a redirect by http to another machine',
      { redirect_uris: ['http://evil.example/'] },
      'invalid_redirect_uri',
    ],
    [
      'a private scheme without a dot',
      { redirect_uris: ['myapp:/callback'] },
      'invalid_redirect_uri',
    ],
    ['a script as a redirect', { redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri'],
    [
      'a redirect with a fragment',
      { redirect_uris: ['https://app.example/#a'] },
      'invalid_redirect_uri',
    ],
    [
      'a redirect with a password',
      { redirect_uris: ['https://a:b@app.example/'] },
      'invalid_redirect_uri',
    ],
    [
      'six redirects',
      { redirect_uris: Array.from({ length: 6 }, (_, i) => `https://app.example/${i}`) },
      'invalid_redirect_uri',
    ],
    ['no redirect', {}, 'invalid_redirect_uri'],
    [
      'a client with a secret',
      { redirect_uris: [redirectUri], token_endpoint_auth_method: 'client_secret_basic' },
      'invalid_client_metadata',
    ],
    [
      'the implicit grant',
      { redirect_uris: [redirectUri], grant_types: ['implicit'] },
      'invalid_client_metadata',
    ],
    [
      'a lone surrogate',
      { redirect_uris: [redirectUri], client_name: 'a\ud800' },
      'invalid_request',
    ],
    ['what is no JSON', '{', 'invalid_client_metadata'],
    ['a list', [], 'invalid_client_metadata'],
    [
      'a body that is too large',
      { redirect_uris: [redirectUri], client_name: 'x'.repeat(20_000) },
      'invalid_client_metadata',
    ],
  ];
  it.each(wrong)('refuses %s', async (_name, body, error) => {
    expect(await errorIn(await register(body))).toEqual([400, error]);
  });

  it('ignores metadata that could deceive a user or cause requests', async () => {
    const answer = await register({
      redirect_uris: [redirectUri],
      client_name: 'A\u202Eppa',
      logo_uri: 'https://evil.example/logo.svg',
      client_uri: 'https://evil.example',
      jwks_uri: 'http://169.254.169.254/',
      sector_identifier_uri: 'http://169.254.169.254/',
      client_id: 'podcast-sync-cli',
      require_auth_time: true,
    });
    expect(answer.status).toBe(201);
    const kept = (await answer.json()) as Record<string, unknown>;
    for (const name of [
      'logo_uri',
      'client_uri',
      'jwks_uri',
      'sector_identifier_uri',
      'client_secret',
    ])
      expect(kept[name]).toBeUndefined();
    expect(kept['client_id']).not.toBe('podcast-sync-cli');
    expect(kept['client_name']).toBe('Appa');
  });
});

describe('POST /device/auth refuses', () => {
  // All tests share one registration, since each network has a limit of unused registrations.
  let device: client.Configuration;
  let deviceId: string;
  beforeAll(async () => {
    device = await registerApp(fixture, deviceGrant);
    deviceId = device.clientMetadata().client_id;
  });

  const wrong: [string, Record<string, string>, number, string][] = [
    ['an unknown app', { client_id: 'unknown' }, 401, 'invalid_client'],
    ['no app', {}, 400, 'invalid_request'],
    [
      'an unknown API',
      { client_id: 'device', resource: 'https://evil.example' },
      400,
      'invalid_target',
    ],
    [
      'a form that is too large',
      { client_id: 'device', scope: 'x'.repeat(100_000) },
      400,
      'invalid_request',
    ],
  ];
  it.each(wrong)('%s', async (_name, form, status, error) => {
    const known = form['client_id'] === 'device' ? { ...form, client_id: deviceId } : form;
    expect(await errorIn(await post('/device/auth', known))).toEqual([status, error]);
  });

  it('an app without the device grant', async () => {
    expect(await errorIn(await post('/device/auth', { client_id: clientId }))).toEqual([
      400,
      'invalid_request',
    ]);
  });

  it('unknown scopes, which are granted to nobody', async () => {
    const answer = await post('/device/auth', { client_id: deviceId, scope: 'openid admin root' });
    const { user_code: code } = (await answer.json()) as { user_code: string };
    const found = await fixture
      .get(DeviceAuthorizations)
      .findAuthorizationRequest(code, '127.0.0.1');
    expect(JSON.stringify(found ?? {})).not.toMatch(/admin|root/);
  });

  it('another app that polls with the code of this one', async () => {
    const other = await registerApp(fixture, deviceGrant);
    const started = await client.initiateDeviceAuthorization(device, {
      scope: 'read:subscriptions',
    });
    const form = {
      grant_type: deviceGrant.grant_types[0] as string,
      device_code: started.device_code,
      client_id: other.clientMetadata().client_id,
    };
    expect(await errorIn(await post('/token', form))).toEqual([400, 'invalid_grant']);
  });

  it('a browser link to any other site', async () => {
    const answer = await post(
      '/device/auth',
      { client_id: deviceId },
      { host: 'evil.example', 'x-forwarded-host': 'evil.example' },
    );
    const { verification_uri: link } = (await answer.json()) as { verification_uri: string };
    expect(new URL(link).origin).toBe(fixture.url);
  });
});

describe('POST /token/revocation', () => {
  it('does not reveal if a token exists', async () => {
    for (const token of ['x'.repeat(43), 'x'.repeat(2_000), 'a.b.c', '\u202E'])
      expect((await post('/token/revocation', { client_id: clientId, token })).status).toBe(200);
  });

  it('refuses an unknown app and a request without a token', async () => {
    const unknown = { client_id: 'unknown', token: 'x' };
    expect(await errorIn(await post('/token/revocation', unknown))).toEqual([
      401,
      'invalid_client',
    ]);
    expect(await errorIn(await post('/token/revocation', { client_id: clientId }))).toEqual([
      400,
      'invalid_request',
    ]);
  });
});

describe('GET /auth/:uid, which resumes an authorization', () => {
  /** Starts a request that waits for a user. Returns its browser and the URL that resumes it. */
  const started = async () => {
    const browser = fixture.browser(await fixture.account());
    const { url } = await authorizationRequest(app);
    const answer = await browser.fetch(url);
    const uid = /\/interaction\/([\w-]+)/.exec(answer.headers.get('location') ?? '')?.[1] ?? '';
    expect(uid).not.toBe('');
    return { browser, path: `${fixture.url}/auth/${uid}` };
  };

  it('returns nothing to a browser that did not start it', async () => {
    const { path } = await started();
    const answer = await fixture.browser(await fixture.account()).fetch(new URL(path));
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
  });

  it('returns nothing before the user allows it', async () => {
    const { browser, path } = await started();
    const answer = await browser.fetch(new URL(path));
    expect(answer.headers.get('location') ?? '').not.toContain('code=');
  });

  it.each(['/auth/x', `/auth/${'x'.repeat(5_000)}`, '/auth/%00', '/auth/..%2f..%2ftoken'])(
    'answers %s as unknown',
    async (path) => {
      const answer = await fetch(fixture.url + path, { redirect: 'manual' });
      expect([answer.status >= 400 && answer.status < 500, answer.headers.get('location')]).toEqual(
        [true, null],
      );
    },
  );
});

it.each(['/jwks', '/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'])(
  '%s is the same for everybody, has nothing secret, and can only be read',
  async (path) => {
    const plain = (await (await fetch(fixture.url + path)).json()) as {
      keys?: Record<string, unknown>[];
    };
    const headers = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'gopher',
      host: 'evil.example',
    };
    const odd = await fetch(`${fixture.url}${path}?${'a=b&'.repeat(500)}`, { headers });
    expect(await odd.json()).toEqual(plain);
    for (const key of plain.keys ?? []) expect(key).not.toHaveProperty('d');
    for (const method of ['POST', 'PUT', 'DELETE'])
      expect((await fetch(fixture.url + path, { method })).status).toBeGreaterThanOrEqual(400);
  },
);

describe('control characters are refused everywhere', () => {
  const json = { 'content-type': 'application/json' };
  const requests: [string, () => Promise<Response>][] = [
    ['in an id of a client', () => fetch(`${fixture.url}/auth?client_id=%00`)],
    ['in a state', () => tampered((parameters) => parameters.set('state', 'a\0b'))],
    ['in a name', () => tampered((parameters) => parameters.set('a\0b', 'c'))],
    [
      'in a form',
      () => post('/token', { grant_type: 'refresh_token', refresh_token: 'x', client_id: 'a\0' }),
    ],
    [
      'in a form of a device',
      () => post('/device/auth', { client_id: clientId, scope: 'openid\0' }),
    ],
    [
      'in JSON',
      () =>
        fetch(`${fixture.url}/reg`, {
          method: 'POST',
          headers: json,
          body: JSON.stringify({ redirect_uris: ['com.example.app:/\0'] }),
        }),
    ],
  ];
  it.each(requests)('%s', async (_, ask) => {
    const answer = await ask();
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain('invalid_request');
  });
});

it.each([
  ['/reg', 'POST'],
  ['/.well-known/openid-configuration', 'GET'],
  ['/.well-known/oauth-authorization-server', 'GET'],
])('pages of any origin may ask whether they may use %s by %s', async (path, method) => {
  const headers = { origin: 'https://web.example', 'access-control-request-method': method };
  const preflight = await fetch(fixture.url + path, { method: 'OPTIONS', headers });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('access-control-allow-origin')).toMatch(
    /^(\*|https:\/\/web\.example)$/,
  );
});

it('disabled features have no routes', async () => {
  const paths = [
    '/me',
    '/session/end',
    '/token/introspection',
    '/request',
    '/reg/x',
    '/interaction/x/abort',
    '/backchannel',
  ];
  for (const path of paths) expect([path, (await post(path, {})).status]).toEqual([path, 404]);
});

it('answers 503 while Postgres is unavailable, and works afterwards', async () => {
  const { app: other, refreshToken } = await signIn(fixture);
  fixture.postgres.refuse();
  const form = {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    client_id: other.clientMetadata().client_id,
  };
  const answer = await post('/token', form);
  expect(await errorIn(answer)).toEqual([503, 'temporarily_unavailable']);
  fixture.postgres.accept();
  await expect.poll(async () => (await post('/token', form)).status, { timeout: 20_000 }).toBe(200);
});

it('issues and revokes tokens while Redis is unavailable; revoked ones expire', async () => {
  // The sign-in fails until each replica is connected to Postgres again.
  const { app: other, refreshToken } = await eventually(() => signIn(fixture));
  await fixture.redis.stop();
  const { refresh_token: next = '' } = await client.refreshTokenGrant(other, refreshToken);
  await client.tokenRevocation(other, next);
  expect(await errorOf(client.refreshTokenGrant(other, next))).toBe('invalid_grant');
  await fixture.redis.start();
});
