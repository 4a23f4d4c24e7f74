import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { repository } from '#testing';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, expect, test } from 'vitest';

// The store for browsers (libs/client/src/indexeddb.ts) in a real browser.

const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

let server: Server;
let context: BrowserContext;
let origin: string;

/** Returns a script that provides the SDK as the global `sdk`. */
async function bundleSdk(): Promise<string> {
  const input = { sdk: 'sdk' };
  const bundle = await rolldown({
    input,
    platform: 'browser',
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === 'sdk' ? id : undefined),
        load: (id) =>
          id === 'sdk'
            ? ['index', 'indexeddb']
                .map(
                  (name) =>
                    `export * from ${JSON.stringify(
                      join(repository, `libs/client/src/${name}.ts`),
                    )};`,
                )
                .join('\n')
            : undefined,
      },
    ],
    // Sources import each other as `.js`.
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  });
  const { output } = await bundle.generate({ format: 'iife', name: 'sdk' });
  await bundle.close();
  return output[0].code;
}

beforeAll(async () => {
  const code = await bundleSdk();
  server = createServer((request, response) => {
    const isScript = request.url === '/sdk.js';
    response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' });
    response.end(isScript ? code : '<!doctype html><script src="/sdk.js"></script>');
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const browser = await chromium.launch({
    executablePath,
    args: ['--headless', '--no-sandbox', '--disable-gpu'],
  });
  context = await browser.newContext();
});
afterAll(async () => {
  await context.browser()?.close();
  server.close();
});

async function openTab(): Promise<Page> {
  const page = await context.newPage();
  await page.goto(origin);
  return page;
}

test('writes all or nothing, lists in the order of keys, and persists', async () => {
  const page = await openTab();
  await page.evaluate(`(async () => {
    const store = await sdk.indexedDbStore('persistent');
    await store.write(new Map([['a/2', { n: 1 }], ['a/10', 'text'], ['b', {}]]));
    await store.write(new Map([['b', undefined]]));
    // A value that cannot be stored aborts the whole write.
    await store.write(new Map([['a/3', 'lost'], ['a/4', () => {}]])).catch(() => {});
  })()`);
  await page.close();
  const rows = await (
    await openTab()
  ).evaluate(`sdk.indexedDbStore('persistent').then(async (store) =>
    [await store.list('a/'), await store.get('a/2'), await store.get('b') ?? null])`);
  expect(rows).toEqual([[['a/10', 'text'], ['a/2', { n: 1 }]], { n: 1 }, null]); // prettier-ignore
});

test('a lock is held by one tab, and passes to another when that tab closes', async () => {
  const [one, two] = [await openTab(), await openTab()];
  await one.evaluate(`(async () => {
    globalThis.store = await sdk.indexedDbStore('shared');
    await new Promise((locked) => {
      void store.withLock('sync', () => new Promise(() => locked()));
    });
  })()`);
  await two.evaluate(`(async () => {
    globalThis.store = await sdk.indexedDbStore('shared');
    globalThis.notified = new Promise((resolve) => store.watch(resolve));
    globalThis.lock = store.withLock('sync', async () => 'acquired');
  })()`);
  await one.evaluate(`store.write(new Map([['a', 'b']]))`);
  await two.evaluate(`notified`);
  expect(await two.evaluate(`Promise.race([lock, store.get('a')])`)).toBe('b');
  await one.close();
  expect(await two.evaluate(`lock`)).toBe('acquired');
});

test('a client stores offline changes, also on a page over plain http', async () => {
  const page = await openTab();
  const client = `sdk.indexedDbStore('client').then((store) => new sdk.SyncClient({ store,
    api: sdk.createApi({ baseUrl: 'http://127.0.0.1:9', token: () => 'none', retries: 0 }) }))`;
  await page.evaluate(`${client}.then(async (client) => {
    const podcast = await client.subscribe('https://podnews.net/rss');
    await client.setPosition(podcast, { episode_guid: 'one' }, 90);
    await client.sync().catch(({ code }) => { if (code !== 'network') throw new Error(code); });
  })`);
  await page.reload();
  const lists = await page.evaluate(
    `${client}.then(async (client) => [await client.subscriptions(), await client.episodes()])`,
  );
  expect(lists).toMatchObject([
    [{ guid: '9b024349-ccf0-5f69-a609-6b82873eab3c', pending: true }],
    [{ playback_position: { value: 90 } }],
  ]);
});
