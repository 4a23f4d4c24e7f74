import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AppProcess, AppStack, freshUser, SharedStack } from '#testing';
import { copyUsers } from './testing/operator-programs.js';
import { histories, RandomUser } from './testing/random-history.js';

const full = Boolean(process.env['TEST_FULL']);
const users = full ? 1_000 : 10;
/** Of all histories. A failing run prints it; `TEST_SEED` runs the same ones again. */
const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
/** Users who do something at the same time. */
const sideBySide = 4;

let folder: string;
let systems: { stack: AppStack | SharedStack; gateway: Pick<AppProcess, 'facts'> }[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'copied-histories-'));
  const [shared, empty] = await Promise.all([SharedStack.open(), AppStack.open()]);
  const [gateway] = await empty.start(['gateway', 'subscription', 'episode', 'deletion-worker']);
  systems = [
    { stack: shared, gateway: shared.app('gateway') },
    { stack: empty, gateway: gateway as AppProcess },
  ];
}, 120_000);
afterAll(async () => {
  await Promise.all(systems.map(({ stack }) => stack.close()));
  rmSync(folder, { recursive: true, force: true });
});

const system = (place: number) => systems[place] as (typeof systems)[number];
const deviceOf = (user: { id: string }, place: number) =>
  system(place).stack.device(system(place).gateway, user.id);

/** Does something for each user, some at the same time. */
async function forEach<Item>(
  items: readonly Item[],
  task: (item: Item, place: number) => Promise<void>,
) {
  const left = items.entries();
  await Promise.all(
    Array.from({ length: sideBySide }, async () => {
      for (const [place, item] of left) await task(item, place);
    }),
  );
}

describe(`copies of ${users} users with random histories (TEST_SEED=${seed})`, () => {
  const all = Array.from({ length: users }, () => new RandomUser(freshUser()));

  beforeAll(async () => {
    const steps = histories(users, seed);
    await forEach(all, async (user, place) =>
      user.live(await deviceOf(user, 0), steps[place] ?? []),
    );
    const named = join(folder, 'users');
    writeFileSync(named, all.map(({ id }) => JSON.stringify({ id })).join('\n'));
    await copyUsers(system(0).stack, system(1).stack, named);
  }, 1_200_000);

  it('return the same lists, subscriptions by guid and episodes by sync_id', async () => {
    await forEach(all, async (user) => {
      const [here, there] = [await deviceOf(user, 0), await deviceOf(user, 1)];
      expect(await user.shown(there), `user ${user.id}`).toEqual(await user.shown(here));
    });
  }, 600_000);

  it('accept writes of a new device', async () => {
    await forEach(all, async (user) => {
      const device = await deviceOf(user, 1);
      const feed_url = `https://feeds.example/${user.id}/further`;
      const { body } = await device.send('POST', '/subscriptions', {
        body: { subscriptions: [{ feed_url }] },
      });
      const [{ guid }] = body['success'] as [{ guid: string }];
      const episodes = [{ podcast_guid: guid, episode_guid: 'further' }];
      expect((await device.send('POST', '/episodes', { body: { episodes } })).body).toMatchObject({
        failure: [],
      });
    });
  });
});
