import { freePort } from '#embedded';
import { type AppProcess, AppStack, callProgram, eventually } from '#testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { podcastSync } from '../../apps/cli/src/podcast-sync.js';
import { Person, shownSecret } from './testing/person.js';

const password = 'a sentence that nobody guesses';
const cli = { client_id: 'podcast-sync-cli' };
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

let stack: AppStack;
let origin: string;
let gateways: AppProcess[];

/** Gateways that believe the account app. */
const startGateways = (count: number) =>
  stack.start(
    Array.from({ length: count }, () => 'gateway' as const),
    {
      AUTH_ISSUER: `urn:podcast-sync:tests,${origin}`,
      AUTH_OWN_ISSUER: `urn:podcast-sync:tests,${origin}`,
      AUTH_JWKS_URL: `${origin}=${origin}/jwks`,
      AUTH_APP_PASSWORDS: 'on',
    },
  );

beforeAll(async () => {
  const port = await freePort();
  origin = `http://127.0.0.1:${port}`;
  stack = await AppStack.open();
  await stack.start(['account'], { PORT: String(port), PUBLIC_URL: origin });
  await stack.start(['subscription']);
  gateways = await startGateways(2);
});
afterAll(() => stack?.close());

/** Returns the output of an operator's command. */
async function accounts(...args: string[]): Promise<string> {
  const env = {
    DATABASE_URL: stack.postgres.urls.account,
    REDIS_URL: stack.redis.url,
    PUBLIC_URL: origin,
  };
  return (await callProgram(podcastSync, ['accounts', ...args], env)).stdout.trim();
}

/** Creates an account and signs in. */
async function createPerson(name: string): Promise<Person> {
  const person = new Person(origin);
  await person.submit(new URL(await accounts('invite')).pathname, { name, password });
  return person;
}

async function issuer(path: string, form: Record<string, string>): Promise<Record<string, string>> {
  return (await (
    await fetch(origin + path, { method: 'POST', body: new URLSearchParams(form) })
  ).json()) as Record<string, string>;
}

/** The access token of an app that a person has just allowed. */
async function accessToken(person: Person): Promise<string> {
  const { device_code = '', user_code = '' } = await issuer('/device/auth', {
    ...cli,
    scope: 'read:subscriptions',
  });
  await person.submit('/device', { user_code, decision: 'allow' });
  const { access_token = '' } = await issuer('/token', {
    ...cli,
    grant_type: deviceGrant,
    device_code,
  });
  return access_token;
}

async function appPassword(person: Person): Promise<string> {
  return shownSecret(
    await person.submit('/app-passwords', { label: 'a phone', rights: 'all', expires: 'never' }),
  );
}

/** Returns the id in the only form of this kind on the account page. */
async function idOf(person: Person, action: string): Promise<string> {
  const [, form = ''] = (await person.read('/account')).split(`action="${action}"`);
  return /name="id" value="([^"]+)"/.exec(form)?.[1] ?? '';
}

const status = async (gateway: AppProcess, credential: string) => {
  const headers = { authorization: `Bearer ${credential}` };
  return (
    await fetch(`http://127.0.0.1:${String(gateway.facts['port'])}/subscriptions`, { headers })
  ).status;
};
const everywhere = (credential: string) =>
  Promise.all(gateways.map((gateway) => status(gateway, credential)));

/** Waits until every gateway rejects a credential, and logs the duration. */
async function refusedEverywhere(what: string, credential: string): Promise<void> {
  const started = performance.now();
  await eventually(async () => expect(await everywhere(credential)).toEqual([401, 401]), {
    timeout: 10_000,
  });
  console.log(
    `${what}: refused by both gateways after ${Math.round(performance.now() - started)} ms`,
  );
}

describe('every gateway refuses within a second', () => {
  it('the token of an app that its person has ended', async () => {
    const person = await createPerson('ends-an-app');
    const token = await accessToken(person);
    expect(await everywhere(token)).toEqual([200, 200]);
    await person.submit('/apps/end', { id: await idOf(person, '/apps/end') });
    await refusedEverywhere('an app', token);
  });

  it('an app password that its person has revoked, and nothing else', async () => {
    const person = await createPerson('revokes-a-password');
    const [token, secret] = [await accessToken(person), await appPassword(person)];
    expect([await everywhere(token), await everywhere(secret)].flat()).toEqual([
      200, 200, 200, 200,
    ]);
    await person.submit('/app-passwords/revoke', {
      id: await idOf(person, '/app-passwords/revoke'),
    });
    await refusedEverywhere('an app password', secret);
    expect(await everywhere(token)).toEqual([200, 200]);
  });
});

describe('a gateway that restarts', () => {
  it('refuses credentials that were revoked before its start, from the first request', async () => {
    const person = await createPerson('ends-meanwhile');
    const token = await accessToken(person);
    expect(await everywhere(token)).toEqual([200, 200]);
    await gateways[1]?.stop();
    await person.submit('/apps/end', { id: await idOf(person, '/apps/end') });
    const [restarted] = await startGateways(1);
    expect(await status(restarted as AppProcess, token)).toBe(401);
  });
});
