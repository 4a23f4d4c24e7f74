import { randomBytes } from 'node:crypto';
import * as client from 'openid-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authorizationRequest, errorOf, registerApp, signIn } from '../../testing/app-client.js';
import { addressHeader, IssuerFixture } from '../../testing/issuer.fixture.js';
import { SignOut } from '../people/sign-out.js';
import { Sweep } from '../sweep.js';

let fixture: IssuerFixture;
beforeAll(async () => {
  fixture = await IssuerFixture.open();
});
afterAll(() => fixture.close());

const deviceGrant = {
  grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
  redirect_uris: [],
};

describe('requests of one address above the limit', () => {
  let limited: IssuerFixture;
  beforeAll(async () => {
    const most = { MAX_TOKEN_REQUESTS: '3', MAX_AUTHORIZE_REQUESTS: '3', MAX_REGISTRATIONS: '3' };
    limited = await IssuerFixture.open(most);
  });
  afterAll(() => limited.close());

  // Requests alternate between two replicas, which share their counts.
  const kinds: [string, number, string[]][] = [
    [
      'for tokens and revocations',
      60,
      ['POST /token', 'POST /token/revocation', 'POST /token', 'POST /token'],
    ],
    [
      'for authorization, by browser or device',
      60,
      ['GET /auth', 'POST /device/auth', 'GET /auth', 'POST /device/auth'],
    ],
    ['to register', 3_600, ['POST /reg', 'POST /reg', 'POST /reg', 'POST /reg']],
  ];
  it.each(kinds)('%s: 429 with Retry-After', async (_, seconds, requests) => {
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
    const headers = { [addressHeader]: '192.0.2.9' };
    for (let count = 0; count < 3; count += 1) await ask({ ...headers, ...page });
    expect(await ask({ ...headers, ...page })).toBe(429);
    expect(await ask(headers)).not.toBe(429);
  });
});

it('many registrations and requests of one network lose only its own oldest', async () => {
  await fixture.owner.query('DELETE FROM account.oidc; DELETE FROM account.clients');
  const app = await registerApp(fixture, deviceGrant);
  const body = new URLSearchParams({ client_id: app.clientMetadata().client_id });
  const registration = JSON.stringify({ redirect_uris: ['com.example.app:/callback'] });
  const headers = { [addressHeader]: '192.0.2.7' };
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => [
      fetch(`${fixture.url}/device/auth`, { method: 'POST', body, headers }),
      fetch(`${fixture.url}/reg`, {
        method: 'POST',
        body: registration,
        headers: { ...headers, 'content-type': 'application/json' },
      }),
    ]).flat(),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 201]));
  const { rows } = await fixture.owner.query(
    `SELECT (SELECT count(*)::integer FROM account.oidc WHERE network = '192.0.2.7') AS waiting,
       (SELECT count(*)::integer FROM account.clients WHERE network = '192.0.2.7') AS registered`,
  );
  expect(rows).toEqual([{ waiting: 20, registered: 20 }]);
});

it('a decided request does not count and displaces no other one', async () => {
  await fixture.owner.query('DELETE FROM account.oidc; DELETE FROM account.clients');
  const app = await registerApp(fixture);
  const first = fixture.browser(await fixture.account());
  const page = await first.fetch((await authorizationRequest(app)).url);
  for (let count = 0; count < 9; count += 1)
    await fixture.browser().fetch((await authorizationRequest(app)).url);
  await first.fetch(new URL(page.headers.get('location') ?? '', fixture.url), { method: 'POST' });
  const { rows } = await fixture.owner.query(
    `SELECT count(*)::integer AS kept, count(network)::integer AS waiting
     FROM account.oidc WHERE model = 'Interaction'`,
  );
  expect(rows).toEqual([{ kept: 10, waiting: 9 }]);
});

