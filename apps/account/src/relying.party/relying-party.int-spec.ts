import { randomUUID } from 'node:crypto';
import { userId } from '#identity';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registeredApp } from '../../testing/app.client.js';
import { IssuerWorld } from '../../testing/issuer.world.js';
import { type AccountConfig, CONFIG, LOG } from '../account.config.js';
import { Accounts } from '../people/accounts.js';
import { Seal } from '../people/seal.js';
import { RelyingParty } from './relying-party.js';

const here = 'https://accounts.example';

/** The provider is a second issuer of this app; both share only the database. */
let world: IssuerWorld;
let party: RelyingParty;
const own = 'urn:podcast-sync:tests';
beforeAll(async () => {
  world = await IssuerWorld.open();
  const client = await registeredApp(world, {
    redirect_uris: [`${here}/sign-in/provider/callback`],
  });
  party = partyOf({
    SIGN_IN_ISSUER: world.url,
    SIGN_IN_CLIENT_ID: client.clientMetadata().client_id,
  });
});
afterAll(() => world.close());

function partyOf(settings: Partial<AccountConfig>): RelyingParty {
  const app = world.replicas[0]?.app;
  const config = {
    ...app?.get<AccountConfig>(CONFIG),
    PUBLIC_URL: here,
    AUTH_OWN_ISSUER: own,
    ...settings,
  };
  return new RelyingParty(
    config as unknown as AccountConfig,
    world.replicas[0]?.app.get(LOG) as never,
    world.get(Accounts),
    world.get(Seal),
  );
}

/** Signs a new person in at the provider. @returns the redirect's query and the ticket. */
async function visit(next?: string): Promise<{ subject: string; query: string; ticket: string }> {
  const subject = await world.account();
  const { url, ticket } = await party.depart(next);
  const back = await world.browser(subject).allow(url);
  expect(back.href.startsWith(`${here}/sign-in/provider/callback?`)).toBe(true);
  return { subject, query: back.search.slice(1), ticket };
}

describe('a person whom another provider signs in', () => {
  it('is the user that the gateway makes of the provider and its subject, at each visit', async () => {
    const { subject, query, ticket } = await visit('/apps');
    const { account, next } = await party.arrive(query, ticket);
    expect([account.id, next]).toEqual([userId(world.url, subject, own), '/apps']);
    const again = await world
      .browser(subject)
      .allow((await party.depart(undefined)).url)
      .catch(() => undefined);
    expect(again).toBeDefined();
  });

  it('is refused where the browser is not the one that left', async () => {
    const [one, other] = [await visit(), await visit()];
    await expect(party.arrive(one.query, other.ticket)).rejects.toMatchObject({
      code: 'credentials',
    });
    await expect(party.arrive(one.query, undefined)).rejects.toMatchObject({ code: 'credentials' });
    await expect(party.arrive(one.query, `${one.ticket.slice(0, -2)}AA`)).rejects.toMatchObject({
      code: 'credentials',
    });
  });

  it('is refused where an answer comes twice', async () => {
    const { query, ticket } = await visit();
    await party.arrive(query, ticket);
    await expect(party.arrive(query, ticket)).rejects.toMatchObject({ code: 'credentials' });
  });

  it('is refused where the answer is not one of the provider', async () => {
    const { query, ticket } = await visit();
    const state = new URLSearchParams(query).get('state') ?? '';
    const made = new URLSearchParams({ code: 'made-up', state, iss: 'https://evil.example' });
    await expect(party.arrive(made.toString(), ticket)).rejects.toMatchObject({
      code: 'credentials',
    });
  });

  it('is refused where the account is disabled', async () => {
    const first = await visit();
    const { account } = await party.arrive(first.query, first.ticket);
    await world.owner.query('UPDATE account.accounts SET disabled_at = now() WHERE id = $1', [
      account.id,
    ]);
    const { url, ticket } = await party.depart(undefined);
    const back = await world.browser(first.subject).allow(url);
    await expect(party.arrive(back.search.slice(1), ticket)).rejects.toMatchObject({
      code: 'credentials',
    });
  });

  it.each(['a\0', 'a\ud800'])('is refused with the subject %j', async (subject) => {
    const account = world.get(Accounts).ofProvider(world.url, subject, randomUUID());
    await expect(account).rejects.toMatchObject({ code: 'credentials' });
  });

  it('is told so where the provider does not answer', async () => {
    const unreachable = partyOf({ SIGN_IN_ISSUER: 'http://127.0.0.1:9' });
    await expect(unreachable.depart(undefined)).rejects.toMatchObject({ code: 'unavailable' });
  });
});
