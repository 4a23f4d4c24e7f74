import { randomUUID } from 'node:crypto';
import { type RequestOf, type changeSettings, settingLimits } from '#contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { patiently } from '../../testing/patience.js';
import { outcomeOf } from '../../testing/outcome.js';
import { openPeople, type PeopleWorld } from '../../testing/people.world.js';
import { Accounts } from '../people/accounts.js';
import { Devices } from './devices.js';
import { Settings } from './settings.js';

type Request = RequestOf<typeof changeSettings>;

let world: PeopleWorld;
let settings: Settings;
let userId: string;

beforeAll(async () => {
  world = await openPeople();
  settings = world.app.get(Settings);
});
afterAll(() => world.close());
beforeEach(async () => {
  userId = (await world.app.get(Accounts).create({ name: `ann-${randomUUID()}` })).id;
});

const account: Request['scope'] = { of: 'account' };
const change = (scope: Request['scope'], set: Request['set'], remove: string[] = []) =>
  settings.change({ userId, scope, set, remove });
const read = (scope: Request['scope']) => change(scope, {});
const kept = async () => {
  const { rows } = await world.owner.query<{ bytes: number; rows: number }>(
    'SELECT coalesce(sum(bytes), 0)::int AS bytes, count(*)::int AS rows FROM account.settings WHERE account_id = $1',
    [userId],
  );
  return rows[0] as { bytes: number; rows: number };
};

describe('settings', () => {
  it('are all of the scope after the change, which sets before it removes', async () => {
    expect(await change(account, { a: 1, b: null })).toEqual({ a: 1, b: null });
    expect(await change(account, { c: [{ d: 0.1 }], a: 2 }, ['a', 'z'])).toEqual({
      b: null,
      c: [{ d: 0.1 }],
    });
    expect(await read(account)).toEqual({ b: null, c: [{ d: 0.1 }] });
  });

  it('keep NUL and lone surrogates, in keys and values', async () => {
    const sent = { 'a\0\ud800': ['b\0', { '\udc00': '\ud800c' }] };
    expect(await change(account, sent)).toEqual(sent);
    expect(await read(account)).toEqual(sent);
  });

  it('belong to a user and a scope: the account, a device, a podcast or an episode', async () => {
    await world.app.get(Devices).save(userId, [{ id: 'a' }]);
    const id = randomUUID();
    const scopes: Request['scope'][] = [
      account,
      { of: 'device', id: 'a' },
      { of: 'podcast', id },
      { of: 'episode', id },
    ];
    for (const scope of scopes) await change(scope, { of: scope.of });
    expect(await Promise.all(scopes.map(read))).toEqual(scopes.map(({ of }) => ({ of })));
    const others = { userId: randomUUID(), set: {}, remove: [] };
    expect(
      await Promise.all(
        [account, { of: 'episode' as const, id }].map((scope) =>
          settings.change({ ...others, scope }),
        ),
      ),
    ).toEqual([{}, {}]);
  });

  it('come back as they were sent, whatever JSON they are', async () => {
    const odd = {
      '': '',
      '\0': '\0\uD800',
      'ä"': [[], {}, 1e300, -0.5, true, null],
      2: 'two',
      constructor: 'x',
    };
    await change(account, odd);
    expect(await read(account)).toEqual(odd);
  });

  it('are written by changes only, and gone when there are none left', async () => {
    await read(account);
    expect(await kept()).toEqual({ bytes: 0, rows: 0 });
    await change(account, { a: 1 });
    expect((await kept()).rows).toBe(1);
    expect(await change(account, {}, ['a'])).toEqual({});
    expect(await kept()).toEqual({ bytes: 0, rows: 0 });
  });

  it('of a device that there is not are not found, read or changed', async () => {
    for (const id of ['phone', 'a b', 'a\0'])
      expect([
        await outcomeOf(read({ of: 'device', id })),
        await outcomeOf(change({ of: 'device', id }, { a: 1 })),
      ]).toEqual(['not_found', 'not_found']);
  });

  it('beyond a limit are refused, and nothing of the change is applied', async () => {
    await change(account, { a: 1 });
    const long = 'x'.repeat(settingLimits.scopeBytes);
    expect(await outcomeOf(change(account, { b: 1, c: long }, ['a']))).toBe('invalid');
    expect(await read(account)).toEqual({ a: 1 });
  });

  it('that are changed at the same time are all there', async () => {
    const names = Array.from({ length: 50 }, (_, index) => `k${index}`);
    await Promise.all(names.map((name) => patiently(() => change(account, { [name]: 1 }))));
    expect(Object.keys(await read(account)).sort()).toEqual(names.sort());
  });

  it('of a user have 4 MiB, however many changes come at the same time', async () => {
    const long = 'x'.repeat(settingLimits.scopeBytes - 100);
    const scopes = Array.from({ length: 80 }, () => ({ of: 'podcast' as const, id: randomUUID() }));
    const outcomes = await Promise.all(
      scopes.map((scope) => outcomeOf(patiently(() => change(scope, { a: long })))),
    );
    expect(new Set(outcomes)).toEqual(new Set(['none', 'invalid']));
    const { bytes, rows } = await kept();
    expect(bytes).toBeLessThanOrEqual(settingLimits.userBytes);
    expect([rows, outcomes.filter((outcome) => outcome === 'none').length]).toEqual([63, 63]);
  });

  it('of a full user can be removed and made smaller, and many small ones fill it, too', async () => {
    await world.owner.query(
      `INSERT INTO account.settings (account_id, scope, subject, settings, bytes)
       SELECT $1, 'episode', gen_random_uuid(), '{"a":1}', 135 FROM generate_series(1, $2::int)`,
      [userId, Math.floor(settingLimits.userBytes / 135)],
    );
    const { rows } = await world.owner.query<{ id: string }>(
      'SELECT subject AS id FROM account.settings WHERE account_id = $1 LIMIT 1',
      [userId],
    );
    const one = { of: 'episode' as const, id: rows[0]?.id as string };
    expect(await outcomeOf(change({ of: 'podcast', id: one.id }, { a: 1 }))).toBe('invalid');
    expect([await change(one, { a: 2 }), await change(one, {}, ['a'])]).toEqual([{ a: 2 }, {}]);
    expect(await change({ of: 'podcast', id: one.id }, { a: 1 })).toEqual({ a: 1 });
  });

  it('are nobody’s whose account is disabled or is not there', async () => {
    await world.app.get(Accounts).disable(userId);
    expect(await outcomeOf(change(account, { a: 1 }))).toBe('unauthorized');
    userId = randomUUID();
    expect(await outcomeOf(change(account, { a: 1 }))).toBe('unauthorized');
  });
});
