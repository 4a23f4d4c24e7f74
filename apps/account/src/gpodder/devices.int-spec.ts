import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { patiently } from '../../testing/patience.js';
import { outcomeOf } from '../../testing/outcome.js';
import { openPeople, type PeopleWorld } from '../../testing/people.world.js';
import { Accounts } from '../people/accounts.js';
import { Devices } from './devices.js';
import { Settings } from './settings.js';

let world: PeopleWorld;
let devices: Devices;
let userId: string;

beforeAll(async () => {
  world = await openPeople();
  devices = world.app.get(Devices);
});
afterAll(() => world.close());
beforeEach(async () => {
  userId = (await world.app.get(Accounts).create({ name: `ann-${randomUUID()}` })).id;
});

const list = async (of: string) =>
  (await devices.list(of)).map(({ id, caption, type }) => ({ id, caption, type }));
const version = async () => {
  const { rows } = await world.owner.query(
    'SELECT id, xmin::text FROM account.devices WHERE account_id = $1',
    [userId],
  );
  return rows as unknown[];
};
const age = (id: string, by: string) =>
  world.owner.query(
    'UPDATE account.devices SET last_used_at = last_used_at - $3::interval WHERE account_id = $1 AND id = $2',
    [userId, id, by],
  );

describe('devices', () => {
  it('are known once they are named, in the order of their ids, and of one user alone', async () => {
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

  it('change in what is said of them only', async () => {
    await devices.save(userId, [{ id: 'phone', caption: 'My phone', type: 'mobile' }]);
    await devices.save(userId, [{ id: 'phone' }]);
    await devices.save(userId, [{ id: 'phone', caption: 'Her phone' }]);
    await devices.save(userId, [{ id: 'phone', type: 'server' }]);
    expect(await list(userId)).toEqual([{ id: 'phone', caption: 'Her phone', type: 'server' }]);
  });

  it('that are named twice in a message are as the later word says', async () => {
    await devices.save(userId, [
      { id: 'a', caption: 'one', type: 'mobile' },
      { id: 'a', caption: 'two' },
      { id: 'a' },
    ]);
    expect(await list(userId)).toEqual([{ id: 'a', caption: 'two', type: 'mobile' }]);
  });

  it('that are known cost no write, but for one a day', async () => {
    const said = [{ id: 'phone', caption: 'My phone', type: 'mobile' as const }, { id: 'tv' }];
    await devices.save(userId, said);
    await age('phone', '23 hours');
    const before = await version();
    await devices.save(userId, [...said, { id: 'phone' }]);
    expect(await version()).toEqual(before);
    await age('phone', '2 hours');
    await devices.save(userId, said);
    expect(await version()).not.toEqual(before);
  });

  it.each(['ä', '電話', 'a.b-c_d', 'x'.repeat(64)])('may be called %s', async (id) => {
    await devices.save(userId, [{ id }]);
    expect(await list(userId)).toEqual([{ id, caption: '', type: 'other' }]);
  });

  it.each(['', 'a b', 'a/b', 'a\0', '\uD800', 'x'.repeat(65)])(
    'can not be called %j, and nothing is saved then',
    async (id) => {
      expect(await outcomeOf(devices.save(userId, [{ id: 'phone' }, { id }]))).toBe('invalid');
      expect([await list(userId), await devices.forget(userId, id)]).toEqual([[], false]);
    },
  );

  it('have a caption of 100 characters, without what can not be stored or shown', async () => {
    await devices.save(userId, [{ id: 'a', caption: '😀'.repeat(100) + 'x' }]);
    await devices.save(userId, [{ id: 'b', caption: ' a\0b\uD800c\n' }]);
    expect((await list(userId)).map(({ caption }) => caption)).toEqual(['😀'.repeat(100), 'a b c']);
  });

  it('are 100 at most: the longest unused goes, with its settings', async () => {
    const first = Array.from({ length: 100 }, (_, index) => ({ id: `d${index}`, caption: 'mine' }));
    await devices.save(userId, first);
    const change = { userId, remove: [], set: { a: 1 } };
    for (const id of ['d7', 'd8'])
      await world.app.get(Settings).change({ ...change, scope: { of: 'device', id } });
    await age('d7', '1 hour');
    await devices.save(userId, [{ id: 'new', caption: 'mine' }]);
    const ids = (await list(userId)).map(({ id }) => id);
    expect([ids.length, ids.includes('d7'), ids.includes('new')]).toEqual([100, false, true]);
    const { rows } = await world.owner.query(
      'SELECT subject FROM account.settings WHERE account_id = $1',
      [userId],
    );
    expect(rows).toEqual([{ subject: 'd8' }]);
  });

  it('that have neither a caption nor settings go before those that have, however long these are unused', async () => {
    const change = {
      userId,
      scope: { of: 'device' as const, id: 'set' },
      remove: [],
      set: { a: 1 },
    };
    await devices.save(userId, [{ id: 'described', caption: 'My phone' }, { id: 'set' }]);
    await world.app.get(Settings).change(change);
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

  it('are not kept beside 100 that have a caption, until they have one, too', async () => {
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

  it('are 100 at most also when they are named at the same time, and each is known once', async () => {
    const named = Array.from({ length: 120 }, (_, index) => [
      { id: `d${index}` },
      { id: 'phone', caption: `${index}` },
    ]);
    await Promise.all(named.map((said) => patiently(() => devices.save(userId, said))));
    const ids = (await list(userId)).map(({ id }) => id);
    expect([ids.length, new Set(ids).size, ids.includes('phone')]).toEqual([100, 100, true]);
  });

  it('are forgotten with their settings, until they are named again', async () => {
    await devices.save(userId, [{ id: 'phone', caption: 'My phone' }, { id: 'tv' }]);
    await world.app
      .get(Settings)
      .change({ userId, scope: { of: 'device', id: 'phone' }, set: { a: 1 }, remove: [] });
    expect([await devices.forget(userId, 'phone'), await devices.forget(userId, 'phone')]).toEqual([
      true,
      false,
    ]);
    expect(await list(userId)).toMatchObject([{ id: 'tv' }]);
    await devices.save(userId, [{ id: 'phone' }]);
    expect(await list(userId)).toMatchObject([{ id: 'phone', caption: '' }, { id: 'tv' }]);
    const read = { userId, scope: { of: 'device' as const, id: 'phone' }, set: {}, remove: [] };
    expect(await world.app.get(Settings).change(read)).toEqual({});
  });

  it('are nobody’s whose account is disabled or is not there', async () => {
    await world.app.get(Accounts).disable(userId);
    expect(await outcomeOf(devices.save(userId, [{ id: 'phone' }]))).toBe('unauthorized');
    expect(await outcomeOf(devices.save(randomUUID(), [{ id: 'phone' }]))).toBe('unauthorized');
  });
});
