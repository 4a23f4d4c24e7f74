import { randomBytes } from 'node:crypto';
import * as client from 'openid-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authorization, errorOf, registeredApp, signIn } from '../../testing/app.client.js';
import { fromAddress, IssuerWorld } from '../../testing/issuer.world.js';
import { SignOut } from '../people/sign-out.js';
import { Sweep } from '../sweep.js';

let world: IssuerWorld;
beforeAll(async () => {
  world = await IssuerWorld.open();
});
afterAll(() => world.close());

const deviceGrant = {
  grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
  redirect_uris: [],
};

describe('requests of one address beyond the limit', () => {
  let limited: IssuerWorld;
  beforeAll(async () => {
    const most = { MAX_TOKEN_REQUESTS: '3', MAX_AUTHORIZE_REQUESTS: '3', MAX_REGISTRATIONS: '3' };
    limited = await IssuerWorld.open(most);
  });
  afterAll(() => limited.close());

  // Requests alternate between two replicas, which share their counts.
  const kinds: [string, number, string[]][] = [
    [
      'for tokens and to revoke them',
      60,
      ['POST /token', 'POST /token/revocation', 'POST /token', 'POST /token'],
    ],
    [
      'to be let in, by browser or device',
      60,
      ['GET /auth', 'POST /device/auth', 'GET /auth', 'POST /device/auth'],
    ],
    ['to register', 3_600, ['POST /reg', 'POST /reg', 'POST /reg', 'POST /reg']],
  ];
  it.each(kinds)('%s: 429 with the time to wait', async (_, seconds, requests) => {
    const answers: Response[] = [];
    for (const request of requests) {
      const [method = '', path = ''] = request.split(' ');
      answers.push(await fetch(`${limited.url}${path}`, { method }));
    }
    expect(answers.map(({ status }) => status === 429)).toEqual([false, false, false, true]);
    const wait = Number(answers[3]?.headers.get('retry-after'));
    expect(wait).toBeGreaterThanOrEqual(1);
    expect(wait).toBeLessThanOrEqual(seconds);
  });

  it.each([
    ['POST /reg', { origin: 'https://evil.example' }],
    ['GET /auth', { 'sec-fetch-dest': 'image' }],
  ])('%s of a web page uses up no limit of apps', async (request, page) => {
    const [method = '', path = ''] = request.split(' ');
    const ask = async (headers: Record<string, string>) =>
      (await fetch(`${limited.url}${path}`, { method, headers })).status;
    const headers = { [fromAddress]: '192.0.2.9' };
    for (let count = 0; count < 3; count += 1) await ask({ ...headers, ...page });
    expect(await ask({ ...headers, ...page })).toBe(429);
    expect(await ask(headers)).not.toBe(429);
  });
});

it('registrations and requests of one network are not refused', async () => {
  await world.owner.query('DELETE FROM account.oidc; DELETE FROM account.clients');
  const app = await registeredApp(world, deviceGrant);
  const body = new URLSearchParams({ client_id: app.clientMetadata().client_id });
  const registration = JSON.stringify({ redirect_uris: ['com.example.app:/callback'] });
  const headers = { [fromAddress]: '192.0.2.7' };
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => [
      fetch(`${world.url}/device/auth`, { method: 'POST', body, headers }),
      fetch(`${world.url}/reg`, {
        method: 'POST',
        body: registration,
        headers: { ...headers, 'content-type': 'application/json' },
      }),
    ]).flat(),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 201]));
  const { rows } = await world.owner.query(
    `SELECT (SELECT count(*)::integer FROM account.oidc WHERE network = '192.0.2.7') AS waiting,
       (SELECT count(*)::integer FROM account.clients WHERE network = '192.0.2.7') AS registered`,
  );
  expect(rows).toEqual([{ waiting: 20, registered: 20 }]);
});

it('a request that was decided counts no more, and makes no other one go', async () => {
  await world.owner.query('DELETE FROM account.oidc; DELETE FROM account.clients');
  const app = await registeredApp(world);
  const first = world.browser(await world.account());
  const page = await first.go((await authorization(app)).url);
  for (let count = 0; count < 9; count += 1)
    await world.browser().go((await authorization(app)).url);
  await first.go(new URL(page.headers.get('location') ?? '', world.url), { method: 'POST' });
  const { rows } = await world.owner.query(
    `SELECT count(*)::integer AS kept, count(network)::integer AS waiting FROM account.oidc WHERE model = 'Interaction'`,
  );
  expect(rows).toEqual([{ kept: 10, waiting: 9 }]);
});

