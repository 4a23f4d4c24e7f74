import { expect, it } from 'vitest';
import { createApi } from './api.js';
import { Push } from './push.js';
import { memoryStore, type Value } from './store.js';

it('sends from a store with more changes than a call has arguments', async () => {
  const records = new Map<string, Value>();
  for (let n = 0; n < 150_000; n++) {
    const change = { podcast_guid: 'p', metadata: { sync_id: `${n}` }, states: {} };
    records.set(`change/episode/p/${n}`, change);
  }
  const sent: string[] = [];
  const fetch: typeof globalThis.fetch = (url) => {
    sent.push(String(url));
    return Promise.reject(new TypeError('unreachable'));
  };
  const api = createApi({ baseUrl: 'http://api', token: () => '', fetch, retries: 0 });
  const push = new Push(api, memoryStore(records), Date.now, undefined, () => {});
  await expect(push.sendPending()).rejects.toMatchObject({ code: 'network' });
  expect(sent).toEqual(['http://api/episodes']);
});
