import { setTimeout as delay } from 'node:timers/promises';
import type { Device } from '#testing';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { floodedConnections, type Outcome, problems, table } from './attack-table.js';
import { AttackedSystem } from './attacked-system.js';
import { Attacker } from './attacker.js';
import { BareServer } from './bare-server.js';
import { bodyAttacks } from './body-attacks.js';
import { connectionAttacks } from './connection-attacks.js';
import { gpodderAttacks } from './gpodder-attacks.js';
import { headAttacks } from './head-attacks.js';
import { loadAttacks } from './load-attacks.js';
import { Neighbour, type Polls } from './neighbour.js';
import { opmlAttacks } from './opml-attacks.js';
import { Proxy } from './proxy.js';
import { streamAttacks } from './stream-attacks.js';

const attacks = [
  ...bodyAttacks,
  ...headAttacks,
  ...connectionAttacks,
  ...loadAttacks,
  ...opmlAttacks,
  ...streamAttacks,
  ...gpodderAttacks,
];
/** Selects attacks by a part of their names. */
const only = new RegExp(process.env.ATTACK ?? '');

/** Durations of polls: alone, during an attack, and after it. A p99 needs a hundred polls. */
const [idleMs, leastMs, afterMs] = [5_000, 2_100, 300];

describe.runIf(process.platform === 'linux')(
  'a neighbour polls on, and no process stands still or grows beyond its container',
  { timeout: 120_000 },
  () => {
    const outcomes: Outcome[] = [];
    let system: AttackedSystem;
    let neighbour: Neighbour;
    let quiet: Device;
    let idle: Polls;
    let flooded: Polls;

    beforeAll(async () => {
      [system, neighbour] = [await AttackedSystem.open(), new Neighbour()];
      quiet = await somebody(system);
      await neighbour.beside(quiet, system.baseUrl, () => delay(idleMs));
      idle = await neighbour.beside(quiet, system.baseUrl, () => delay(idleMs));
      flooded = await floodBareServer(neighbour, quiet);
    }, 120_000);

    afterAll(async () => {
      if (idle) console.log(table(outcomes, { idle, flooded }));
      neighbour?.close();
      await system?.close();
    });

    const chosen = attacks
      .filter(({ name }) => only.test(name))
      .map((attack) => [attack.name, attack] as const);
    // Retried once because of noise on shared machines. The table shows both results.
    it.each(chosen)('%s', { retry: 1 }, async (_name, attack) => {
      await system.complete();
      // A public gateway has a proxy in front that limits connections.
      const proxy = connectionAttacks.includes(attack)
        ? await Proxy.open(system.port, inject('servers').programs)
        : undefined;
      const port = proxy?.port ?? system.port;
      const attacker = gpodderAttacks.includes(attack)
        ? new Attacker(system.gpodderPort, await system.gpodderClient())
        : new Attacker(port, await system.device());
      const run = await attack.prepare(attacker);
      await system.watch();
      const polls = await neighbour.beside(quiet, `http://127.0.0.1:${port}`, async () => {
        await Promise.all([attacker.attack(run), delay(leastMs)]);
        await delay(afterMs);
      });
      const processes = await system.report();
      proxy?.close();
      const outcome = { attack: attack.name, statuses: attacker.statuses, polls, processes };
      outcomes.push(outcome);
      expect(problems(outcome, { idle, flooded }).join('; ')).toBe('');
    });
  },
);

/** Returns the polls of a bare server while many connections send a request at the same time. */
async function floodBareServer(neighbour: Neighbour, quiet: Device): Promise<Polls> {
  const server = await BareServer.open();
  const flood = () => {
    const attacker = new Attacker(server.port, quiet);
    const bytes = attacker.bytes({ target: '/' });
    return attacker.flood(floodedConnections, floodedConnections, () => bytes);
  };
  // The first flood warms the server up.
  await flood();
  const polls = await neighbour.beside(quiet, `http://127.0.0.1:${server.port}`, () =>
    Promise.all([flood(), delay(leastMs)]),
  );
  server.close();
  return polls;
}

/** Creates a user with a page in each list. */
async function somebody(system: AttackedSystem): Promise<Device> {
  const device = await system.device();
  const feeds = Array.from({ length: 20 }, (_, n) => ({ feed_url: `https://feeds.example/${n}` }));
  const { body } = await device.send<{ success: { guid: string }[] }>('POST', '/subscriptions', {
    body: { subscriptions: feeds },
  });
  const episodes = feeds.map((_, n) => ({
    podcast_guid: body.success[n]?.guid,
    episode_guid: `e${n}`,
    title: `${n}`,
  }));
  const { status } = await device.send('POST', '/episodes', { body: { episodes } });
  expect(status).toBe(200);
  return device;
}
