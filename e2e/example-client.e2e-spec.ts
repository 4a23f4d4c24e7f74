import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { baseUrl, token } from './stack.js';

interface Device {
  waiting: { path: string; body: object; key: string }[];
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

const fileOf = (device: string) => join(folder, `${device}.json`);
const dataOf = (device: string) => JSON.parse(readFileSync(fileOf(device), 'utf8')) as Device;

/** Runs a command of the client in docs/, and returns what it prints. */
async function print(api: string, device: string, ...args: string[]) {
  const command = ['docs/examples/example-client.mjs', fileOf(device), ...args];
  const env = { PATH: process.env['PATH'], API: api, TOKEN: credential };
  return promisify(execFile)('node', command, { env });
}

/** Runs a command of the client, and returns the data of the device. */
async function run(device: string, ...args: string[]): Promise<Device> {
  await print(baseUrl, device, ...args);
  return dataOf(device);
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
  await run('phone', 'play', podcast, 'ep-1', '90');
  await run('laptop', 'play', podcast, 'ep-1', '120');
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

it('the example client creates an episode by identifiers that it prints', async () => {
  await run('radio', 'subscribe', 'https://example.com/radio.xml');
  const { stdout: lists } = await print(baseUrl, 'radio', 'sync');
  const guid = /^(\S+) https:\/\/example\.com\/radio\.xml/m.exec(lists)?.[1] as string;
  await run('radio', 'play', guid, 'new', '15');
  await run('radio', 'sync');
  expect((await print(baseUrl, 'radio', 'list')).stdout).toContain('\n  new: 15 s\n');
});

it('the example client drops rejected changes and keeps all behind a wrong address', async () => {
  const invalid = { path: '/subscriptions', body: {}, key: crypto.randomUUID() };
  const device = { waiting: [invalid], since: {}, subscriptions: {}, episodes: {} };
  writeFileSync(fileOf('car'), JSON.stringify(device));
  await run('car', 'subscribe', 'https://example.com/car.xml');
  await expect(print(`${baseUrl}/wrong`, 'car', 'sync')).rejects.toMatchObject({
    stderr: expect.stringContaining(`${baseUrl}/wrong/subscriptions: 404 Resource not found`),
  });
  expect(dataOf('car').waiting).toHaveLength(2);

  const { stdout, stderr } = await print(baseUrl, 'car', 'sync');
  expect(stderr).toContain("code: '405'");
  expect(stdout).toContain('https://example.com/car.xml');
  expect(dataOf('car').waiting).toEqual([]);
});
