import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { retryUnavailable } from '../../testing/retry.js';
import { openPeople, type PeopleFixture } from '../../testing/people.fixture.js';
import { AppPasswords } from '../credentials/app-passwords.js';
import { Accounts } from '../people/accounts.js';
import { GpodderSessions } from './gpodder-sessions.js';

let fixture: PeopleFixture;
let sessions: GpodderSessions;
let accountId: string;
let name: string;
let credentialId: string;

beforeAll(async () => {
  fixture = await openPeople();
  sessions = fixture.app.get(GpodderSessions);
});
afterAll(() => fixture.close());
beforeEach(async () => {
  name = `ann-${randomUUID()}`;
  accountId = (await fixture.app.get(Accounts).create({ name })).id;
  credentialId = await appPassword();
});

const scopes = ['read:subscriptions', 'write:subscriptions'];
async function appPassword(): Promise<string> {
  const { credential } = await fixture.app
    .get(AppPasswords)
    .create(accountId, { label: 'AntennaPod', scopes });
  return credential.id;
}
const check = (id: string, credential = credentialId) => sessions.findAndRecordUse(id, credential);
const count = async () => {
  const { rows } = await fixture.owner.query<{ open: number; all: number }>(
    `SELECT count(*) FILTER (WHERE ended_at IS NULL)::int AS open, count(*)::int AS all
     FROM account.gpodder_sessions WHERE credential_id = $1`,
    [credentialId],
  );
  return rows[0];
};
const age = (id: string, by: string) =>
  fixture.owner.query(
    `UPDATE account.gpodder_sessions
     SET last_used_at = last_used_at - $2::interval, ended_at = ended_at - $2::interval
     WHERE id = $1`,
    [id, by],
  );
/** Stores sessions last used 1, 2, 3 … minutes ago. */
const store = (number: number, isEnded: boolean) =>
  fixture.owner.query(
    `INSERT INTO account.gpodder_sessions (credential_id, id, account_id, last_used_at, ended_at)
     SELECT $1, gen_random_uuid(), $2, at, CASE WHEN $4 THEN at END
     FROM (SELECT now() - n * interval '1 minute' AS at FROM generate_series(1, $3::int) n) times`,
    [credentialId, accountId, number, isEnded],
  );

describe('a session of the gpodder API', () => {
  it('belongs to the user of its app password and is stored with its first check', async () => {
    const id = randomUUID();
    const credential = { credentialId, userId: accountId, name, scopes };
    expect([await check(id), await check(id)]).toEqual([credential, credential]);
    expect(await count()).toEqual({ open: 1, all: 1 });
  });

  it('counts as a use of its app password', async () => {
    await check(randomUUID());
    expect(await fixture.app.get(AppPasswords).list(accountId)).toMatchObject([
      { lastUsedAt: expect.any(Date) },
    ]);
  });

  it('records its last use once a day', async () => {
    const id = randomUUID();
    await check(id);
    const version = async () => {
      const { rows } = await fixture.owner.query(
        'SELECT xmin::text FROM account.gpodder_sessions WHERE id = $1',
        [id],
      );
      return rows as unknown[];
    };
    await age(id, '23 hours');
    const before = await version();
    await check(id);
    expect(await version()).toEqual(before);
    await age(id, '2 hours');
    await Promise.all(Array.from({ length: 5 }, () => check(id)));
    const { rows } = await fixture.owner.query(
      `SELECT last_used_at > now() - interval '1 hour' AS recent
       FROM account.gpodder_sessions WHERE id = $1`,
      [id],
    );
    expect(rows).toEqual([{ recent: true }]);
  });

  it('expires permanently after 365 days without use', async () => {
    const [unused, used] = [randomUUID(), randomUUID()];
    await Promise.all([check(unused), check(used)]);
    await Promise.all([age(unused, '366 days'), age(used, '364 days')]);
    expect([await check(unused), (await check(used))?.userId, await check(unused)]).toEqual([
      null,
      accountId,
      null,
    ]);
  });

  it('ends permanently, even before its first use, and gateways are notified', async () => {
    const [used, fresh] = [randomUUID(), randomUUID()];
    await check(used);
    for (const id of [used, fresh, used]) await sessions.endSession(id, credentialId);
    expect([await check(used), await check(fresh)]).toEqual([null, null]);
    expect(await fixture.revoked()).toEqual(
      expect.arrayContaining([`gpodder_session:${used}`, `gpodder_session:${fresh}`]),
    );
  });

  it('that ends during a check is invalid afterwards', async () => {
    const ids = Array.from({ length: 10 }, () => randomUUID());
    await Promise.all(
      ids.flatMap((id) => [check(id), sessions.endSession(id, credentialId), check(id)]),
    );
    expect(await Promise.all(ids.map((id) => check(id)))).toEqual(ids.map(() => null));
  });

  it('ends with its app password, and is invalid while its account is disabled', async () => {
    const [id, other] = [randomUUID(), await appPassword()];
    await Promise.all([check(id), check(id, other)]);
    await fixture.app.get(AppPasswords).revoke(accountId, credentialId);
    expect([await check(id), (await check(id, other))?.credentialId]).toEqual([null, other]);
    expect(await count()).toEqual({ open: 0, all: 0 });
    await fixture.app.get(Accounts).disable(accountId);
    expect(await check(id, other)).toBeNull();
    await fixture.app.get(Accounts).enable(accountId);
    expect(await check(id, other)).not.toBeNull();
  });

  it('that starts while its app password is revoked is not stored', async () => {
    const started = Array.from({ length: 20 }, () => check(randomUUID()));
    await Promise.all([...started, fixture.app.get(AppPasswords).revoke(accountId, credentialId)]);
    expect(await count()).toEqual({ open: 0, all: 0 });
  });

  it('is invalid without an app password, and its end changes nothing', async () => {
    const nobody = randomUUID();
    expect(await check(randomUUID(), nobody)).toBeNull();
    await expect(sessions.endSession(randomUUID(), nobody)).resolves.toBeUndefined();
  });

  it('is limited to 50 per app password, also under concurrency', async () => {
    const ids = Array.from({ length: 100 }, () => randomUUID());
    const found = await Promise.all(ids.map((id) => retryUnavailable(() => check(id))));
    expect(found.map((credential) => credential?.userId)).toEqual(ids.map(() => accountId));
    expect(await count()).toEqual({ open: 50, all: 50 });
  });

  it('replaces the least recently used one of 50 of its app password', async () => {
    const [old, id, other] = [randomUUID(), randomUUID(), await appPassword()];
    await Promise.all([check(old), check(old, other)]);
    await Promise.all([age(old, '1 day'), store(49, false)]);
    await check(id);
    const { rows } = await fixture.owner.query<{ id: string; of: string }>(
      'SELECT id, credential_id AS of FROM account.gpodder_sessions WHERE id = ANY ($1)',
      [[old, id]],
    );
    expect(new Set(rows.map((row) => `${row.id} ${row.of}`))).toEqual(
      new Set([`${id} ${credentialId}`, `${old} ${other}`]),
    );
  });

  it('does not count after its end, and 200 ended ones are kept', async () => {
    const [open, ended] = [randomUUID(), randomUUID()];
    await check(open);
    await Promise.all([store(300, true), age(open, '12 hours')]);
    await sessions.endSession(ended, credentialId);
    expect(await count()).toEqual({ open: 1, all: 201 });
    expect([await check(ended), (await check(open))?.userId]).toEqual([null, accountId]);
  });
});
