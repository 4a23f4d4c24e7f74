import { eventually } from '#testing';
import { decodeJwt } from 'jose';
import * as client from 'openid-client';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowApp, errorOf, registerApp, type SignedIn, signIn } from '../../testing/app-client.js';
import { apiUrl, IssuerFixture } from '../../testing/issuer.fixture.js';
import { outcomeOf } from '../../testing/outcome.js';
import { Sessions } from '../people/sessions.js';
import { SignOut } from '../people/sign-out.js';
import { ConsentService } from './consent.service.js';
import { Grants } from './grants.js';

let fixture: IssuerFixture;
beforeAll(async () => {
  fixture = await IssuerFixture.open();
});
afterAll(() => fixture.close());

const many = Array.from({ length: 100 });

/** Returns the number of valid refresh tokens of a grant, without used ones. */
async function livingTokens({ tokens }: SignedIn): Promise<number> {
  const { rows } = await fixture.owner.query<{ count: string }>(
    `SELECT count(*) FROM account.oidc
     WHERE model = 'RefreshToken' AND grant_id = $1 AND consumed_at IS NULL`,
    [decodeJwt(tokens.access_token)['gid']],
  );
  return Number(rows[0]?.count);
}

/** Backdates the first use of all used tokens and codes. */
async function ago(seconds: number): Promise<void> {
  await fixture.owner.query(
    'UPDATE account.oidc SET consumed_at = consumed_at - make_interval(secs => $1)',
    [seconds],
  );
}

describe('a refresh token', () => {
  it('that 100 concurrent requests use keeps all of them signed in', async () => {
    const { app, refreshToken } = await signIn(fixture);
    const answers = await Promise.all(many.map(() => client.refreshTokenGrant(app, refreshToken)));
    expect(new Set(answers.map(({ refresh_token }) => refresh_token)).size).toBe(many.length);
    await client.refreshTokenGrant(app, answers[0]?.refresh_token ?? '');
    await client.refreshTokenGrant(app, answers[99]?.refresh_token ?? '');
  });

  it('whose response was lost works again within a minute, as does the new one', async () => {
    const { app, refreshToken } = await signIn(fixture);
    await client.refreshTokenGrant(app, refreshToken);
    await ago(50);
    const again = await client.refreshTokenGrant(app, refreshToken);
    await client.refreshTokenGrant(app, again.refresh_token ?? '');
  });

  it('that is reused after a minute ends its grant', async () => {
    const signedIn = await signIn(fixture);
    const { app, refreshToken, tokens } = signedIn;
    const thief = await client.refreshTokenGrant(app, refreshToken);
    await ago(61);
    expect(await errorOf(client.refreshTokenGrant(app, refreshToken))).toBe('invalid_grant');
    expect(await errorOf(client.refreshTokenGrant(app, thief.refresh_token ?? ''))).toBe(
      'invalid_grant',
    );
    expect(await fixture.revoked()).toContain(
      `grant:${String(decodeJwt(tokens.access_token)['gid'])}`,
    );
    expect(await livingTokens(signedIn)).toBe(0);
  });

  it('that was stolen continues in one place; use of the other copy ends the grant', async () => {
    const signedIn = await signIn(fixture);
    const { app, refreshToken } = signedIn;
    const thief = await client.refreshTokenGrant(app, refreshToken);
    const owner = await client.refreshTokenGrant(app, refreshToken);
    const next = await client.refreshTokenGrant(app, owner.refresh_token ?? '');
    await ago(61);
    expect(await errorOf(client.refreshTokenGrant(app, thief.refresh_token ?? ''))).toBe(
      'invalid_grant',
    );
    expect(await errorOf(client.refreshTokenGrant(app, next.refresh_token ?? ''))).toBe(
      'invalid_grant',
    );
    expect(await livingTokens(signedIn)).toBe(0);
  });

  it('has its minute once: reuse does not extend it', async () => {
    const { app, refreshToken } = await signIn(fixture);
    await client.refreshTokenGrant(app, refreshToken);
    await ago(40);
    await client.refreshTokenGrant(app, refreshToken);
    await ago(40);
    expect(await errorOf(client.refreshTokenGrant(app, refreshToken))).toBe('invalid_grant');
  });

  it('of another app is refused and stays valid', async () => {
    const { app, refreshToken } = await signIn(fixture);
    const other = await registerApp(fixture);
    expect(await errorOf(client.refreshTokenGrant(other, refreshToken))).toBe('invalid_grant');
    await client.tokenRevocation(other, refreshToken).catch(() => {});
    await client.refreshTokenGrant(app, refreshToken);
  });

  it('extends its grant to its own expiry', async () => {
    const { accountId } = await signIn(fixture);
    const { rows } = await fixture.owner.query<{ outlives: boolean }>(
      `SELECT g.expires_at >= t.expires_at AS outlives
       FROM account.oidc g JOIN account.oidc t USING (grant_id)
       WHERE g.model = 'Grant' AND t.model = 'RefreshToken' AND g.account_id = $1`,
      [accountId],
    );
    expect(rows).toEqual([{ outlives: true }]);
  });
});

