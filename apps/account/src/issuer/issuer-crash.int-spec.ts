import { decodeJwt } from 'jose';
import * as client from 'openid-client';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AppProcess, eventually } from '#testing';
import { allowApp, errorOf, type SignedIn, signIn } from '../../testing/app-client.js';
import { countBlockedBy } from '../../testing/blocked-statements.js';
import { apiUrl, IssuerFixture } from '../../testing/issuer.fixture.js';
import { SignOut } from '../people/sign-out.js';
import { Sweep } from '../sweep.js';

let fixture: IssuerFixture;
let processes: AppProcess[] = [];
beforeAll(async () => {
  fixture = await IssuerFixture.open();
  const environment = {
    DATABASE_URL: fixture.postgres.url,
    REDIS_URL: fixture.redis.url,
    PUBLIC_URL: fixture.url,
    KEYS_DIRECTORY: fixture.keys,
    SECRETS_KEY: 'a-secret-of-tests-which-is-long-enough',
    API_URLS: apiUrl,
    PORT: '0',
  };
  processes = await Promise.all([
    AppProcess.start('account', environment),
    AppProcess.start('account', environment),
  ]);
});
afterAll(async () => {
  await Promise.all(processes.map((process) => process.kill()));
  await fixture.close();
});

const grantOf = (accessToken: string): unknown => decodeJwt(accessToken)['gid'];

/** Runs a function while writes to a grant are blocked. Writers wait until it ends. */
async function whileHeld(
  { tokens }: SignedIn,
  run: (waiting: (count: number) => Promise<void>) => Promise<void>,
): Promise<void> {
  const holder = new pg.Client({ connectionString: fixture.database.ownerUrl });
  await holder.connect();
  try {
    const { rows } = await holder.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await holder.query('BEGIN');
    await holder.query(
      `SELECT FROM account.oidc WHERE model = 'Grant' AND grant_id = $1 FOR UPDATE`,
      [grantOf(tokens.access_token)],
    );
    await run((count) =>
      eventually(async () =>
        expect(await countBlockedBy(fixture.owner, rows[0]?.pid ?? 0)).toBe(count),
      ),
    );
  } finally {
    await holder.end();
  }
}

/** Sends a token refresh to one process. */
async function refresh(process: AppProcess, { app }: SignedIn, refreshToken: string) {
  const answer = await fetch(`http://127.0.0.1:${String(process.facts['port'])}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      client_id: app.clientMetadata().client_id,
    }),
  });
  const body = (await answer.json()) as { access_token: string; refresh_token: string };
  return { status: answer.status, ...body };
}

it('a process that is killed during a refresh signs nobody out, and a retry works', async () => {
  const [killed, other] = processes as [AppProcess, AppProcess];
  const [signedIn, neighbour] = [await signIn(fixture), await signIn(fixture)];
  let lost: unknown;
  await whileHeld(signedIn, async (waiting) => {
    const answer = refresh(killed, signedIn, signedIn.refreshToken).catch(
      (error: unknown) => error,
    );
    await waiting(1);
    await killed.kill();
    lost = await answer;
  });
  expect(lost).toBeInstanceOf(Error);
  const again = await refresh(other, signedIn, signedIn.refreshToken);
  expect(again.status).toBe(200);
  expect(grantOf(again.access_token)).toBe(grantOf(signedIn.tokens.access_token));
  expect((await refresh(other, signedIn, again.refresh_token)).status).toBe(200);
  expect((await refresh(other, neighbour, neighbour.refreshToken)).status).toBe(200);
  expect(await fixture.revoked()).toEqual([]);
});

/** Actions that end all grants of an account. */
const ends: [string, (accountId: string) => Promise<unknown>][] = [
  ['signing out everywhere', (accountId) => fixture.get(SignOut).endAllAccess(accountId)],
  [
    'erasing the account',
    async (accountId) => {
      const worker = new pg.Client({ connectionString: fixture.database.ownerUrl });
      await worker.connect();
      await worker
        .query('SELECT account.erase_user($1, 1000)', [accountId])
        .finally(() => worker.end());
    },
  ],
];
it.each(ends)('%s leaves no rows of a refresh in progress', async (_, end) => {
  const signedIn = await signIn(fixture);
  const { app, accountId, refreshToken } = signedIn;
  let refreshed: Promise<string> | undefined;
  let ended: Promise<unknown> | undefined;
  await whileHeld(signedIn, async (waiting) => {
    refreshed = client.refreshTokenGrant(app, refreshToken).then(
      (tokens) => tokens.refresh_token ?? '',
      () => '',
    );
    await waiting(1);
    ended = end(accountId);
    ended.catch(() => {});
    // Both wait now, for the test's lock or for each other.
    await eventually(async () => {
      const { rows } = await fixture.owner.query(
        `SELECT pid FROM pg_stat_activity
         WHERE datname = current_database() AND pg_blocking_pids(pid) <> '{}'`,
      );
      expect(rows).toHaveLength(2);
    });
  });
  const newest = await refreshed;
  await ended;
  await fixture.get(Sweep).sweep();
  const { rows } = await fixture.owner.query(
    'SELECT model FROM account.oidc WHERE account_id = $1',
    [accountId],
  );
  expect(rows).toEqual([]);
  expect(await errorOf(client.refreshTokenGrant(app, newest || refreshToken))).toBe(
    'invalid_grant',
  );
});

it('a user whose erasure is recorded gets no tokens', async () => {
  const { app, accountId, refreshToken } = await signIn(fixture);
  const { answer, checks } = await allowApp(fixture, { app, accountId });
  await fixture.owner.query('SELECT deletion.record_erasure($1, NULL)', [accountId]);
  expect(await errorOf(client.refreshTokenGrant(app, refreshToken))).toBe('invalid_grant');
  expect(await errorOf(client.authorizationCodeGrant(app, answer, checks))).toBe('invalid_grant');
});
