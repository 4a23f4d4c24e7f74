import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openPeople, type PeopleFixture } from '../../testing/people.fixture.js';
import { Accounts } from './accounts.js';
import { type NewSession, Sessions } from './sessions.js';
import { Sweep } from '../sweep.js';

let fixture: PeopleFixture;
let sessions: Sessions;
let accountId: string;

beforeAll(async () => {
  fixture = await openPeople();
  sessions = fixture.app.get(Sessions);
});
afterAll(() => fixture.close());
beforeEach(async () => {
  accountId = (await fixture.app.get(Accounts).create({ name: `ann-${randomUUID()}` })).id;
});

const begin = (cookie?: string): Promise<NewSession> =>
  sessions.startSession(accountId, { address: '192.0.2.1', userAgent: 'Firefox' }, cookie);
/** Backdates creation and last use of a session. */
const age = (id: string, created: string, used: string) =>
  fixture.owner.query(
    `UPDATE account.sessions
     SET created_at = now() - $2::interval, last_used_at = now() - $3::interval,
       expires_at = least(now() - $2::interval + interval '365 days',
         now() - $3::interval + interval '30 days')
     WHERE id = $1`,
    [id, created, used],
  );

describe('a session', () => {
  it('lasts for 30 days after its last use', async () => {
    const [used, unused] = [await begin(), await begin()];
    await age(used.id, '40 days', '29 days');
    await age(unused.id, '40 days', '31 days');
    expect(await sessions.findAndRecordUse(unused.cookie)).toBeUndefined();
    expect(await sessions.findAndRecordUse(used.cookie)).toBeDefined();
    const days =
      ((await sessions.findAndRecordUse(used.cookie))?.expiresAt.getTime() ?? 0) - Date.now();
    expect(Math.round(days / 86_400_000)).toBe(30);
  });

  it('ends after 365 days despite use', async () => {
    const old = await begin();
    await age(old.id, '364 days', '2 hours');
    await sessions.findAndRecordUse(old.cookie);
    const hours =
      ((await sessions.findAndRecordUse(old.cookie))?.expiresAt.getTime() ?? 0) - Date.now();
    expect(Math.round(hours / 3_600_000)).toBe(24);
    await age(old.id, '366 days', '0');
    expect(await sessions.findAndRecordUse(old.cookie)).toBeUndefined();
  });

  it('is written at most once an hour', async () => {
    const { id, cookie } = await begin();
    await age(id, '2 hours', '2 hours');
    const version = async () =>
      (await fixture.owner.query('SELECT xmin::text FROM account.sessions WHERE id = $1', [id]))
        .rows as unknown[];
    const before = await version();
    await sessions.findAndRecordUse(cookie);
    const touched = await version();
    expect(touched).not.toEqual(before);
    await Promise.all(Array.from({ length: 10 }, () => sessions.findAndRecordUse(cookie)));
    expect(await version()).toEqual(touched);
  });

  it('remains when its browser ends all others of the account', async () => {
    const [mine, other] = [await begin(), await begin()];
    const { id } = await fixture.app.get(Accounts).create({ name: `o-${randomUUID()}` });
    const foreign = await sessions.startSession(id, { address: '192.0.2.1', userAgent: 'Firefox' });
    await sessions.endOthers(accountId, mine.id);
    expect(await sessions.findAndRecordUse(mine.cookie)).toBeDefined();
    expect(await sessions.findAndRecordUse(foreign.cookie)).toBeDefined();
    expect(await sessions.findAndRecordUse(other.cookie)).toBeUndefined();
    expect(await fixture.revoked()).toContain(`session:${other.id}`);
  });

  it('can be ended only by its user, also from another browser', async () => {
    const { id, cookie } = await begin();
    const other = await fixture.app.get(Accounts).create({ name: `o-${randomUUID()}` });
    expect(await sessions.endSession(other.id, id)).toBe(false);
    expect(await sessions.endSession(accountId, 'no id')).toBe(false);
    expect(await sessions.findAndRecordUse(cookie)).toBeDefined();
    expect(await sessions.endSession(accountId, id)).toBe(true);
    expect([await sessions.findAndRecordUse(cookie), await sessions.listValid(accountId)]).toEqual([
      undefined,
      [],
    ]);
    expect(await fixture.revoked()).toContain(`session:${id}`);
  });

  it('is renewed by one of many concurrent sign-ins, and its old cookie is invalid', async () => {
    const before = await begin();
    const renewed = await Promise.all(Array.from({ length: 10 }, () => begin(before.cookie)));
    expect(renewed.filter(({ id }) => id === before.id)).toHaveLength(1);
    expect(await sessions.findAndRecordUse(before.cookie)).toBeUndefined();
  });

  it('is limited to 100 per user; the least recently used are deleted', async () => {
    const first = await begin();
    await age(first.id, '1 hour', '1 hour');
    await Promise.all(Array.from({ length: 100 }, () => begin()));
    await begin();
    expect(await sessions.findAndRecordUse(first.cookie)).toBeUndefined();
    expect(await sessions.listValid(accountId)).toHaveLength(100);
  });

  it('is deleted after its expiry', async () => {
    const [gone, kept] = [await begin(), await begin()];
    await age(gone.id, '366 days', '0');
    await fixture.app.get(Sweep).sweep();
    const { rows } = await fixture.owner.query(
      'SELECT id FROM account.sessions WHERE account_id = $1',
      [accountId],
    );
    expect(rows).toEqual([{ id: kept.id }]);
  });

  it.each(['', 'x', 'x'.repeat(43), 'x'.repeat(10_000), '\0'.repeat(43)])(
    'is not found by the cookie %j',
    async (cookie) => {
      expect(await sessions.findAndRecordUse(cookie)).toBeUndefined();
    },
  );
});
