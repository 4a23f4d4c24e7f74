import { expect, it } from 'vitest';
import { createApi } from './api.js';
import { podcastGuid } from './podcast-guid.js';
import { memoryStore, type Value } from './store.js';
import { SyncClient } from './sync-client.js';

const feed = 'https://a.example/feed';
const api = createApi({ baseUrl: 'http://127.0.0.1:9', token: () => '' });

it.each([
  ['not-a-uuid', podcastGuid(feed), false],
  ['', podcastGuid(feed), false],
  ['9b024349-ccf0-5f69-a609-6b82873eab3c0', podcastGuid(feed), false],
  [' 9B024349-CCF0-5F69-A609-6B82873EAB3C\n', '9b024349-ccf0-5f69-a609-6b82873eab3c', true],
])('subscribes with the guid that a feed declares if it is a UUID: %j', async (...row) => {
  const [declared, guid, isDeclared] = row;
  const store = memoryStore();
  const client = new SyncClient({ api, store });
  expect(await client.subscribe(feed, { guid: declared })).toBe(guid);
  expect(await store.list('change/subscription/')).toMatchObject([
    [`change/subscription/${guid}`, { actions: [{ isDeclared }] }],
  ]);
});

it('merges thousands of unsent changes with the stored episodes in linear time', async () => {
  const count = 6_000;
  const fields = (n: number) => ({ podcast_guid: 'p', enclosure_url: `https://cdn.example/${n}` });
  const position = { value: 7, at: 1, offset: 0, after: 0 };
  const records = new Map<string, Value>();
  for (let n = 0; n < count; n++) {
    records.set(`episode/p/${n}`, { ...fields(n), sync_id: `${n}`, episode_guid: '' });
    const metadata = { ...fields(n), sync_id: `unsent-${n}` };
    const change = { podcast_guid: 'p', metadata, states: { playback_position: position } };
    records.set(`change/episode/p/unsent-${n}`, change);
  }
  const client = new SyncClient({ api, store: memoryStore(records) });
  const started = performance.now();
  const episodes = await client.episodes();
  // With a search through all episodes for each change it takes many times as long.
  expect(performance.now() - started).toBeLessThan(6_000);
  expect(episodes).toHaveLength(count);
  expect(episodes.every((row) => row.pending && row.playback_position?.value === 7)).toBe(true);
});