describe('an expired row', () => {
  beforeAll(async () => {
    await fixture.owner.query(`
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
    fixture.owner.query(
      `INSERT INTO account.oidc (model, id, payload, expires_at)
       SELECT 'AuthorizationCode', $1::bytea || int4send(n), '{}', now() - $2::interval
       FROM generate_series(1, $3) n`,
      [randomBytes(16), age, count],
    );

  it('is deleted an hour later, at most 1,000 rows per statement', async () => {
    await store(2_500, '61 minutes');
    await store(3, '59 minutes');
    await store(2, '-1 minute');
    expect(await fixture.get(Sweep).sweep()).toBe(2_500);
    const { rows } = await fixture.owner.query('SELECT rows FROM public.steps');
    expect(rows).toEqual([{ rows: 1_000 }, { rows: 1_000 }, { rows: 500 }]);
    expect((await fixture.owner.query('SELECT FROM account.oidc')).rowCount).toBe(5);
  });

  it('is deleted once, also by concurrent replicas', async () => {
    await store(2_500, '2 hours');
    const sweepers = fixture.replicas.map(({ app }) => app.get(Sweep, { strict: false }).sweep());
    const removed = (await Promise.all(sweepers)).reduce((sum, rows) => sum + rows, 0);
    expect(removed + (await fixture.get(Sweep).sweep())).toBe(2_500);
  });

  it('of an app without a grant is deleted after a day, others stay', async () => {
    await fixture.owner.query('DELETE FROM account.clients');
    const [, used, young] = [
      await registerApp(fixture),
      await registerApp(fixture),
      await registerApp(fixture),
    ];
    const id = (app: client.Configuration) => app.clientMetadata().client_id;
    await fixture.owner.query('UPDATE account.clients SET used_at = now() WHERE id = $1', [
      id(used),
    ]);
    await fixture.owner.query(
      `UPDATE account.clients SET created_at = now() - interval '25 hours' WHERE id <> $1`,
      [id(young)],
    );
    await fixture.get(Sweep).sweep();
    const { rows } = await fixture.owner.query<{ id: string }>('SELECT id FROM account.clients');
    expect(new Set(rows.map((row) => row.id))).toEqual(new Set([id(used), id(young)]));
  });

  it('of an app with a grant stays until a day after use and the end of the grant', async () => {
    await fixture.owner.query('DELETE FROM account.oidc; DELETE FROM account.clients');
    const { accountId, app } = await signIn(fixture);
    const young = await signIn(fixture);
    const ids = async () =>
      (await fixture.owner.query<{ id: string }>('SELECT id FROM account.clients')).rows;
    await fixture.owner.query(
      `UPDATE account.clients SET used_at = now() - interval '25 hours' WHERE id = $1`,
      [app.clientMetadata().client_id],
    );
    await fixture.get(Sweep).sweep();
    expect(await ids()).toHaveLength(2);
    await fixture.get(SignOut).endAllAccess(accountId);
    await fixture.get(SignOut).endAllAccess(young.accountId);
    await fixture.get(Sweep).sweep();
    expect(await ids()).toEqual([{ id: young.app.clientMetadata().client_id }]);
  });
});

describe('a grant', () => {
  it('that ended with a sign-out leaves nothing: the sweep deletes only its rows', async () => {
    await fixture.owner.query('DELETE FROM account.oidc');
    const [one, other] = [await signIn(fixture), await signIn(fixture)];
    await client.refreshTokenGrant(one.app, one.refreshToken);
    await fixture.get(SignOut).endAllAccess(one.accountId);
    expect(await errorOf(client.refreshTokenGrant(one.app, one.refreshToken))).toBe(
      'invalid_grant',
    );
    await fixture.get(Sweep).sweep();
    const { rows } = await fixture.owner.query(
      'SELECT DISTINCT account_id FROM account.oidc WHERE grant_id IS NOT NULL',
    );
    expect(rows).toEqual([{ account_id: other.accountId }]);
    await client.refreshTokenGrant(other.app, other.refreshToken);
  });

  it('keeps 50 refresh tokens after many refreshes, and all of the last minute', async () => {
    const { app, accountId, refreshToken } = await signIn(fixture);
    const count = async () => {
      const { rows } = await fixture.owner.query<{ count: string }>(
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
    await fixture.owner.query(
      `UPDATE account.oidc SET consumed_at = consumed_at - interval '61 seconds'`,
    );
    await refresh();
    expect(await count()).toBe(50);
    await refresh();
  });
});
