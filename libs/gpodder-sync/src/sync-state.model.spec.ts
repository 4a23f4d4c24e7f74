import { describe, expect, it } from 'vitest';
import { Client, dice, kinds, type Rule, World } from '../testing/gpodder.model.js';
import { answerReader, answerUpload, uploadTimestamp } from './sync-state.rule.js';

const walks = process.env.TEST_FULL ? 10_000 : 300;
/** Repeats one failed walk: TEST_SEED=1234. */
const seed = process.env.TEST_SEED;

const rule: Rule = { answerReader, answerUpload, uploadTimestamp };

/** Adds clients of several apps, some of which share an app password. */
function clientsOf(world: World): void {
  const { roll } = world;
  const count = 1 + roll(4);
  for (let n = 0; n < count; n += 1) {
    const kind = kinds[roll(kinds.length)] as (typeof kinds)[number];
    const credential = roll(4) === 0 ? 0 : n;
    world.clients.push(
      new Client(kind, credential, roll(3) === 0 ? 0 : n, roll(3) === 0 ? roll(400) - 200 : 0),
    );
  }
}

/** Runs one random step. */
function step(world: World, restores: boolean): void {
  const { roll, clients } = world;
  world.tick();
  const client = clients[roll(clients.length)] as Client;
  const one = roll(100);
  if (one < 62) world.step(client);
  else if (one < 74) world.changeLocally(client);
  else if (one < 88) world.changeElsewhere();
  else if (one < 93) world.deliver();
  else if (one < 95) world.end(client);
  else if (one < 96) world.forget();
  else if (restores && one < 98) world.back();
  else if (restores && one < 99) world.restore();
}

/** Runs every client's sync to its end. */
function syncAll(world: World, clients: readonly Client[]): void {
  for (const client of clients) {
    world.step(client);
    for (let steps = 0; client.running; steps += 1) {
      if (steps > 2_000) throw new Error('a sync does not end');
      world.step(client);
      world.tick(100);
    }
  }
}

/** Returns true if a client must miss nothing: it has no own clock, or its own app password. */
const isPromised = (world: World, client: Client) =>
  !client.hasOwnClock ||
  world.clients.every((other) => other === client || other.credential !== client.credential);

/** Compares clients with the server. @throws Error if a client lacks a change. */
function compare(world: World): void {
  for (const client of world.clients.filter((each) => isPromised(world, each)))
    for (const list of ['subscriptions', 'episodes'] as const)
      for (const [item, has] of client.has[list].entries()) {
        const { value } = world.row(list, item);
        // Only clients still have writes between a backup and its restoration.
        const isLost =
          list === 'subscriptions' ? world.isRestored(item) : world.restored && has > value;
        if (has === value || isLost) continue;
        throw new Error(
          `${client.kind} missed a change of ${list}: it has ${has} and not ${value}`,
        );
      }
}

/**
 * Runs a walk, syncs without faults, compares.
 *
 * @throws Error for a missed change or endless sync.
 */
function walk(world: World): void {
  clientsOf(world);
  const restores = world.roll(4) === 0;
  for (let steps = 30 + world.roll(200); steps > 0; steps -= 1) step(world, restores);
  world.faulty = false;
  for (let rounds = 0; rounds < 7; rounds += 1) {
    world.now += 10_000;
    syncAll(world, world.clients);
  }
  compare(world);
  const polling = world.clients.filter(
    (client) =>
      !client.hasOwnClock &&
      client.kind !== 'ma' &&
      world.clients.every((other) => other === client || other.credential !== client.credential),
  );
  world.answered = world.moved = 0;
  syncAll(world, polling);
  if (world.answered > 0 || world.moved > 0)
    throw new Error('polls with nothing new do not come to rest');
}

/** Returns the seed and the error of the first failing walk, undefined if none fails. */
function failing(of: Rule, count: number): { seed: number; message: string } | undefined {
  const from = seed === undefined ? 1 : Number(seed);
  for (let tried = from; tried < from + (seed === undefined ? count : 1); tried += 1)
    try {
      walk(new World(of, dice(tried)));
    } catch (error) {
      return { seed: tried, message: (error as Error).message };
    }
  return undefined;
}

describe('clients of every app, whatever is lost, repeated, restored or in between', () => {
  it(`miss no change, and their syncs end: ${walks} walks`, { timeout: 300_000 }, () => {
    expect(failing(rule, walks)).toBeUndefined();
  });
});

/** Faulty rules, each of which a walk must detect. */
const faults: Record<string, Rule> = {
  'a reader is known by what it was told last alone': {
    ...rule,
    answerReader: (found, read) => {
      const { answer, after } = answerReader(found, read);
      const last = found.reader?.told ?? 0;
      return { answer: { ...answer, since: Math.min(read.since, last), unchanged: false }, after };
    },
  },
  'the answer to an upload is the clock': {
    ...rule,
    answerUpload: (found, before) => ({
      ...answerUpload(found, before),
      timestamp: Math.ceil(found.clock.stamp / 1_000),
    }),
  },
  'telling does not move the clock': {
    ...rule,
    answerReader: (found, read) => {
      const { answer, after } = answerReader(found, read);
      return { answer, after: { ...after, clock: { ...after.clock, stamp: found.clock.stamp } } };
    },
  },
  'what a session has is kept by device': { ...rule, sessionsAreDevices: true },
  'since is echoed where nothing is new': {
    ...rule,
    answerReader: (found, read) => {
      const { answer, after } = answerReader(found, read);
      if (!answer.unchanged || !after.reader) return { answer, after };
      const timestamp = Math.max(read.since, answer.timestamp);
      return {
        answer: { ...answer, timestamp },
        after: { ...after, reader: { ...after.reader, told: timestamp } },
      };
    },
  },
  'a read that comes twice is told twice': {
    ...rule,
    answerReader: (found, read) => {
      const { reader } = found;
      return answerReader(
        { ...found, reader: reader && { ...reader, arrived: 0 } },
        { ...read, age: 0 },
      );
    },
  },
};

describe('a rule with a fault is found out', () => {
  it.each(Object.entries(faults))('%s', { timeout: 300_000 }, (_name, faulty) => {
    const found = failing(faulty, 10_000);
    expect(found?.message).toMatch(/missed a change|do not come to rest|does not end/);
  });
});
