import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openPeople, type PeopleFixture } from '../../testing/people.fixture.js';
import { Accounts } from './accounts.js';
import { Passwords } from './passwords.js';
import { SignIn } from './sign-in.js';

let fixture: PeopleFixture;

beforeAll(async () => {
  fixture = await openPeople();
  const accounts = fixture.app.get(Accounts);
  const hashed = () => fixture.app.get(Passwords).hash('an unusual sentence', 'trustedDevice');
  await accounts.create({ name: 'known', password: await hashed() });
  await accounts.create({ name: 'without' });
  const { id } = await accounts.create({ name: 'disabled', password: await hashed() });
  await accounts.disable(id);
});
afterAll(() => fixture.close());

const kinds = ['known', 'unknown', 'disabled', 'without'];
const tries = 200;

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] as number;
}

it('a wrong password takes equal time for each kind of account: medians within 5 %', async () => {
  const signIn = fixture.app.get(SignIn);
  const times = new Map(kinds.map((kind): [string, number[]] => [kind, []]));
  for (let count = 0; count < tries + 5; count += 1) {
    // Rotate the order of the kinds, so that load of the machine affects all of them alike.
    for (const at of kinds.keys()) {
      const name = kinds[(at + count) % kinds.length] as string;
      const browser = { address: `10.${count >> 8}.${count & 255}.${at}`, userAgent: '' };
      const started = performance.now();
      await expect(
        signIn.signIn({ name, password: 'a wrong sentence' }, browser),
      ).rejects.toMatchObject({
        code: 'credentials',
      });
      // The first rounds warm up code and connections.
      if (count >= 5) times.get(name)?.push(performance.now() - started);
    }
  }
  // Ratios of the same round, as the load of the machine changes between rounds.
  const known = times.get('known') ?? [];
  const medians = Object.fromEntries(
    [...times].map(([kind, values]) => [
      kind,
      median(values.map((value, round) => value / (known[round] ?? Number.NaN))),
    ]),
  );
  console.log(medians);
  const apart = kinds.filter((kind) => !(Math.abs((medians[kind] ?? Number.NaN) - 1) < 0.05));
  expect({ apart, medians }).toMatchObject({ apart: [] });
}, 600_000);
