import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { AppStack, eventually, repository } from '#testing';
import { eventsIn } from '../../apps/deletion-worker/testing/event-follower.js';
import { episode, SimulatedUser } from './testing/simulated-user.js';

let stack: AppStack;
let owner: pg.Client;
let redis: Redis;
let user: SimulatedUser;
let newUser: () => Promise<SimulatedUser>;
const consumers: ChildProcess[] = [];

beforeAll(async () => {
  stack = await AppStack.open({ environment: { EVENTS: 'on' } });
  const [gateway] = await stack.start(['gateway', 'subscription', 'episode', 'deletion-worker']);
  newUser = async () => new SimulatedUser(await stack.device(gateway!));
  owner = new pg.Client({ connectionString: stack.postgres.url });
  await owner.connect();
  redis = new Redis(stack.redis.url);
});
afterAll(async () => {
  for (const consumer of consumers) consumer.kill();
  redis.disconnect();
  await owner.end();
  await stack.close();
});
beforeEach(async () => {
  user = await newUser();
});

/** Returns the kinds of the user's events that an action causes. */
async function announcedBy(act: () => Promise<unknown>): Promise<Set<string>> {
  await announced();
  const before = (await eventsIn(redis)).length;
  await act();
  await announced();
  const events = (await eventsIn(redis)).slice(before).filter((event) => event.user === user.id);
  return new Set(events.flatMap(({ kinds }) => kinds.split(',')));
}

/** Resolves when all events of the user are published. */
const announced = () =>
  eventually(async () => {
    const { rows } = await owner.query('SELECT FROM sync.events WHERE user_id = $1', [user.id]);
    expect(rows).toEqual([]);
  });

const feed = () => `https://feeds.example/${randomUUID()}`;

it('subscribing changes subscriptions, an upload episodes, a read nothing', async () => {
  let guid = '';
  expect(await announcedBy(async () => (guid = await user.subscribe()))).toEqual(
    new Set(['subscriptions']),
  );
  const body = { episodes: [episode(guid, 'one')] };
  expect(await announcedBy(() => user.device.send('POST', '/episodes', { body }))).toEqual(
    new Set(['episodes']),
  );
  expect(await announcedBy(() => user.sees(guid))).toEqual(new Set());
});

it('a merge of subscriptions changes episodes if they have some', async () => {
  const [from, into] = [await user.subscribeWithEpisodes(feed()), await user.subscribe(feed())];
  const merge = (guid: string) =>
    user.device.send('PATCH', `/subscriptions/${guid}`, { body: { new_guid: into } });
  expect(await announcedBy(() => merge(from))).toEqual(new Set(['subscriptions', 'episodes']));
});

it('a request to delete changes deletions, and a deletion all that it deletes', async () => {
  const guid = await user.subscribeWithEpisodes();
  const all = async () => user.ends(await user.delete(guid), 'SUCCESS');
  expect(await announcedBy(all)).toEqual(new Set(['subscriptions', 'episodes', 'deletions']));
  const bare = await user.subscribe();
  const deletion = async () => user.ends(await user.delete(bare), 'SUCCESS');
  expect(await announcedBy(deletion)).toEqual(new Set(['subscriptions', 'deletions']));
});

it('a deletion that ends in FAILURE changes deletions without a new stamp', async () => {
  const guid = await user.subscribe();
  await owner.query(`
    CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock_shared(1); RAISE EXCEPTION 'never'; END $$;
    CREATE TRIGGER refuse BEFORE UPDATE ON subscription.subscriptions FOR EACH ROW
      WHEN (NEW.deleted IS NOT NULL AND NEW.user_id = '${user.id}')
      EXECUTE FUNCTION public.refuse();
    SELECT pg_advisory_lock(1)`);
  let deletion = 0;
  expect(await announcedBy(async () => (deletion = await user.delete(guid)))).toEqual(
    new Set(['deletions']),
  );
  const fails = async () => {
    await owner.query('SELECT pg_advisory_unlock(1)');
    await user.ends(deletion, 'FAILURE');
  };
  expect(await announcedBy(fails)).toEqual(new Set(['deletions']));
  const stamps = (await eventsIn(redis))
    .filter((event) => event.user === user.id)
    .map(({ stamp }) => stamp);
  expect(stamps.at(-1)).toBe(stamps.at(-2));
});

/** Starts the consumer in docs/. @returns the lines that it prints about the user. */
function follow(): string[] {
  const env = { PATH: process.env['PATH'], REDIS_URL: stack.redis.url };
  const consumer = spawn(
    process.execPath,
    ['docs/examples/example-consumer.mjs', 'search', 'one'],
    {
      cwd: repository,
      env,
    },
  );
  consumers.push(consumer);
  const lines: string[] = [];
  createInterface({ input: consumer.stdout }).on('line', (line) => {
    if (line.startsWith(user.id)) lines.push(line);
  });
  return lines;
}

it('the example consumer prints each change once, also those during a restart', async () => {
  /** Subscribes. @returns the line that is to be printed. */
  const subscribe = async () => {
    await user.subscribe();
    const { headers } = await user.device.send('GET', '/subscriptions');
    return `${user.id} subscriptions ${headers.get('sync-timestamp')}`;
  };
  const first = await subscribe();
  const lines = follow();
  await eventually(() => expect(lines).toEqual([first]));
  const second = await subscribe();
  await eventually(() => expect(lines).toEqual([first, second]));
  consumers[0]?.kill('SIGKILL');
  const third = await subscribe();
  const later = follow();
  await eventually(() => expect(later.at(-1)).toBe(third));
});
