// A service that follows what changes of all users, as docs/reference/events.md has it. It prints what it would read anew.
//   REDIS_URL=redis://127.0.0.1:6379 node docs/examples/example.consumer.mjs search one
// `search` is the group of this service, `one` this process in it: the same name after a restart.
import { Redis } from 'ioredis';

const [group, consumer] = process.argv.slice(2);
const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379', { maxRetriesPerRequest: null });

/** A real service keeps the stamp it has read up to, of each user, where it keeps what it has read. */
const readUpTo = new Map();

async function readAnew({ user, kinds, stamp }) {
  // What it has read up to there already comes again at times. It does no harm, and there is no need to look.
  if (!kinds.includes('deletions') && stamp <= (readUpTo.get(`${user} ${kinds}`) ?? '')) return;
  // Here: GET /subscriptions?since=… or /episodes?since=… of this user, for the kinds that are known to it.
  console.log(`${user} ${kinds} ${stamp}`);
  readUpTo.set(`${user} ${kinds}`, stamp);
}

await redis.xgroup('CREATE', 'events', group, '0', 'MKSTREAM').catch(({ message }) => {
  if (!message.startsWith('BUSYGROUP')) throw new Error(message);
});
// First what it was given before it ended and has not acknowledged, then what is new.
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
    // An entry that the stream did not keep for as long: read all users anew.
    if (fields === null) throw new Error('events were lost to the length of the stream');
    const [user, kinds, stamp] = ['user', 'kinds', 'stamp'].map((name) => fields[fields.indexOf(name) + 1]);
    await readAnew({ user, kinds, stamp });
    await redis.xack('events', group, id);
  }
  if (entries.length === 0) from = '>';
}
