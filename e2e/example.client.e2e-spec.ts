import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { baseUrl, token } from './stack.js';

interface Device {
  waiting: unknown[];
  subscriptions: Record<string, { feed_url: string; is_subscribed: boolean }>;
  episodes: Record<string, { podcast_guid: string; playback_position: { value: number } }>;
}

const podcast = '9b024349-ccf0-5f69-a609-6b82873eab3c';
const episode = '5c1f0a4e-6c0f-4d5e-9b6e-2f1f8c3f7a10';
const folder = mkdtempSync(join(tmpdir(), 'example-client-'));
let credential: string;

beforeAll(async () => {
  credential = await token();
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a command of the client in docs/, and returns the data of the device. */
async function run(device: string, ...args: string[]): Promise<Device> {
  const file = join(folder, `${device}.json`);
  const environment = { PATH: process.env['PATH'], API: baseUrl, TOKEN: credential };
  await promisify(execFile)('node', ['docs/examples/example.client.mjs', file, ...args], {
    env: environment,
  });
  return JSON.parse(readFileSync(file, 'utf8')) as Device;
}

async function send(method: string, path: string, body?: object): Promise<void> {
  const headers = { authorization: `Bearer ${credential}`, 'content-type': 'application/json' };
  const answer = await fetch(`${baseUrl}${path}`, {
    method,
    headers,
    body: body && JSON.stringify(body),
  });
  expect(answer.ok).toBe(true);
}

it('the example client works offline, and synced devices have equal data', async () => {
  await run('phone', 'subscribe', 'https://podnews.net/rss');
  expect(await run('phone', 'sync')).toMatchObject({
    waiting: [],
    subscriptions: { [podcast]: { is_subscribed: true } },
  });
  const metadata = { episode_guid: 'ep-1', title: 'One', publish_date: '2023-02-23T14:00:00Z' };
  const urls = { enclosure_url: 'https://podnews.net/1.mp3', episode_url: 'https://podnews.net/1' };
  await send('POST', '/episodes', {
    episodes: [{ podcast_guid: podcast, sync_id: episode, ...metadata, ...urls }],
  });
  await run('laptop', 'sync');
  await run('phone', 'play', podcast, episode, '90');
  await run('laptop', 'play', podcast, episode, '120');
  // The change of the phone is older, and is sent later.
  await run('laptop', 'sync');
  const { waiting: _sent, ...phone } = await run('phone', 'sync');
  expect(phone.episodes[episode]?.playback_position.value).toBe(120);
  expect(await run('laptop', 'sync')).toMatchObject({
    subscriptions: phone.subscriptions,
    episodes: phone.episodes,
  });

  const newGuid = crypto.randomUUID();
  await send('PATCH', `/subscriptions/${podcast}`, { new_guid: newGuid });
  await run('phone', 'subscribe', 'https://example.com/other.xml');
  const renamed = await run('phone', 'sync');
  expect(Object.keys(renamed.subscriptions)).not.toContain(podcast);
  expect(renamed.episodes[episode]?.podcast_guid).toBe(newGuid);
  expect((await run('tablet', 'sync')).subscriptions).toEqual(renamed.subscriptions);

  const merged = { podcast_guid: newGuid, episode_guid: 'ep-2' };
  await send('POST', '/episodes', { episodes: [merged] });
  expect(Object.keys((await run('phone', 'sync')).episodes)).toHaveLength(2);
  await send('POST', '/episodes', { episodes: [{ ...merged, sync_id: episode }] });
  expect(Object.keys((await run('phone', 'sync')).episodes)).toEqual([episode]);
});
