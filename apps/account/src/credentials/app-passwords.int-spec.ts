import { randomUUID } from 'node:crypto';
import { appPasswordHash } from '#identity';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { outcomeOf } from '../../testing/outcome.js';
import { openPeople, type PeopleFixture } from '../../testing/people.fixture.js';
import { Accounts } from '../people/accounts.js';
import { AppPasswords, type NewAppPassword } from './app-passwords.js';

let fixture: PeopleFixture;
let appPasswords: AppPasswords;
let accountId: string;

beforeAll(async () => {
  fixture = await openPeople();
  appPasswords = fixture.app.get(AppPasswords);
});
afterAll(() => fixture.close());
beforeEach(async () => {
  accountId = (await fixture.app.get(Accounts).create({ name: `ann-${randomUUID()}` })).id;
});

const both = ['read:subscriptions', 'write:subscriptions'];
const hashOf = (secret: string) => appPasswordHash(secret) as string;
const make = (wanted: Partial<NewAppPassword> = {}) =>
  appPasswords.create(accountId, { label: 'My phone', scopes: both, ...wanted });

describe('an app password', () => {
  it('is stored only as a hash, by which it is found', async () => {
    const { secret, credential } = await make({ scopes: ['read:subscriptions'] });
    const { name } = (await fixture.app.get(Accounts).find(accountId)) as { name: string };
    expect(await appPasswords.findAndRecordUse(hashOf(secret))).toEqual({
      credentialId: credential.id,
      userId: accountId,
      name,
      scopes: ['read:subscriptions'],
    });
    const { rows } = await fixture.owner.query('SELECT c::text AS row FROM account.credentials c');
    expect(JSON.stringify(rows)).not.toContain(secret.slice(4, 26));
  });

  it('is listed without its secret, newest first', async () => {
    for (const label of ['one', 'two', 'three']) await make({ label });
    const listed = await appPasswords.list(accountId);
    expect(listed.map(({ label }) => label)).toEqual(['three', 'two', 'one']);
    expect(listed[0]).toEqual({
      id: expect.any(String),
      label: 'three',
      scopes: both,
      createdAt: expect.any(Date),
      lastUsedAt: null,
      suspendedAt: null,
      expiresAt: null,
      isApp: false,
    });
  });

  it('records the time of its last use, with one write a minute', async () => {
    const { secret, credential } = await make();
    const version = async () => {
      const found = await fixture.owner.query(
        'SELECT xmin::text FROM account.credentials WHERE id = $1',
        [credential.id],
      );
      return found.rows as unknown[];
    };
    await appPasswords.findAndRecordUse(hashOf(secret));
    const [listed] = await appPasswords.list(accountId);
    expect(listed?.lastUsedAt).toBeInstanceOf(Date);
    const before = await version();
    await appPasswords.findAndRecordUse(hashOf(secret));
    expect(await version()).toEqual(before);
    await fixture.owner.query(
      `UPDATE account.credentials SET last_used_at = now() - interval '61 seconds' WHERE id = $1`,
      [credential.id],
    );
    await appPasswords.findAndRecordUse(hashOf(secret));
    const [used] = await appPasswords.list(accountId);
    expect(Date.now() - Number(used?.lastUsedAt)).toBeLessThan(60_000);
  });

  it('is checked while another transaction locks it, and then records no use', async () => {
    const { secret, credential } = await make();
    await fixture.owner.query('BEGIN');
    await fixture.owner.query('SELECT FROM account.credentials WHERE id = $1 FOR UPDATE', [
      credential.id,
    ]);
    try {
      expect(await appPasswords.findAndRecordUse(hashOf(secret))).not.toBeNull();
    } finally {
      await fixture.owner.query('ROLLBACK');
    }
    expect((await appPasswords.list(accountId))[0]?.lastUsedAt).toBeNull();
  });

  it('is invalid after its revocation or expiry, or while its account is disabled', async () => {
    const [revoked, expired, disabled] = [
      await make(),
      await make({ expiresAt: new Date(Date.now() + 3_600_000) }),
      await make(),
    ];
    expect(await appPasswords.findAndRecordUse(hashOf(expired.secret))).toMatchObject({
      expiresAt: expect.any(String),
    });
    expect(await appPasswords.revoke(accountId, revoked.credential.id)).toBe(true);
    expect(await appPasswords.findAndRecordUse(hashOf(revoked.secret))).toBeNull();
    await fixture.owner.query(`UPDATE account.credentials SET expires_at = now() WHERE id = $1`, [
      expired.credential.id,
    ]);
    expect(await appPasswords.findAndRecordUse(hashOf(expired.secret))).toBeNull();
    await fixture.app.get(Accounts).disable(accountId);
    expect(await appPasswords.findAndRecordUse(hashOf(disabled.secret))).toBeNull();
    await fixture.app.get(Accounts).enable(accountId);
    expect(await appPasswords.findAndRecordUse(hashOf(disabled.secret))).not.toBeNull();
  });

  it('is revoked by its id or hash, idempotently, and gateways are notified', async () => {
    const [one, two] = [await make(), await make()];
    expect(await appPasswords.revoke(accountId, one.credential.id)).toBe(true);
    expect(await appPasswords.revoke(accountId, one.credential.id)).toBe(false);
    expect(await appPasswords.revokeById(two.credential.id)).toBe(true);
    expect(await appPasswords.revokeById(two.credential.id)).toBe(false);
    const ids = [one, two].map(({ credential }) => `credential:${credential.id}`);
    expect(await fixture.revoked()).toEqual(expect.arrayContaining(ids));
  });

  it('is not revoked for another account', async () => {
    const { secret, credential } = await make();
    const other = await fixture.app.get(Accounts).create({ name: `o-${randomUUID()}` });
    expect(await appPasswords.revoke(other.id, credential.id)).toBe(false);
    expect(await fixture.revoked()).not.toContain(`credential:${credential.id}`);
    expect(await appPasswords.revoke(accountId, 'no id')).toBe(false);
    expect(await appPasswords.findAndRecordUse(hashOf(secret))).not.toBeNull();
  });

  it('that is revoked during a check is invalid afterwards', async () => {
    const { secret, credential } = await make();
    const checks = Array.from({ length: 20 }, () => appPasswords.findAndRecordUse(hashOf(secret)));
    await Promise.all([...checks, appPasswords.revoke(accountId, credential.id)]);
    expect(await appPasswords.findAndRecordUse(hashOf(secret))).toBeNull();
    expect(await appPasswords.list(accountId)).toEqual([]);
  });

  it.each<[string, Partial<NewAppPassword>]>([
    ['label', { label: '' }],
    ['label', { label: 'x'.repeat(65) }],
    ['label', { label: '\u3164' }],
    ['scopes', { scopes: [] }],
    ['scopes', { scopes: ['read:subscriptions', 'everything'] }],
    ['expiry', { expiresAt: new Date(0) }],
    ['expiry', { expiresAt: new Date(NaN) }],
  ])('is refused with a bad %s: %j', async (code, wanted) => {
    expect(await outcomeOf(make(wanted))).toBe(code);
  });

  it('is limited to 100 per account, also for concurrent requests', async () => {
    await insertAppPasswords(97);
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => outcomeOf(make())));
    expect(outcomes.filter((outcome) => outcome === 'none')).toHaveLength(3);
    expect(new Set(outcomes)).toEqual(new Set(['none', 'too_many']));
  });

  it('at the limit replaces those that expired, but no suspended one', async () => {
    await insertAppPasswords(60, "now() - interval '1 second'");
    await insertAppPasswords(39, "now() + interval '1 hour'");
    await fixture.owner.query(
      'UPDATE account.credentials SET suspended_at = now() WHERE account_id = $1',
      [accountId],
    );
    const count = async () => (await appPasswords.list(accountId)).length;
    await make();
    expect(await count()).toBe(100);
    expect(await outcomeOf(make())).toBe('none');
    expect(await count()).toBe(41);
    await insertAppPasswords(59);
    expect(await outcomeOf(make())).toBe('too_many');
    expect(await count()).toBe(100);
  });

  /** @param expiresAt SQL. */
  async function insertAppPasswords(count: number, expiresAt = 'NULL'): Promise<void> {
    await fixture.owner.query(
      `INSERT INTO account.credentials (id, account_id, hash, label, scopes, expires_at)
       SELECT gen_random_uuid(), $1, sha256(gen_random_uuid()::text::bytea), 'x', '{}', ${expiresAt}
       FROM generate_series(1, $2::int)`,
      [accountId, count],
    );
  }

  it('is revoked while Redis is unavailable', async () => {
    const alone = await openPeople();
    try {
      const { id } = await alone.app.get(Accounts).create({ name: 'ann' });
      const service = alone.app.get(AppPasswords);
      const { secret, credential } = await service.create(id, { label: 'x', scopes: both });
      await alone.redis.stop();
      expect(await service.revoke(id, credential.id)).toBe(true);
      expect(await service.findAndRecordUse(hashOf(secret))).toBeNull();
    } finally {
      await alone.close();
    }
  });
});
