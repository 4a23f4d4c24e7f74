import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { retryUnavailable } from '../../testing/retry.js';
import { outcomeOf } from '../../testing/outcome.js';
import { openPeople, type PeopleFixture } from '../../testing/people.fixture.js';
import { AppPasswords } from '../credentials/app-passwords.js';
import { Accounts } from '../people/accounts.js';
import { Devices } from './devices.js';
import { Settings } from './settings.js';

let fixture: PeopleFixture;
let devices: Devices;
let userId: string;

beforeAll(async () => {
  fixture = await openPeople();
  devices = fixture.app.get(Devices);
});
afterAll(() => fixture.close());
beforeEach(async () => {
  userId = (await fixture.app.get(Accounts).create({ name: `ann-${randomUUID()}` })).id;
});

const list = async (of: string) =>
  (await devices.list(of)).map(({ id, caption, type }) => ({ id, caption, type }));
const version = async () => {
  const { rows } = await fixture.owner.query(
    'SELECT id, xmin::text FROM account.devices WHERE account_id = $1',
    [userId],
  );
  return rows as unknown[];
};
const age = (id: string, by: string) =>
  fixture.owner.query(
    `UPDATE account.devices SET last_used_at = last_used_at - $3::interval
     WHERE account_id = $1 AND id = $2`,
    [userId, id, by],
  );