describe('a grant that is ended while 100 requests refresh', () => {
  it('has no token left in any order', async () => {
    const signedIn = await signIn(fixture);
    const { app, accountId, refreshToken, tokens } = signedIn;
    const refreshes = many.map(() =>
      client.refreshTokenGrant(app, refreshToken).catch(() => undefined),
    );
    const ended = fixture
      .get(Grants)
      .endGrant(accountId, String(decodeJwt(tokens.access_token)['gid']));
    const answers = await Promise.all(refreshes);
    expect(await ended).toBe(true);
    expect(await livingTokens(signedIn)).toBe(0);
    for (const answer of answers.slice(0, 5).filter((one) => one !== undefined))
      expect(await errorOf(client.refreshTokenGrant(app, answer.refresh_token ?? ''))).toBe(
        'invalid_grant',
      );
  });

  it('by 100 concurrent requests ends once', async () => {
    const { accountId, app, refreshToken } = await signIn(fixture);
    await Promise.all(many.map(() => client.tokenRevocation(app, refreshToken)));
    expect(await fixture.get(Grants).listApps(accountId)).toEqual([]);
  });
});

describe('a code', () => {
  it('in 100 concurrent requests yields tokens at most once, which are then revoked', async () => {
    const { app, answer, checks } = await allowApp(fixture);
    const tries = many.map(() =>
      client.authorizationCodeGrant(app, answer, checks).catch(() => undefined),
    );
    const won = (await Promise.all(tries)).filter((one) => one !== undefined);
    expect(won.length).toBeLessThanOrEqual(1);
    for (const tokens of won)
      expect(await errorOf(client.refreshTokenGrant(app, tokens.refresh_token ?? ''))).toBe(
        'invalid_grant',
      );
  });

  it('that is used twice ends the grant of its first use', async () => {
    const { app, answer, checks } = await allowApp(fixture);
    const tokens = await client.authorizationCodeGrant(app, answer, checks);
    expect(await errorOf(client.authorizationCodeGrant(app, answer, checks))).toBe('invalid_grant');
    expect(await errorOf(client.refreshTokenGrant(app, tokens.refresh_token ?? ''))).toBe(
      'invalid_grant',
    );
  });
});

it('a device is allowed once, also by concurrent users', async () => {
  const app = await registerApp(fixture, {
    grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
    redirect_uris: [],
  });
  const device = await client.initiateDeviceAuthorization(app, { scope: 'read:subscriptions' });
  const accounts = await Promise.all(many.slice(0, 20).map(() => fixture.account()));
  const answers = await Promise.all(
    accounts.map(async (id) =>
      (
        await fixture.browser(id).fetch(device.verification_uri_complete ?? '', { method: 'POST' })
      ).json(),
    ),
  );
  const winner = answers.indexOf(true);
  expect(answers.filter((answer) => answer === true)).toHaveLength(1);
  const tokens = await client.pollDeviceAuthorizationGrant(app, { ...device, interval: 0.05 });
  expect(decodeJwt(tokens.access_token)['sub']).toBe(accounts[winner]);
  const { rows } = await fixture.owner.query(
    `SELECT account_id FROM account.oidc WHERE model = 'Grant' AND account_id = ANY ($1::uuid[])`,
    [accounts],
  );
  expect(rows).toEqual([{ account_id: accounts[winner] }]);
});

it('an approval whose session ends concurrently leaves no grant', async () => {
  const { accountId } = await signIn(fixture);
  const session = await fixture
    .get(Sessions)
    .startSession(accountId, { address: '', userAgent: '' });
  const params = { client_id: 'podcast-sync-cli', scope: 'openid', resource: apiUrl };
  const by = { accountId, sessionId: session.id, authenticatedAt: new Date() };
  const waiting = (count: number) =>
    eventually(async () => {
      const { rows } = await fixture.owner.query(
        `SELECT pid FROM pg_stat_activity
         WHERE datname = current_database() AND pg_blocking_pids(pid) <> '{}'`,
      );
      expect(rows).toHaveLength(count);
    });
  const holder = new pg.Client({ connectionString: fixture.database.ownerUrl });
  await holder.connect();
  try {
    await holder.query('BEGIN');
    const grants = `FROM account.oidc WHERE model = 'Grant' AND account_id = $1`;
    await holder.query(`SELECT ${grants} FOR UPDATE`, [accountId]);
    const ended = fixture.get(SignOut).endAllAccess(accountId);
    await waiting(1);
    const granted = outcomeOf(fixture.get(ConsentService).createGrant(params, by));
    await waiting(2);
    await holder.query('COMMIT');
    await ended;
    expect(await granted).toBe('credentials');
    expect((await fixture.owner.query(`SELECT ${grants}`, [accountId])).rowCount).toBe(0);
  } finally {
    await holder.end();
  }
});
