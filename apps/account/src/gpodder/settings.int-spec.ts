import { randomUUID } from 'node:crypto';
import { type changeSettings, type RequestOf, settingLimits } from '#contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { retryUnavailable } from '../../testing/retry.js';
import { outcomeOf } from '../../testing/outcome.js';
import { openPeople, type PeopleFixture } from '../../testing/people.fixture.js';
import { Accounts } from '../people/accounts.js';
import { Devices } from './devices.js';
import { Settings } from './settings.js';

type Request = RequestOf<typeof changeSettings>;

let fixture: PeopleFixture;
let settings: Settings;
let userId: string;

beforeAll(async () => {
  fixture = await openPeople();
  settings = fixture.app.get(Settings);
});
afterAll(() => fixture.close());
beforeEach(async () => {
  userId = (await fixture.app.get(Accounts).create({ name: `ann-${randomUUID()}` })).id;
});

const account: Request['scope'] = { of: 'account' };
const change = (scope: Request['scope'], set: Request['set'], remove: string[] = []) =>
  settings.changeScope({ userId, scope, set, remove });
const read = (scope: Request['scope']) => change(scope, {});
const kept = async () => {
  const { rows } = await fixture.owner.query<{ bytes: number; rows: number }>(
    `SELECT coalesce(sum(bytes), 0)::int AS bytes, count(*)::int AS rows
     FROM account.settings WHERE account_id = $1`,
    [userId],
  );
  return rows[0] as { bytes: number; rows: number };
};

describe('settings', () => {
  it('are returned for the whole scope after a change, which sets before it removes', async () => {
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
    await fixture.app.get(Devices).save(userId, [{ id: 'a' }]);
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
          settings.changeScope({ ...others, scope }),
        ),
      ),
    ).toEqual([{}, {}]);
  });

  it('are returned as they were sent, for any JSON', async () => {
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

  it('are written only by changes, and deleted when none is left', async () => {
    await read(account);
    expect(await kept()).toEqual({ bytes: 0, rows: 0 });
    await change(account, { a: 1 });
    expect((await kept()).rows).toBe(1);
    expect(await change(account, {}, ['a'])).toEqual({});
    expect(await kept()).toEqual({ bytes: 0, rows: 0 });
  });

  it('of a missing device can be neither read nor changed', async () => {
    for (const id of ['phone', 'a b', 'a\0'])
      expect([
        await outcomeOf(read({ of: 'device', id })),
        await outcomeOf(change({ of: 'device', id }, { a: 1 })),
      ]).toEqual(['not_found', 'not_found']);
  });

  it('above a limit are refused, and no part of the change is applied', async () => {
    await change(account, { a: 1 });
    const long = 'x'.repeat(settingLimits.scopeBytes);
    expect(await outcomeOf(change(account, { b: 1, c: long }, ['a']))).toBe('invalid');
    expect(await read(account)).toEqual({ a: 1 });
  });

  it('keep all concurrent changes', async () => {
    const names = Array.from({ length: 50 }, (_, index) => `k${index}`);
    await Promise.all(names.map((name) => retryUnavailable(() => change(account, { [name]: 1 }))));
    expect(Object.keys(await read(account)).sort()).toEqual(names.sort());
  });

  it('of a user are limited to 4 MiB, also under concurrency', async () => {
    const long = 'x'.repeat(settingLimits.scopeBytes - 100);
    const scopes = Array.from({ length: 80 }, () => ({ of: 'podcast' as const, id: randomUUID() }));
    const outcomes = await Promise.all(
      scopes.map((scope) => outcomeOf(retryUnavailable(() => change(scope, { a: long })))),
    );
    expect(new Set(outcomes)).toEqual(new Set(['none', 'invalid']));
    const { bytes, rows } = await kept();
    expect(bytes).toBeLessThanOrEqual(settingLimits.userBytes);
    expect([rows, outcomes.filter((outcome) => outcome === 'none').length]).toEqual([63, 63]);
  });

  it('of a user at the limit can shrink, and many small ones reach the limit too', async () => {
    await fixture.owner.query(
      `INSERT INTO account.settings (account_id, scope, subject, settings, bytes)
       SELECT $1, 'episode', gen_random_uuid(), '{"a":1}', 135 FROM generate_series(1, $2::int)`,
      [userId, Math.floor(settingLimits.userBytes / 135)],
    );
    const { rows } = await fixture.owner.query<{ id: string }>(
      'SELECT subject AS id FROM account.settings WHERE account_id = $1 LIMIT 1',
      [userId],
    );
    const one = { of: 'episode' as const, id: rows[0]?.id as string };
    expect(await outcomeOf(change({ of: 'podcast', id: one.id }, { a: 1 }))).toBe('invalid');
    expect([await change(one, { a: 2 }), await change(one, {}, ['a'])]).toEqual([{ a: 2 }, {}]);
    expect(await change({ of: 'podcast', id: one.id }, { a: 1 })).toEqual({ a: 1 });
  });

  it('of a disabled or missing account are refused', async () => {
    await fixture.app.get(Accounts).disable(userId);
    expect(await outcomeOf(change(account, { a: 1 }))).toBe('unauthorized');
    userId = randomUUID();
    expect(await outcomeOf(change(account, { a: 1 }))).toBe('unauthorized');
  });
});