describe('devices', () => {
  it('are listed per user in the order of their ids', async () => {
    await devices.save(userId, [
      { id: 'phone' },
      { id: 'Laptop.1', caption: 'My laptop', type: 'laptop' },
    ]);
    expect(await list(userId)).toEqual([
      { id: 'Laptop.1', caption: 'My laptop', type: 'laptop' },
      { id: 'phone', caption: '', type: 'other' },
    ]);
    expect(await list(randomUUID())).toEqual([]);
  });

  it('keep fields that were not sent', async () => {
    await devices.save(userId, [{ id: 'phone', caption: 'My phone', type: 'mobile' }]);
    await devices.save(userId, [{ id: 'phone' }]);
    await devices.save(userId, [{ id: 'phone', caption: 'Her phone' }]);
    await devices.save(userId, [{ id: 'phone', type: 'server' }]);
    expect(await list(userId)).toEqual([{ id: 'phone', caption: 'Her phone', type: 'server' }]);
  });

  it('that are repeated in a message get the last fields', async () => {
    await devices.save(userId, [
      { id: 'a', caption: 'one', type: 'mobile' },
      { id: 'a', caption: 'two' },
      { id: 'a' },
    ]);
    expect(await list(userId)).toEqual([{ id: 'a', caption: 'two', type: 'mobile' }]);
  });

  it('that are unchanged are written at most once an hour', async () => {
    const said = [{ id: 'phone', caption: 'My phone', type: 'mobile' as const }, { id: 'tv' }];
    await devices.save(userId, said);
    await age('phone', '59 minutes');
    const before = await version();
    await devices.save(userId, [...said, { id: 'phone' }]);
    expect(await version()).toEqual(before);
    await age('phone', '2 minutes');
    await devices.save(userId, said);
    expect(await version()).not.toEqual(before);
  });

  it('have the label and the last use of their app password, unless several share it', async () => {
    const { credential } = await fixture.app
      .get(AppPasswords)
      .create(userId, { label: 'Kasts', scopes: ['read:subscriptions'] });
    await devices.save(userId, [{ id: 'desk', caption: 'Desk' }], credential.id);
    await age('desk', '30 minutes');
    const used = new Date(Date.now() - 60_000);
    await fixture.owner.query('UPDATE account.credentials SET last_used_at = $2 WHERE id = $1', [
      credential.id,
      used,
    ]);
    const [desk] = await devices.list(userId);
    expect([desk?.app, new Date(desk?.lastUsedAt ?? 0)]).toEqual(['Kasts', used]);

    await devices.save(userId, [{ id: 'lap' }], credential.id);
    const [shared] = await devices.list(userId);
    expect(Number(new Date(shared?.lastUsedAt ?? 0))).toBeLessThan(used.getTime());

    // A request without an app password, such as of an older gpodder app, keeps the stored one.
    await age('desk', '2 hours');
    await devices.save(userId, [{ id: 'desk' }]);
    expect((await devices.list(userId))[0]?.app).toBe('Kasts');
    await fixture.app.get(AppPasswords).revoke(userId, credential.id);
    expect((await devices.list(userId)).map(({ app }) => app)).toEqual([null, null]);
  });

  it.each(['ä', '電話', 'a.b-c_d', 'x'.repeat(64)])('can have the id %s', async (id) => {
    await devices.save(userId, [{ id }]);
    expect(await list(userId)).toEqual([{ id, caption: '', type: 'other' }]);
  });

  it.each(['', 'a b', 'a/b', 'a\0', '\uD800', 'x'.repeat(65)])(
    'cannot have the id %j, and nothing is saved',
    async (id) => {
      expect(await outcomeOf(devices.save(userId, [{ id: 'phone' }, { id }]))).toBe('invalid');
      expect([await list(userId), await devices.delete(userId, id)]).toEqual([[], false]);
    },
  );

  it('have captions of at most 100 characters, without control characters', async () => {
    await devices.save(userId, [{ id: 'a', caption: '😀'.repeat(100) + 'x' }]);
    await devices.save(userId, [{ id: 'b', caption: ' a\0b\uD800c\n' }]);
    expect((await list(userId)).map(({ caption }) => caption)).toEqual(['😀'.repeat(100), 'a b c']);
  });

  it('are limited to 100: the least recently used one is deleted with its settings', async () => {
    const first = Array.from({ length: 100 }, (_, index) => ({ id: `d${index}`, caption: 'mine' }));
    await devices.save(userId, first);
    const change = { userId, remove: [], set: { a: 1 } };
    for (const id of ['d7', 'd8'])
      await fixture.app.get(Settings).changeScope({ ...change, scope: { of: 'device', id } });
    await age('d7', '1 hour');
    await devices.save(userId, [{ id: 'new', caption: 'mine' }]);
    const ids = (await list(userId)).map(({ id }) => id);
    expect([ids.length, ids.includes('d7'), ids.includes('new')]).toEqual([100, false, true]);
    const { rows } = await fixture.owner.query(
      'SELECT subject FROM account.settings WHERE account_id = $1',
      [userId],
    );
    expect(rows).toEqual([{ subject: 'd8' }]);
  });

  it('without caption and settings are deleted before others', async () => {
    const change = {
      userId,
      scope: { of: 'device' as const, id: 'set' },
      remove: [],
      set: { a: 1 },
    };
    await devices.save(userId, [{ id: 'described', caption: 'My phone' }, { id: 'set' }]);
    await fixture.app.get(Settings).changeScope(change);
    for (const id of ['described', 'set']) await age(id, '300 days');
    for (const name of ['a', 'b'])
      await devices.save(
        userId,
        Array.from({ length: 100 }, (_, index) => ({ id: `${name}${index}` })),
      );
    const ids = (await list(userId)).map(({ id }) => id);
    expect(ids).toHaveLength(100);
    expect(ids).toEqual(expect.arrayContaining(['described', 'set']));
    expect(ids.filter((id) => id.startsWith('b'))).toHaveLength(98);
  });

  it('without a caption are not stored in addition to 100 others with one', async () => {
    const described = Array.from({ length: 100 }, (_, index) => ({
      id: `d${index}`,
      caption: 'mine',
    }));
    await devices.save(userId, described);
    await age('d7', '1 hour');
    await devices.save(userId, [{ id: 'new' }]);
    expect((await list(userId)).map(({ id }) => id)).toEqual(
      described.map(({ id }) => id).toSorted(),
    );
    await devices.save(userId, [{ id: 'new', caption: 'My phone' }]);
    const ids = (await list(userId)).map(({ id }) => id);
    expect([ids.length, ids.includes('d7'), ids.includes('new')]).toEqual([100, false, true]);
  });

  it('are limited to 100 and unique under concurrency', async () => {
    const named = Array.from({ length: 120 }, (_, index) => [
      { id: `d${index}` },
      { id: 'phone', caption: `${index}` },
    ]);
    await Promise.all(named.map((said) => retryUnavailable(() => devices.save(userId, said))));
    const ids = (await list(userId)).map(({ id }) => id);
    expect([ids.length, new Set(ids).size, ids.includes('phone')]).toEqual([100, 100, true]);
  });

  it('are deleted with their settings, until a client sends them again', async () => {
    await devices.save(userId, [{ id: 'phone', caption: 'My phone' }, { id: 'tv' }]);
    await fixture.app
      .get(Settings)
      .changeScope({ userId, scope: { of: 'device', id: 'phone' }, set: { a: 1 }, remove: [] });
    expect([await devices.delete(userId, 'phone'), await devices.delete(userId, 'phone')]).toEqual([
      true,
      false,
    ]);
    expect(await list(userId)).toMatchObject([{ id: 'tv' }]);
    await devices.save(userId, [{ id: 'phone' }]);
    expect(await list(userId)).toMatchObject([{ id: 'phone', caption: '' }, { id: 'tv' }]);
    const read = { userId, scope: { of: 'device' as const, id: 'phone' }, set: {}, remove: [] };
    expect(await fixture.app.get(Settings).changeScope(read)).toEqual({});
  });

  it('of a disabled or missing account are refused', async () => {
    await fixture.app.get(Accounts).disable(userId);
    expect(await outcomeOf(devices.save(userId, [{ id: 'phone' }]))).toBe('unauthorized');
    expect(await outcomeOf(devices.save(randomUUID(), [{ id: 'phone' }]))).toBe('unauthorized');
  });
});
