import { randomUUID } from 'node:crypto';
import { networkOf } from '#identity';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openPeople, type PeopleFixture } from '../../testing/people.fixture.js';
import { deleteExcessRowsByNetwork } from './network-quota.js';

let people: PeopleFixture;
beforeAll(async () => void (people = await openPeople()));
afterAll(() => people.close());
beforeEach(() => people.owner.query('DELETE FROM account.clients'));

const most = 10;

/** Inserts unused clients of these addresses, the first one as the oldest. */
async function register(addresses: readonly string[]): Promise<void> {
  await people.owner.query(
    `INSERT INTO account.clients (id, payload, network, created_at)
     SELECT gen_random_uuid(), jsonb_build_object('at', n), network,
       now() - interval '1 hour' + n * interval '1 s'
     FROM unnest($1::text[]) WITH ORDINALITY AS sent (network, n)`,
    [addresses.map(networkOf)],
  );
}

const cap = () =>
  people.transaction((manager) =>
    deleteExcessRowsByNetwork(manager, {
      table: 'clients',
      condition: 'used_at IS NULL',
      max: most,
    }),
  );

/** Returns the places of the remaining clients in the order of their registration. */
async function remaining(): Promise<number[]> {
  const { rows } = await people.owner.query<{ at: number }>(
    `SELECT (payload ->> 'at')::integer AS at FROM account.clients ORDER BY created_at`,
  );
  return rows.map(({ at }) => at);
}

const times = (count: number, address: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => address(n));

describe('above the limit', () => {
  it('the network with the most loses its oldest row, and a new one keeps its own', async () => {
    await register([
      '192.0.2.1',
      ...times(6, () => '192.0.2.2'),
      ...times(4, (n) => `192.0.2.${n + 3}`),
    ]);
    await cap();
    expect(await remaining()).toEqual([1, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it('a /48 counts as one network against others', async () => {
    await register([
      '192.0.2.1',
      ...times(9, (n) => `2001:db8:1:${n}00::1`),
      '192.0.2.2',
      '192.0.2.3',
    ]);
    await cap();
    expect(await remaining()).toEqual([1, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  });

  it('a /56 loses before the other /56 of its /48', async () => {
    await register([
      '2001:db8:1:100::1',
      ...times(6, (n) => `2001:db8:1:20${n}::1`),
      ...times(4, (n) => `192.0.2.${n + 1}`),
    ]);
    await cap();
    expect(await remaining()).toEqual([1, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it('a /64 loses before the other /64 of its /56', async () => {
    await register([
      '2001:db8:1:100::1',
      ...times(6, (n) => `2001:db8:1:101::${n + 1}`),
      ...times(4, (n) => `192.0.2.${n + 1}`),
    ]);
    await cap();
    expect(await remaining()).toEqual([1, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it('concurrent insertions leave exactly as many as the limit', async () => {
    await Promise.all(
      times(30, (n) => `192.0.2.${n}`).map(async (address) => {
        await people.owner.query(
          `INSERT INTO account.clients (id, payload, network) VALUES ($1, '{}', $2)`,
          [randomUUID(), address],
        );
        await cap();
      }),
    );
    expect(await remaining()).toHaveLength(most);
  });
});

it('up to the limit, all stay', async () => {
  await register(times(most, () => '192.0.2.1'));
  await cap();
  expect(await remaining()).toHaveLength(most);
});
