import { createLog, loadConfig, type RunningProcess } from '#runtime';
import { eventually, SharedStack } from '#testing';
import { register } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { appConfigs, edgeConfig } from './edge.config.js';
import { serve } from './serve.js';

let stack: SharedStack;
let edge: RunningProcess;
let base: string;

beforeAll(async () => {
  register.clear();
  stack = await SharedStack.open();
  const variables = {
    ...stack.variables('gpodder'),
    ...stack.variables('gateway'),
    ...stack.variables('account'),
    FEEDS: 'pushed',
  };
  edge = await serve(
    loadConfig(edgeConfig, variables),
    createLog('edge', 'silent'),
    () => {},
    variables,
  );
  base = `http://127.0.0.1:${String(edge.facts?.['port'])}`;
  await eventually(async () => {
    const missing = (await edge.missing?.()) ?? [];
    if (missing.length > 0) throw new Error(missing.join('; '));
  });
});
afterAll(async () => {
  await edge.stop();
  await stack.close();
  register.clear();
});

const ask = (path: string, init: RequestInit = {}) =>
  fetch(`${base}${path}`, { redirect: 'manual', ...init });

describe('one port', () => {
  it('routes requests to the apps by path', async () => {
    const { facts } = edge;
    const device = await stack.device({ facts: facts ?? {} });
    expect((await device.send('GET', '/subscriptions')).status).toBe(200);
    const { name, password } = await stack.appPassword();
    const basic = {
      authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
    };
    expect((await ask(`/api/2/devices/${name}.json`, { headers: basic })).status).toBe(200);
    expect((await ask('/sign-in', { headers: { accept: 'text/html' } })).status).toBe(200);
    expect((await ask('/.well-known/openid-configuration')).status).toBe(200);
  });

  it('answers /feeds by the optional feed service', async () => {
    await stack.start(['feed'], { FEEDS_ROLE: 'answers' });
    const device = await stack.device({ facts: edge.facts ?? {} });
    await eventually(async () => {
      const { status, body } = await device.send('GET', '/feeds');
      expect([status, body]).toEqual([200, { per_page: 50, feeds: [] }]);
    });
  });

  it('treats repeated slashes as one', async () => {
    expect((await ask('//.well-known//oauth-protected-resource')).status).toBe(200);
    expect((await ask('//api/2/auth/ann/login.json', { method: 'POST' })).status).toBe(401);
  });

  it('describes the server at its root: a page for browsers, links for others', async () => {
    const page = await ask('/', { headers: { accept: 'text/html' } });
    expect([page.status, page.headers.get('location')]).toEqual([303, '/sign-in']);
    expect(await (await ask('/')).json()).toMatchObject({
      name: 'Podcast Sync',
      api: 'http://127.0.0.1:3002',
    });
  });

  it.each(['/subscriptions', '/api/2/devices/ann.json', '/', '/nothing'])(
    'serves only its own scripts, with exact content types: %s',
    async (path) => {
      const { headers } = await ask(path);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'/);
    },
  );

  it.each(['/subscriptions', '/v1/nothing', '/api/2/devices/ann.json', '/index.php/nothing'])(
    'answers a browser with a page that links to the site, and apps with JSON: %s',
    async (path) => {
      const headers = { accept: 'text/html,*/*;q=0.8', 'accept-language': 'de-DE' };
      const [page, app] = [await ask(path, { headers }), await ask(path)];
      expect([page.status, page.headers.get('content-type')]).toEqual([
        app.status,
        'text/html; charset=utf-8',
      ]);
      expect(page.headers.get('www-authenticate') ?? 'Bearer').toBe('Bearer');
      const { message } = (await app.json()) as { message: string };
      const text = await page.text();
      for (const part of ['<html lang="de">', 'href="/console/"', 'href="/connect"', message])
        expect(text).toContain(part);
      const credential = { ...headers, authorization: 'Basic YW5uOndyb25n' };
      const refused = await ask(path, { headers: credential });
      expect(refused.headers.get('content-type')).toBe('application/json; charset=utf-8');
    },
  );

  it('answers an unknown path with a page for browsers, and like the API for others', async () => {
    const page = await ask('/nothing', { headers: { accept: 'text/html' } });
    expect([page.status, page.headers.get('content-type')]).toEqual([
      404,
      'text/html; charset=utf-8',
    ]);
    expect((await ask('/nothing')).status).toBe(401);
  });

  it('rejects requests with a foreign host name', async () => {
    const { request } = await import('node:http');
    const status = (path: string) =>
      new Promise((resolve, reject) => {
        const sent = request(
          `${base}${path}`,
          { headers: { host: 'evil.example' } },
          (response) => {
            resolve(response.resume().statusCode);
          },
        );
        sent.on('error', reject).end();
      });
    expect(await status('/sign-in')).toBe(421);
  });
});

it('accepts tokens and app passwords of its account app by default', () => {
  const variables = { ...stack.variables('account'), ...stack.variables('gpodder') };
  const { gateway } = appConfigs(loadConfig(edgeConfig, variables), variables);
  expect(gateway).toMatchObject({
    AUTH_ISSUER: ['http://127.0.0.1:3002'],
    AUTH_APP_PASSWORDS: 'on',
    AUTH_AUDIENCE: ['podcast-sync'],
  });
});

it('names the problems of all apps together', () => {
  const variables = { ...stack.variables('account'), SECRETS_KEY: 'short', SESSION_KEY: '' };
  expect(() => appConfigs(loadConfig(edgeConfig, variables), variables)).toThrow(
    /SECRETS_KEY[^]*SESSION_KEY/,
  );
});
