import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { userId } from '#identity';
import { createLog, type Log } from '#runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerApp } from '../../testing/app-client.js';
import { IssuerFixture } from '../../testing/issuer.fixture.js';
import { type AccountConfig, CONFIG, LOG } from '../account.config.js';
import { Accounts } from '../people/accounts.js';
import { Seal } from '../people/seal.js';
import { RelyingParty } from './relying-party.js';

const here = 'https://accounts.example';

/** The provider is a second issuer of this app; both share only the database. */
let fixture: IssuerFixture;
let party: RelyingParty;
const own = 'urn:podcast-sync:tests';
beforeAll(async () => {
  fixture = await IssuerFixture.open();
  const client = await registerApp(fixture, {
    redirect_uris: [`${here}/sign-in/provider/callback`],
  });
  party = partyOf({
    SIGN_IN_ISSUER: fixture.url,
    SIGN_IN_CLIENT_ID: client.clientMetadata().client_id,
  });
});
afterAll(() => fixture.close());

function partyOf(settings: Partial<AccountConfig>, log?: Log): RelyingParty {
  const app = fixture.replicas[0]?.app;
  const config = {
    ...app?.get<AccountConfig>(CONFIG),
    PUBLIC_URL: here,
    AUTH_OWN_ISSUER: own,
    ...settings,
  };
  return new RelyingParty(
    config as unknown as AccountConfig,
    log ?? (app?.get(LOG) as Log),
    fixture.get(Accounts),
    fixture.get(Seal),
  );
}

/** Signs a new person in at the provider. @returns the redirect's query and the ticket. */
async function visit(next?: string): Promise<{ subject: string; query: string; ticket: string }> {
  const subject = await fixture.account();
  const { url, ticket } = await party.startLogin(next);
  const back = await fixture.browser(subject).allow(url);
  expect(back.href.startsWith(`${here}/sign-in/provider/callback?`)).toBe(true);
  return { subject, query: back.search.slice(1), ticket };
}

describe('a person whom another provider signs in', () => {
  it('has the user id that the gateway derives from provider and subject', async () => {
    const { subject, query, ticket } = await visit('/apps');
    const { account, next } = await party.finishLogin(query, ticket);
    expect([account.id, next]).toEqual([userId(fixture.url, subject, own), '/apps']);
    const again = await fixture
      .browser(subject)
      .allow((await party.startLogin(undefined)).url)
      .catch(() => undefined);
    expect(again).toBeDefined();
  });

  it('is refused in another browser than that of the start', async () => {
    const [one, other] = [await visit(), await visit()];
    await expect(party.finishLogin(one.query, other.ticket)).rejects.toMatchObject({
      code: 'credentials',
    });
    await expect(party.finishLogin(one.query, undefined)).rejects.toMatchObject({
      code: 'credentials',
    });
    await expect(
      party.finishLogin(one.query, `${one.ticket.slice(0, -2)}AA`),
    ).rejects.toMatchObject({
      code: 'credentials',
    });
  });

  it('is refused if a response arrives twice', async () => {
    const { query, ticket } = await visit();
    await party.finishLogin(query, ticket);
    await expect(party.finishLogin(query, ticket)).rejects.toMatchObject({ code: 'credentials' });
  });

  it('is refused if the response is not of the provider', async () => {
    const { query, ticket } = await visit();
    const state = new URLSearchParams(query).get('state') ?? '';
    const made = new URLSearchParams({ code: 'made-up', state, iss: 'https://evil.example' });
    await expect(party.finishLogin(made.toString(), ticket)).rejects.toMatchObject({
      code: 'credentials',
    });
  });

  it('is refused if the account is disabled', async () => {
    const first = await visit();
    const { account } = await party.finishLogin(first.query, first.ticket);
    await fixture.owner.query('UPDATE account.accounts SET disabled_at = now() WHERE id = $1', [
      account.id,
    ]);
    const { url, ticket } = await party.startLogin(undefined);
    const back = await fixture.browser(first.subject).allow(url);
    await expect(party.finishLogin(back.search.slice(1), ticket)).rejects.toMatchObject({
      code: 'credentials',
    });
  });

  it.each(['a\0', 'a\ud800'])('is refused with the subject %j', async (subject) => {
    const account = fixture
      .get(Accounts)
      .findOrCreateByProvider(fixture.url, subject, randomUUID());
    await expect(account).rejects.toMatchObject({ code: 'credentials' });
  });

  it('receives an error if the provider is unavailable, which is logged once', async () => {
    const lines: string[] = [];
    const log = createLog('account', 'info', { write: (line) => void lines.push(line) });
    const unreachable = partyOf({ SIGN_IN_ISSUER: 'http://127.0.0.1:9' }, log);
    for (let attempt = 0; attempt < 2; attempt += 1)
      await expect(unreachable.startLogin(undefined)).rejects.toMatchObject({
        code: 'unavailable',
      });
    expect(lines).toEqual([expect.stringContaining('metadata of SIGN_IN_ISSUER not readable')]);
  });

  it('receives an error if the token endpoint does not answer, which is logged once', async () => {
    const lines: string[] = [];
    const log = createLog('account', 'info', { write: (line) => void lines.push(line) });
    const server = createServer((request, response) => {
      if (request.method === 'POST') return void request.socket.destroy();
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({
          issuer: address(),
          authorization_endpoint: `${address()}/auth`,
          token_endpoint: `${address()}/token`,
        }),
      );
    });
    const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const silent = partyOf({ SIGN_IN_ISSUER: address(), SIGN_IN_CLIENT_ID: 'client' }, log);
    try {
      for (let attempt = 0; attempt < 2; attempt += 1) {
        const { url, ticket } = await silent.startLogin(undefined);
        const state = url.searchParams.get('state') ?? '';
        const query = new URLSearchParams({ code: 'a', state });
        await expect(silent.finishLogin(query.toString(), ticket)).rejects.toMatchObject({
          code: 'unavailable',
        });
      }
      expect(lines).toEqual([
        expect.stringContaining('token endpoint of SIGN_IN_ISSUER unavailable'),
      ]);
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});
