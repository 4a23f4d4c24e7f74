import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AppProcess, AppStack, freshUser, SharedStack } from '#testing';
import { dump, load } from './testing/operator.programs.js';
import { histories, listed, RandomUser } from './testing/random.history.js';

const full = Boolean(process.env['TEST_FULL']);
const users = full ? 1_000 : 20;
/** Of all histories. A failing run prints it; `TEST_SEED` runs the same ones again. */
const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
/** Users who do something at the same time. */
const sideBySide = 4;

let folder: string;
let systems: { stack: AppStack | SharedStack; gateway: Pick<AppProcess, 'facts'> }[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dump-and-load-'));
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
const deviceOf = (user: { id: string }, place: number) => system(place).stack.device(system(place).gateway, user.id);

/** Does something for each user, some at the same time. */
async function forEach<Item>(items: readonly Item[], task: (item: Item, place: number) => Promise<void>) {
  const left = items.entries();
  await Promise.all(
    Array.from({ length: sideBySide }, async () => {
      for (const [place, item] of left) await task(item, place);
    }),
  );
}

/** A dump without the clocks of users. */
const withoutClocks = (file: string) => readFileSync(file, 'utf8').replace(/,"clock":"[^"]*"/g, '');

describe(`${users} users with random histories (TEST_SEED=${seed}), dumped and loaded into an empty system`, () => {
  const all = Array.from({ length: users }, () => new RandomUser(freshUser()));
  const [from, to] = [() => join(folder, 'from.ndjson'), () => join(folder, 'to.ndjson')];

  beforeAll(async () => {
    const steps = histories(users, seed);
    await forEach(all, async (user, place) => user.live(await deviceOf(user, 0), steps[place] ?? []));
    const named = join(folder, 'users');
    // In the order of a dump of everybody.
    const ids = all.map(({ id }) => id).sort();
    writeFileSync(named, ids.map((id) => JSON.stringify({ id })).join('\n'));
    await dump(system(0).stack, from(), '--users', named);
    await load(system(1).stack, from());
  }, 1_200_000);

  it('see the same there, but for stamps: lists, by every guid and by every sync_id', async () => {
    await forEach(all, async (user) => {
      const [here, there] = [await deviceOf(user, 0), await deviceOf(user, 1)];
      expect(await user.shown(there), `user ${user.id}`).toEqual(await user.shown(here));
    });
  }, 600_000);

  it('are dumped there as they were dumped here, with all that no list shows', async () => {
    await dump(system(1).stack, to());
    expect(withoutClocks(to())).toBe(withoutClocks(from()));
  });

  it('are there once however often the file is loaded', async () => {
    await load(system(1).stack, from());
    const again = join(folder, 'again.ndjson');
    await dump(system(1).stack, again);
    expect(withoutClocks(again)).toBe(withoutClocks(from()));
  }, 300_000);

  it('get everything there with the last stamp that they hold from here', async () => {
    const clocks = [...readFileSync(from(), 'utf8').matchAll(/"id":"([^"]+)","clock":"([^"]+)"/g)];
    expect(clocks.map(([, id]) => id).sort()).toEqual(all.map(({ id }) => id).sort());
    const guidsIn = (items: Record<string, unknown>[]) => new Set(items.map(({ guid, new_guid: now }) => now ?? guid));
    await forEach(clocks, async ([, id = '', clock]) => {
      const there = await deviceOf({ id }, 1);
      expect(await listed(there, 'episodes', clock)).toEqual(await listed(there, 'episodes'));
      const subscriptions = await listed(there, 'subscriptions', clock);
      expect(guidsIn(subscriptions)).toEqual(guidsIn(await listed(there, 'subscriptions')));
    });
  }, 300_000);
});

/** Loads lines of one user into the second system. */
async function loadOf(name: string, lines: readonly object[]) {
  const file = join(folder, name);
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return load(system(1).stack, file);
}

const empty = { end: { subscriptions: 0, episodes: 0 } };
const feed = { subscription: { feed_url: 'https://podnews.net/rss' } };

describe('a clock', () => {
  it('that was ahead is not behind after a load: a stamp that a device holds hides nothing', async () => {
    const user = new RandomUser(freshUser());
    const clock = new Date(Date.now() + 3_600_000).toISOString();
    await loadOf('ahead', [{ user: { id: user.id, clock } }, feed, { end: { subscriptions: 1, episodes: 0 } }]);
    expect(await listed(await deviceOf(user, 1), 'subscriptions', clock)).toHaveLength(1);
  });

  it('of a user who has nothing is taken over as well: what they write next is later', async () => {
    const user = new RandomUser(freshUser());
    const clock = new Date(Date.now() + 3_600_000).toISOString();
    await loadOf('nothing', [{ user: { id: user.id, clock } }, empty]);
    const device = await deviceOf(user, 1);
    await device.send('POST', '/subscriptions', { body: { subscriptions: [feed.subscription] } });
    expect(await listed(device, 'subscriptions', clock)).toHaveLength(1);
  });

  it('is moved a day ahead at most', async () => {
    const user = new RandomUser(freshUser());
    await loadOf('far', [{ user: { id: user.id, clock: '9999-12-31T23:59:59.999Z' } }, empty]);
    const { headers } = await (await deviceOf(user, 1)).send('GET', '/subscriptions');
    expect(Date.parse(headers.get('sync-timestamp') ?? '')).toBeLessThan(Date.now() + 25 * 3_600_000);
  });
});

describe('two episodes of a file that an upload would make one', () => {
  const guid = '9b024349-ccf0-5f69-a609-6b82873eab3c';
  const alike = ['a', 'b'].map((name) => ({
    episode: { podcast_guid: guid, sync_id: randomUUID(), title: name, enclosure_url: 'https://media.example/1.mp3' },
  }));
  const episodesOf = async (clock?: string) => {
    const user = new RandomUser(freshUser());
    const end = { end: { subscriptions: 1, episodes: 2 } };
    await loadOf(`alike ${clock}`, [{ user: { id: user.id, clock } }, feed, ...alike, end]);
    return (await listed(await deviceOf(user, 1), 'episodes')).length;
  };

  it('are one where they come from elsewhere', async () => expect(await episodesOf()).toBe(1));

  it('stay two where a system of this kind has told them apart', async () =>
    expect(await episodesOf('2026-01-01T00:00:00.000Z')).toBe(2));
});

describe('a file without its last line', () => {
  it('is loaded, and said to be without it', async () => {
    const parts = [{ user: { id: freshUser() } }, empty];
    const said = 'does not say that it is complete';
    expect((await loadOf('cut', parts)).stderr).toContain(said);
    expect((await loadOf('whole', [...parts, { complete: { users: 1 } }])).stderr).not.toContain(said);
  });
});
