import { expect, it } from 'vitest';
import { createApi } from './api.js';
import { podcastGuid } from './podcast-guid.js';
import { memoryStore } from './store.js';
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
