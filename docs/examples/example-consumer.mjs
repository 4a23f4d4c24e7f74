// A service that follows the changes of all users (docs/reference/events.md). It prints the lists
// that it would read again.
//   REDIS_URL=redis://127.0.0.1:6379 node docs/examples/example-consumer.mjs search one
// `search` is the group of this service, `one` is this process in it. Keep the name over restarts.
import { Redis } from 'ioredis';

const [group, consumer] = process.argv.slice(2);
const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379', {
  maxRetriesPerRequest: null,
});

/** The last stamp read of each user. A real service stores it together with the data. */
const readUpTo = new Map();

async function readAgain({ user, kinds, stamp }) {
  // Events can be delivered again.
  if (!kinds.includes('deletions') && stamp <= (readUpTo.get(`${user} ${kinds}`) ?? '')) return;
  // Here: GET /subscriptions?since=… or /episodes?since=… of this user, by kind.
  console.log(`${user} ${kinds} ${stamp}`);
  readUpTo.set(`${user} ${kinds}`, stamp);
}

await redis.xgroup('CREATE', 'events', group, '0', 'MKSTREAM').catch(({ message }) => {
  if (!message.startsWith('BUSYGROUP')) throw new Error(message);
});
// First the entries that were delivered but not acknowledged, then new ones.
for (let from = '0'; ;) {
  const answer = await redis.xreadgroup(
    'GROUP',
    group,
    consumer,
    'COUNT',
    100,
    'BLOCK',
    5_000,
    'STREAMS',
    'events',
    from,
  );
  const entries = answer?.[0]?.[1] ?? [];
  for (const [id, fields] of entries) {
    // The stream has dropped the entry: read all users again.
    if (fields === null) throw new Error('events were lost to the length of the stream');
    const [user, kinds, stamp] = ['user', 'kinds', 'stamp'].map(
      (name) => fields[fields.indexOf(name) + 1],
    );
    await readAgain({ user, kinds, stamp });
    await redis.xack('events', group, id);
  }
  if (entries.length === 0) from = '>';
}
