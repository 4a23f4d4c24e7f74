// How long a large deletion and a large merge hold the user's clock, and what others notice of it: `npm run bench:deletion`.
// Real processes on a Postgres of their own, driven over HTTP. Sizes may be named: `npm run bench:deletion -- 1000 10000`.
import { randomUUID } from 'node:crypto';
import { loadSubscription } from './listener.mjs';
import { Probes } from './probes.mjs';
import { startSystem } from '../running.system.mjs';

const deletionSizes = process.argv.slice(2).map(Number);
if (deletionSizes.length === 0) deletionSizes.push(1_000, 10_000, 100_000);
const mergeSizes = deletionSizes.map((size) => Math.min(size, 50_000));
const say = (line) => process.stderr.write(`${line}\n`);
const seconds = (milliseconds) => (milliseconds / 1_000).toFixed(3);

/** Deletes a subscription with so many episodes, while everybody works. */
async function deletion(system, episodes) {
  say(`A deletion of ${episodes} episodes: loading ...`);
  const user = await system.user();
  const guid = randomUUID();
  await loadSubscription(system.owner, user, guid, { episodes });
  return measured(system, user, async () => {
    const { deletion_id: id } = await system.call(user, 'DELETE', `/subscriptions/${guid}`, 202);
    for (;;) {
      const { status } = await system.call(user, 'GET', `/deletions/${id}`, 200);
      if (status === 'SUCCESS') return;
      if (status === 'FAILURE') throw new Error(`the deletion of ${episodes} episodes ended in FAILURE`);
    }
  });
}

/** Merges two subscriptions with so many episodes each, half of them the same, while everybody works. */
async function merge(system, episodes) {
  say(`A merge of two times ${episodes} episodes: loading ...`);
  const user = await system.user();
  const [from, into] = [randomUUID(), randomUUID()];
  await loadSubscription(system.owner, user, from, { episodes, first: Math.floor(episodes / 2) });
  await loadSubscription(system.owner, user, into, { episodes });
  return measured(system, user, () => system.call(user, 'PATCH', `/subscriptions/${into}`, 200, { new_guid: from }));
}

/** Runs a change with all probes beside it. A reader must see all that was there before or all that is there after. */
async function measured(system, user, change) {
  const probes = await Probes.start(system, user);
  const begun = performance.now();
  await change();
  const took = performance.now() - begun;
  const { clock, reads, writes, refused, others, totals } = await probes.stop();
  if (totals.size > 2) throw new Error(`a reader saw a part of a change: ${[...totals].join(', ')} episodes`);
  return {
    'until done': seconds(took),
    'clock held': seconds(clock.longest),
    reads: reads.count,
    'slowest read': seconds(reads.longest),
    'slowest write': seconds(writes.longest),
    'writes refused': refused,
    "slowest of another's": seconds(others.longest),
  };
}

const system = await startSystem(say);
try {
  const rows = {};
  // What runs for the first time also connects, plans and compiles.
  await deletion(system, 100);
  for (const size of deletionSizes) rows[`deletion of ${size}`] = await deletion(system, size);
  for (const size of mergeSizes) rows[`merge of 2 x ${size}`] = await merge(system, size);
  console.log('In seconds, with Postgres and all processes on this machine:');
  console.table(rows);
} finally {
  say('Stopping ...');
  await system.stop();
}
