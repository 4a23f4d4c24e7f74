import { type ChildProcess, spawn } from 'node:child_process';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AppStack, type Device, eventually, repository } from '#testing';

let stack: AppStack;
let device: Device;
const consumers: ChildProcess[] = [];

beforeAll(async () => {
  stack = await AppStack.open({ environment: { EVENTS: 'on' } });
  const [gateway] = await stack.start(['gateway', 'subscription', 'deletion-worker']);
  device = await stack.device(gateway!);
});
afterAll(async () => {
  for (const consumer of consumers) consumer.kill();
  await stack.close();
});

/** Starts the consumer in docs/. @returns the lines that it prints. */
function follow(): string[] {
  const env = { PATH: process.env['PATH'], REDIS_URL: stack.redis.url };
  const consumer = spawn('node', ['docs/example.consumer.mjs', 'search', 'one'], { cwd: repository, env });
  consumers.push(consumer);
  const lines: string[] = [];
  consumer.stdout.on('data', (text: Buffer) => lines.push(...text.toString().trim().split('\n')));
  return lines;
}

/** Subscribes to a feed. @returns the `Sync-Timestamp` from which on it can be read. */
async function subscribe(feed: string): Promise<string> {
  const body = { subscriptions: [{ feed_url: `https://feeds.example/${feed}` }] };
  expect((await device.send('POST', '/subscriptions', { body })).status).toBe(200);
  return (await device.send('GET', '/subscriptions')).headers.get('sync-timestamp') ?? '';
}

it('the example consumer hears of each change once, and after a restart of what came meanwhile', async () => {
  const first = await subscribe('one');
  const lines = follow();
  await eventually(() => expect(lines).toEqual([`${device.user} subscriptions ${first}`]));
  const second = await subscribe('two');
  await eventually(() => expect(lines).toEqual([lines[0], `${device.user} subscriptions ${second}`]));
  consumers[0]?.kill('SIGKILL');
  const third = await subscribe('three');
  const later = follow();
  await eventually(() => expect(later.at(-1)).toBe(`${device.user} subscriptions ${third}`));
});