describe('what has expired', () => {
  beforeAll(async () => {
    await world.owner.query(`
      DELETE FROM account.oidc;
      CREATE TABLE public.steps (rows integer);
      CREATE FUNCTION public.note_step() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
      BEGIN
        INSERT INTO public.steps SELECT count(*) FROM gone HAVING count(*) > 0;
        RETURN NULL;
      END $$;
      CREATE TRIGGER note_step AFTER DELETE ON account.oidc REFERENCING OLD TABLE AS gone
      FOR EACH STATEMENT EXECUTE FUNCTION public.note_step();
    `);
  });

  const store = (count: number, age: string) =>
    world.owner.query(
      `INSERT INTO account.oidc (model, id, payload, expires_at)
       SELECT 'AuthorizationCode', $1::bytea || int4send(n), '{}', now() - $2::interval FROM generate_series(1, $3) n`,
      [randomBytes(16), age, count],
    );

  it('is removed an hour later, at most 1,000 rows by one statement', async () => {
    await store(2_500, '61 minutes');
    await store(3, '59 minutes');
    await store(2, '-1 minute');
    expect(await world.get(Sweep).sweep()).toBe(2_500);
    const { rows } = await world.owner.query('SELECT rows FROM public.steps');
    expect(rows).toEqual([{ rows: 1_000 }, { rows: 1_000 }, { rows: 500 }]);
    expect((await world.owner.query('SELECT FROM account.oidc')).rowCount).toBe(5);
  });

  it('is removed once, however many replicas sweep', async () => {
    await store(2_500, '2 hours');
    const sweepers = world.replicas.map(({ app }) => app.get(Sweep, { strict: false }).sweep());
    const removed = (await Promise.all(sweepers)).reduce((sum, rows) => sum + rows, 0);
    expect(removed + (await world.get(Sweep).sweep())).toBe(2_500);
  });

  it('apps that nobody allowed anything go after a day, the others stay', async () => {
    await world.owner.query('DELETE FROM account.clients');
    const [, used, young] = [
      await registeredApp(world),
      await registeredApp(world),
      await registeredApp(world),
    ];
    const id = (app: client.Configuration) => app.clientMetadata().client_id;
    await world.owner.query('UPDATE account.clients SET used_at = now() WHERE id = $1', [id(used)]);
    await world.owner.query(
      `UPDATE account.clients SET created_at = now() - interval '25 hours' WHERE id <> $1`,
      [id(young)],
    );
    await world.get(Sweep).sweep();
    const { rows } = await world.owner.query<{ id: string }>('SELECT id FROM account.clients');
    expect(new Set(rows.map((row) => row.id))).toEqual(new Set([id(used), id(young)]));
  });

  it('apps that somebody allows something stay, and go when that ended, a day after the last use', async () => {
    await world.owner.query('DELETE FROM account.oidc; DELETE FROM account.clients');
    const { accountId, app } = await signIn(world);
    const young = await signIn(world);
    const ids = async () =>
      (await world.owner.query<{ id: string }>('SELECT id FROM account.clients')).rows;
    await world.owner.query(
      `UPDATE account.clients SET used_at = now() - interval '25 hours' WHERE id = $1`,
      [app.clientMetadata().client_id],
    );
    await world.get(Sweep).sweep();
    expect(await ids()).toHaveLength(2);
    await world.get(SignOut).everywhere(accountId);
    await world.get(SignOut).everywhere(young.accountId);
    await world.get(Sweep).sweep();
    expect(await ids()).toEqual([{ id: young.app.clientMetadata().client_id }]);
  });
});

describe('a grant', () => {
  it('that ended with all of a person leaves nothing: the sweep removes what belonged to it, and of no other', async () => {
    await world.owner.query('DELETE FROM account.oidc');
    const [one, other] = [await signIn(world), await signIn(world)];
    await client.refreshTokenGrant(one.app, one.refreshToken);
    await world.get(SignOut).everywhere(one.accountId);
    expect(await errorOf(client.refreshTokenGrant(one.app, one.refreshToken))).toBe(
      'invalid_grant',
    );
    await world.get(Sweep).sweep();
    const { rows } = await world.owner.query(
      'SELECT DISTINCT account_id FROM account.oidc WHERE grant_id IS NOT NULL',
    );
    expect(rows).toEqual([{ account_id: other.accountId }]);
    await client.refreshTokenGrant(other.app, other.refreshToken);
  });

  it('keeps 50 refresh tokens, however often it is refreshed, and all of the last minute', async () => {
    const { app, accountId, refreshToken } = await signIn(world);
    const count = async () => {
      const { rows } = await world.owner.query<{ count: string }>(
        `SELECT count(*) FROM account.oidc WHERE model = 'RefreshToken' AND account_id = $1`,
        [accountId],
      );
      return Number(rows[0]?.count);
    };
    let last = refreshToken;
    const refresh = async () =>
      (last = (await client.refreshTokenGrant(app, last)).refresh_token ?? '');
    for (let times = 0; times < 60; times += 1) await refresh();
    expect(await count()).toBe(61);
    await world.owner.query(
      `UPDATE account.oidc SET consumed_at = consumed_at - interval '61 seconds'`,
    );
    await refresh();
    expect(await count()).toBe(50);
    await refresh();
  });
});
