import { createServer, type Server } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryStore, SignIn, type SignInOptions } from '#client';
import { fileStore } from '#client/file';
import { signInByLoopback } from '#client/loopback';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiUrl, IssuerFixture } from '../../testing/issuer.fixture.js';
import { Grants } from './grants.js';

// Tests of the SDK's sign-in (libs/client) against the issuer.

let fixture: IssuerFixture;
let server: Server;
let api: string;
const folder = mkdtempSync(join(tmpdir(), 'podcast-sync-sign-in-'));

beforeAll(async () => {
  fixture = await IssuerFixture.open();
  // The protected resource metadata of the gateway.
  const metadata = () => JSON.stringify({ resource: apiUrl, authorization_servers: [fixture.url] });
  server = createServer((_request, response) => response.end(metadata())).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.close();
  await fixture.close();
  rmSync(folder, { recursive: true });
});

const app = (options: Partial<SignInOptions> = {}) =>
  new SignIn({ api, store: memoryStore(), clientName: 'My Player', ...options });
const redirectUri = 'org.example.player:/signed-in';

/** Signs in a user who allows the app. */
async function allow(signIn: SignIn, accountId: string): Promise<void> {
  const url = await signIn.begin(redirectUri);
  await signIn.finish((await fixture.browser(accountId).allow(new URL(url))).href);
}

const errorOf = async (call: Promise<unknown>) => {
  const error: unknown = await call.catch((failure: unknown) => failure);
  const { code, error: oauth } = error as { code?: string; error?: string };
  return code ?? oauth;
};

describe('a browser', () => {
  it('signs in by code and PKCE, starting with the URL of the API', async () => {
    const [signIn, accountId] = [app(), await fixture.account()];
    expect([await signIn.isSignedIn(), await errorOf(signIn.token())]).toEqual([
      false,
      'unauthorized',
    ]);
    await allow(signIn, accountId);
    const claims = decodeJwt(await signIn.token());
    expect([claims.sub, claims['scope']]).toEqual([
      accountId,
      'read:subscriptions write:subscriptions',
    ]);
  });

  it('that returns with another state, or twice, stays signed out', async () => {
    const signIn = app();
    const url = await signIn.begin(redirectUri);
    const answer = await fixture.browser(await fixture.account()).allow(new URL(url));
    const forged = new URL(answer);
    forged.searchParams.set('state', 'another');
    expect(await errorOf(signIn.finish(forged.href))).toBe('invalid_state');
    await signIn.finish(answer.href);
    await signIn.signOut();
    expect(await errorOf(signIn.finish(answer.href))).toBe('invalid_state');
    expect(await signIn.isSignedIn()).toBe(false);
  });

  it('receives access_denied if the user denies the request', async () => {
    const signIn = app();
    const browser = fixture.browser(await fixture.account());
    const page = await browser.ask(new URL(await signIn.begin(redirectUri)));
    expect(await errorOf(signIn.finish((await browser.decide(page, 'deny')).href))).toBe(
      'access_denied',
    );
  });

  it('on the same machine signs in a program that listens for the redirect', async () => {
    const [signIn, accountId] = [app(), await fixture.account()];
    const visit = async (url: string) =>
      fetch(await fixture.browser(accountId).allow(new URL(url)));
    await signInByLoopback(signIn, (url) => void visit(url));
    expect(decodeJwt(await signIn.token()).sub).toBe(accountId);
  });
});

it('a device signs in by its code', async () => {
  // Devices poll every five seconds. Here the user allows the app before the first poll.
  const atOnce: typeof fetch = async (...args) => {
    const answer = await fetch(...args);
    return new Response(
      (await answer.text()).replace('"device_code"', '"interval":0.1,"device_code"'),
      answer,
    );
  };
  const [signIn, accountId] = [app({ fetch: atOnce }), await fixture.account()];
  await signIn.device(
    ({ verification_uri_complete = '' }) =>
      void fixture.browser(accountId).fetch(verification_uri_complete, { method: 'POST' }),
  );
  expect(decodeJwt(await signIn.token()).sub).toBe(accountId);
});

it('an app whose registration was deleted registers again', async () => {
  const [signIn, accountId] = [app(), await fixture.account()];
  const clientOf = (url: string) => new URL(url).searchParams.get('client_id') ?? '';
  const [first, second] = [
    clientOf(await signIn.begin(redirectUri)),
    clientOf(await signIn.begin(redirectUri)),
  ];
  expect(first).toBe(second);
  await fixture.owner.query('DELETE FROM account.clients WHERE id = $1', [first]);
  expect(clientOf(await signIn.begin(redirectUri))).not.toBe(first);
  await allow(signIn, accountId);
});

describe('a token', () => {
  it('that expires is renewed once for concurrent requests, also of other processes', async () => {
    const path = join(folder, 'tokens.json');
    let now = Date.now();
    // Separate clients stand for processes: they only share the file.
    const processes = Array.from({ length: 3 }, () =>
      app({ store: fileStore(path), clock: () => now }),
    );
    const [first] = processes as [SignIn];
    await allow(first, await fixture.account());
    const before = await first.token();
    for (let turn = 0; turn < 3; turn++) {
      now += 600_000;
      const tokens = await Promise.all(
        [...processes, ...processes].map((signIn) => signIn.token()),
      );
      expect(new Set(tokens).size).toBe(1);
      expect(tokens[0]).not.toBe(before);
    }
  });

  it('that was refused before its expiry is renewed', async () => {
    const signIn = app();
    await allow(signIn, await fixture.account());
    const refused = await signIn.token();
    const renewed = await signIn.token({ rejected: refused });
    expect([renewed === refused, await signIn.token()]).toEqual([false, renewed]);
  });

  it('of an ended grant is deleted, and the user has to sign in again', async () => {
    const [signIn, accountId] = [app(), await fixture.account()];
    await allow(signIn, accountId);
    const refused = await signIn.token();
    await fixture.get(Grants).endGrant(accountId, String(decodeJwt(refused)['gid']));
    expect(await errorOf(signIn.token({ rejected: refused }))).toBe('unauthorized');
    expect(await signIn.isSignedIn()).toBe(false);
  });

  it('is kept while the issuer is unavailable', async () => {
    let isAway = false;
    const away: typeof fetch = async (...args) => {
      if (isAway) throw new TypeError('away');
      return fetch(...args);
    };
    const signIn = app({ fetch: away });
    await allow(signIn, await fixture.account());
    const refused = await signIn.token();
    isAway = true;
    expect(await errorOf(signIn.token({ rejected: refused }))).toBe('network');
    isAway = false;
    expect(await signIn.token({ rejected: refused })).not.toBe(refused);
  });

  it('ends on the server with the sign-out', async () => {
    const [signIn, accountId] = [app(), await fixture.account()];
    await allow(signIn, accountId);
    await signIn.signOut();
    expect(await signIn.isSignedIn()).toBe(false);
    expect(await fixture.get(Grants).listApps(accountId)).toEqual([]);
  });
});
