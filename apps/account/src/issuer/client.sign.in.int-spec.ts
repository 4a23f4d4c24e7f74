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
import { apiUrl, IssuerWorld } from '../../testing/issuer.world.js';
import { Grants } from './grants.js';

// Tests of the SDK's sign-in (libs/client) against the issuer.

let world: IssuerWorld;
let server: Server;
let api: string;
const folder = mkdtempSync(join(tmpdir(), 'podcast-sync-sign-in-'));

beforeAll(async () => {
  world = await IssuerWorld.open();
  // The protected resource metadata of the gateway.
  const metadata = () => JSON.stringify({ resource: apiUrl, authorization_servers: [world.url] });
  server = createServer((_request, response) => response.end(metadata())).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.close();
  await world.close();
  rmSync(folder, { recursive: true });
});

const app = (options: Partial<SignInOptions> = {}) =>
  new SignIn({ api, store: memoryStore(), clientName: 'My Player', ...options });
const redirectUri = 'org.example.player:/signed-in';

/** Signs in a user who allows the app. */
async function allow(signIn: SignIn, accountId: string): Promise<void> {
  const url = await signIn.begin(redirectUri);
  await signIn.finish((await world.browser(accountId).allow(new URL(url))).href);
}

const errorOf = async (call: Promise<unknown>) => {
  const error: unknown = await call.catch((failure: unknown) => failure);
  const { code, error: oauth } = error as { code?: string; error?: string };
  return code ?? oauth;
};

describe('a browser', () => {
  it('signs in by code and PKCE from nothing but the URL of the API', async () => {
    const [signIn, accountId] = [app(), await world.account()];
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

  it('that comes back with another state, or a second time, is refused and stays signed out', async () => {
    const signIn = app();
    const url = await signIn.begin(redirectUri);
    const answer = await world.browser(await world.account()).allow(new URL(url));
    const forged = new URL(answer);
    forged.searchParams.set('state', 'another');
    expect(await errorOf(signIn.finish(forged.href))).toBe('invalid_state');
    await signIn.finish(answer.href);
    await signIn.signOut();
    expect(await errorOf(signIn.finish(answer.href))).toBe('invalid_state');
    expect(await signIn.isSignedIn()).toBe(false);
  });

  it('whose person says no is told so', async () => {
    const signIn = app();
    const browser = world.browser(await world.account());
    const page = await browser.ask(new URL(await signIn.begin(redirectUri)));
    expect(await errorOf(signIn.finish((await browser.decide(page, 'deny')).href))).toBe(
      'access_denied',
    );
  });

  it('of this machine signs a program in that listens for it', async () => {
    const [signIn, accountId] = [app(), await world.account()];
    const visit = async (url: string) => fetch(await world.browser(accountId).allow(new URL(url)));
    await signInByLoopback(signIn, (url) => void visit(url));
    expect(decodeJwt(await signIn.token()).sub).toBe(accountId);
  });
});

it('a device signs in by the code that it shows', async () => {
  // Devices poll every five seconds. Here the user allows the app before the first poll.
  const atOnce: typeof fetch = async (...args) => {
    const answer = await fetch(...args);
    return new Response(
      (await answer.text()).replace('"device_code"', '"interval":0.1,"device_code"'),
      answer,
    );
  };
  const [signIn, accountId] = [app({ fetch: atOnce }), await world.account()];
  await signIn.device(
    ({ verification_uri_complete = '' }) =>
      void world.browser(accountId).go(verification_uri_complete, { method: 'POST' }),
  );
  expect(decodeJwt(await signIn.token()).sub).toBe(accountId);
});

it('an app that the server forgot registers again', async () => {
  const [signIn, accountId] = [app(), await world.account()];
  const clientOf = (url: string) => new URL(url).searchParams.get('client_id') ?? '';
  const [first, second] = [
    clientOf(await signIn.begin(redirectUri)),
    clientOf(await signIn.begin(redirectUri)),
  ];
  expect(first).toBe(second);
  await world.owner.query('DELETE FROM account.clients WHERE id = $1', [first]);
  expect(clientOf(await signIn.begin(redirectUri))).not.toBe(first);
  await allow(signIn, accountId);
});

describe('a token', () => {
  it('that expires is renewed, once for all who ask at a time, in other processes too', async () => {
    const path = join(folder, 'tokens.json');
    let now = Date.now();
    // Separate clients stand for processes: they only share the file.
    const processes = Array.from({ length: 3 }, () =>
      app({ store: fileStore(path), clock: () => now }),
    );
    const [first] = processes as [SignIn];
    await allow(first, await world.account());
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

  it('that was refused is renewed though it has not expired', async () => {
    const signIn = app();
    await allow(signIn, await world.account());
    const refused = await signIn.token();
    const renewed = await signIn.token({ rejected: refused });
    expect([renewed === refused, await signIn.token()]).toEqual([false, renewed]);
  });

  it('of an access that its person ended is gone, and the person has to sign in again', async () => {
    const [signIn, accountId] = [app(), await world.account()];
    await allow(signIn, accountId);
    const refused = await signIn.token();
    await world.get(Grants).endGrant(accountId, String(decodeJwt(refused)['gid']));
    expect(await errorOf(signIn.token({ rejected: refused }))).toBe('unauthorized');
    expect(await signIn.isSignedIn()).toBe(false);
  });

  it('stays while the issuer is away', async () => {
    let isAway = false;
    const away: typeof fetch = async (...args) => {
      if (isAway) throw new TypeError('away');
      return fetch(...args);
    };
    const signIn = app({ fetch: away });
    await allow(signIn, await world.account());
    const refused = await signIn.token();
    isAway = true;
    expect(await errorOf(signIn.token({ rejected: refused }))).toBe('network');
    isAway = false;
    expect(await signIn.token({ rejected: refused })).not.toBe(refused);
  });

  it('ends at the server with the sign-out', async () => {
    const [signIn, accountId] = [app(), await world.account()];
    await allow(signIn, accountId);
    await signIn.signOut();
    expect(await signIn.isSignedIn()).toBe(false);
    expect(await world.get(Grants).listApps(accountId)).toEqual([]);
  });
});
