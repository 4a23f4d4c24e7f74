import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callProgram, LaunchedSystem } from '#testing';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { podcastSync } from '../../apps/cli/src/podcast-sync.js';
import { Person, shownSecret } from './testing/person.js';

/** Words in the data of the user, by what they name. No other text contains them. */
const words = {
  name: 'annabel7f3',
  'password of a feed': 'feedword8c1',
  feed: 'feedpath5d2',
  title: 'episodetitle9e4',
  device: 'phonedevice2b6',
  caption: 'devicecaption4a8',
  setting: 'settingvalue1c9',
};
const feed = `https://ann:${words['password of a feed']}@feeds.example/${words.feed}`;

let root: string;
let system: LaunchedSystem;
let owner: pg.Client;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'erasure-files-'));
  // Postgres' user must reach the folder if root runs the tests.
  chmodSync(root, 0o711);
  system = await LaunchedSystem.start({ data: join(root, 'data') });
  const url = readFileSync(join(root, 'data', 'account-database-url'), 'utf8').trim();
  owner = new pg.Client({ connectionString: url });
  await owner.connect();
});
afterAll(async () => {
  await owner?.end();
  await system?.stop();
  rmSync(root, { recursive: true, force: true });
});

/** Returns the words in files below a folder of the data directory, and in their names. */
function foundIn(folder: string): string[] {
  const files = readdirSync(join(root, 'data', folder), { recursive: true, withFileTypes: true });
  const contents = files
    .filter((file) => file.isFile())
    .map((file) => file.name + readFileSync(join(file.parentPath, file.name), 'latin1'));
  return Object.entries(words)
    .filter(([, word]) => contents.some((content) => content.includes(word)))
    .map(([what]) => what);
}

/** Sends requests with every word by both APIs, some of them refused. */
async function useEverything(appPassword: string): Promise<void> {
  const { name, device, caption, setting, title } = words;
  const basic = `Basic ${Buffer.from(`${name}:${appPassword}`).toString('base64')}`;
  const send = async (method: string, path: string, body?: unknown, authorization = basic) => {
    const { status } = await fetch(system.baseUrl + path, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return status;
  };
  const bearer = `Bearer ${appPassword}`;
  const episode = { podcast: feed, episode: `${feed}/1`, action: 'new', device };
  const own = { feed_url: feed, guid: '8d6ba0a2-6a3e-5a0c-9a9e-6c1d7c6c2c11' };
  const states = { podcast_guid: own.guid, episode_guid: 'one', title };
  expect([
    await send('POST', '/subscriptions', { subscriptions: [own] }, bearer),
    await send('POST', '/episodes', { episodes: [states] }, bearer),
    await send('POST', `/api/2/devices/${name}/${device}.json`, { caption, type: 'mobile' }),
    await send('POST', `/api/2/subscriptions/${name}/${device}.json`, { add: [feed], remove: [] }),
    await send('POST', `/api/2/episodes/${name}.json`, [episode]),
    await send('POST', `/api/2/settings/${name}/account.json`, { set: { word: setting } }),
    await send('GET', `/api/2/devices/${name}.json`),
    await send('GET', `/subscriptions/${encodeURIComponent(feed)}`, undefined, bearer),
    await send('GET', `/feeds/${encodeURIComponent(feed)}`, undefined, bearer),
  ]).toEqual([200, 200, 200, 200, 200, 200, 200, 405, 404]);
}

it('an erased user is in no file of Redis, and no user is in a log', async () => {
  const person = new Person(system.baseUrl);
  const password = 'a sentence that nobody guesses';
  await person.submit(new URL(system.firstLink).pathname, { name: words.name, password });
  await person.submit('/sign-in', { name: words.name, password });
  const form = { label: 'a phone', rights: 'all', expires: 'never' };
  await useEverything(shownSecret(await person.submit('/app-passwords', form)));

  expect(foundIn('redis')).toEqual(expect.arrayContaining(['feed', 'title', 'setting']));
  const { rows } = await owner.query<{ id: string }>('SELECT id FROM account.accounts');
  const args = ['erase', '--user', rows[0]?.id ?? '', '--data', join(root, 'data')];
  const { stdout } = await callProgram(podcastSync, args, {});
  expect(stdout).toBe('1 of 1 users erased.\n');

  expect(foundIn('redis')).toEqual([]);
  expect(foundIn('logs')).toEqual([]);
  expect(readFileSync(join(root, 'data', 'postgres', 'postgres.log'), 'latin1')).not.toMatch(
    new RegExp(Object.values(words).join('|')),
  );
}, 120_000);
