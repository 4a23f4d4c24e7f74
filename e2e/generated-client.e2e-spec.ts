import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@hey-api/openapi-ts';
import { afterAll, expect, test } from 'vitest';
import { errorBody, send } from './http.js';
import { newGuid } from './samples.js';
import { baseUrl, token } from './stack.js';

// A client that is generated from the description (docs/guide/write-an-app.md) works.

const folder = mkdtempSync(join(tmpdir(), 'generated-client-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The used part of the generated code; its names come from the description. */
interface Generated {
  client: { setConfig(config: object): void };
  calls: Record<string, (options: object) => Promise<{ data?: unknown; error?: unknown }>>;
}

async function generated(): Promise<Generated> {
  const description = join(folder, 'openapi.json');
  writeFileSync(description, (await send('GET', '/openapi.json')).text);
  const output = join(folder, 'client');
  await createClient({
    input: description,
    output: { path: output, header: [] },
    plugins: ['@hey-api/typescript', '@hey-api/client-fetch', '@hey-api/sdk'],
    logs: { level: 'silent', file: false },
  });
  const { client } = (await import(join(output, 'client.gen.ts'))) as Pick<Generated, 'client'>;
  return { client, calls: (await import(join(output, 'sdk.gen.ts'))) as Generated['calls'] };
}

test('a generated client makes a round trip', async () => {
  const { client, calls } = await generated();
  client.setConfig({ baseUrl, auth: await token() });
  const called = async (name: string, options: object = {}) => {
    const { data, error } = (await calls[name]?.(options)) ?? {};
    expect({ name, error }).toEqual({ name, error: undefined });
    return data;
  };
  const podcast = '9b024349-ccf0-5f69-a609-6b82873eab3c';
  const path = { guid: podcast };
  const subscribed = await called('subscriptionSubscribe', {
    body: { subscriptions: [{ feed_url: 'https://podnews.net/rss' }] },
  });
  expect(subscribed).toMatchObject({ success: [{ guid: podcast }], failure: [] });
  const playback_position = { value: 90, timestamp: '2026-01-01T00:00' };
  const episodes = [{ podcast_guid: podcast, episode_guid: 'one', playback_position }];
  expect(await called('episodeUpload', { body: { episodes } })).toMatchObject({
    success: episodes,
  });
  expect(await called('episodeList', { query: { per_page: 1 } })).toMatchObject({
    total: 1,
    episodes,
  });
  expect(
    await called('subscriptionUpdate', { path, body: { is_subscribed: false } }),
  ).toMatchObject({
    is_subscribed: false,
  });
  const deletion = await called('subscriptionDelete', { path });
  const { deletion_id: id } = deletion as { deletion_id: number };
  expect(await called('deletionRead', { path: { id } })).toMatchObject({ deletion_id: id });
  const missing = await calls['subscriptionGet']?.({ path: { guid: newGuid() } });
  expect(missing?.error).toEqual(errorBody(404));
});
