import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createApi, ApiError } from '#client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from './eventually.js';
import { newGuid } from './samples.js';
import { baseUrl, token } from './stack.js';

// The low-level client of the SDK against the system.

async function fresh(options: Partial<Parameters<typeof createApi>[0]> = {}) {
  const credential = await token();
  return createApi({ baseUrl, token: () => credential, ...options });
}

const codeOf = async (call: Promise<unknown>) => {
  const error: unknown = await call.catch((failure: unknown) => failure);
  return error instanceof ApiError ? error.code : error;
};

describe('the SDK has every operation', () => {
  test('of subscriptions and deletions', async () => {
    const api = await fresh();
    const { success, failure } = await api.addSubscriptions([
      { feed_url: 'https://podnews.net/rss' },
      { feed_url: 'nothing' },
    ]);
    expect([success.map((entry) => entry.guid), failure.map((entry) => entry.code)]).toEqual([
      ['9b024349-ccf0-5f69-a609-6b82873eab3c'],
      ['invalid_url'],
    ]);
    const guid = success[0]?.guid ?? '';
    expect(await api.updateSubscription(guid, { is_subscribed: false })).toMatchObject({
      is_subscribed: false,
    });
    expect(await api.getSubscription(guid)).toMatchObject({ guid, is_subscribed: false });
    const page = await api.listSubscriptions();
    expect(page).toMatchObject({ total: 1, page: 1, perPage: 50, subscriptions: [{ guid }] });
    expect(await api.listSubscriptions({}, { ifNoneMatch: page.etag ?? '' })).toEqual({
      notModified: true,
      syncTimestamp: page.syncTimestamp,
    });
    const { deletion_id } = await api.deleteSubscription(guid);
    await eventually(async () =>
      expect(await api.getDeletion(deletion_id)).toMatchObject({ status: 'SUCCESS' }),
    );
    expect(await codeOf(api.getSubscription(guid))).toBe('deleted');
    expect(await codeOf(api.getSubscription(newGuid()))).toBe('not_found');
    expect(await codeOf(api.updateSubscription(guid, {}))).toBe('invalid');
  });

  test('of capabilities, which need no token', async () => {
    const offered = await (await fresh({ token: () => 'none' })).capabilities();
    expect(offered['urn:opa:core']).toEqual({ '0.1.0': { status: 'UNSTABLE', root: '/v1' } });
    expect(Object.keys(offered)).toContain('urn:podcast-sync:polling');
  });

  test('of a server without the addition for polling, which is refused by its name', async () => {
    const draft = async () => Response.json({ total: 0, page: 1, per_page: 50 });
    await expect((await fresh({ fetch: draft })).listSubscriptions()).rejects.toMatchObject({
      code: 'unexpected',
      message: 'The server does not support urn:podcast-sync:polling',
    });
  });

  test('of OPML: one user imports the export of another', async () => {
    const [api, other] = [await fresh(), await fresh()];
    const feeds = ['https://a.example/feed?a=1&b=2', 'https://b.example/"feed"'];
    await api.addSubscriptions(feeds.map((feed_url) => ({ feed_url })));
    const { success, failure } = await other.importOpml(await api.exportOpml());
    expect([success.map((entry) => entry.feed_url), failure]).toEqual([feeds, []]);
    expect(await codeOf(other.importOpml('<opml>'))).toBe('invalid');
  });

  test('of episodes, with lists that follow links', async () => {
    const api = await fresh();
    const { success } = await api.addSubscriptions([{ feed_url: 'https://a.example/feed' }]);
    const podcast_guid = success[0]?.guid ?? '';
    const episodes = Array.from({ length: 5 }, (_, n) => ({
      podcast_guid,
      episode_guid: `e${n}`,
      title: `${n}`,
    }));
    const uploaded = await api.uploadEpisodes([
      ...episodes,
      { podcast_guid: newGuid(), episode_guid: 'x' },
    ]);
    expect(uploaded.success).toHaveLength(5);
    expect(uploaded.failure).toMatchObject([{ code: 'unknown_subscription' }]);
    const pages = [];
    for await (const page of api.episodes({ perPage: 2 })) pages.push(page);
    expect(pages.map((page) => page.episodes.map((episode) => episode.title))).toEqual([
      ['0', '1'],
      ['2', '3'],
      ['4'],
    ]);
    expect(new Set(pages.map((page) => page.syncTimestamp)).size).toBe(1);
    const since = pages[0]?.syncTimestamp;
    expect(await api.listEpisodes({ since })).toMatchObject({ total: 0, episodes: [] });
    const other = await api.addSubscriptions([{ feed_url: 'https://b.example/feed' }]);
    const otherGuid = other.success[0]?.guid ?? '';
    await api.uploadEpisodes([{ podcast_guid: otherGuid, episode_guid: 'e', title: 'Other' }]);
    const titles = [];
    for await (const page of api.episodes({ podcastGuid: podcast_guid, perPage: 2 })) {
      expect(page.total).toBe(5);
      titles.push(...page.episodes.map(({ title }) => title));
    }
    expect(titles).toEqual(['0', '1', '2', '3', '4']);
    expect(await api.listEpisodes({ podcastGuid: otherGuid, since })).toMatchObject({
      total: 1,
      episodes: [{ title: 'Other' }],
    });
  });
});

/** A proxy applies each fault to one request, and forwards all others. */
describe('on an unreliable network', () => {
  type Fault = 'answer is lost' | 'cut' | 'busy' | 'page' | 'limited for an hour' | 'silent';
  const faults: Fault[] = [];
  let seen: { method: string; key: string | undefined; authorization: string | undefined }[] = [];
  const proxy = createServer(
    (request, response) => void pass(request, response).catch(() => response.destroy()),
  );
  let proxyUrl = '';

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray());
    const { 'idempotency-key': key, authorization = '', 'content-type': type } = request.headers;
    seen.push({ method: request.method ?? '', key: key as string | undefined, authorization });
    const fault = faults.shift();
    if (fault === 'cut') return void response.destroy();
    if (fault === 'silent') return;
    if (fault === 'busy') return void response.writeHead(503, { 'retry-after': '0' }).end();
    if (fault === 'limited for an hour')
      return void response.writeHead(429, { 'retry-after': '3600' }).end();
    if (fault === 'page')
      return void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Sign in');
    const answer = await fetch(`${baseUrl}${request.url}`, {
      method: request.method ?? 'GET',
      headers: {
        authorization,
        ...(type && { 'content-type': type }),
        ...(key && { 'idempotency-key': String(key) }),
      },
      ...(body.length > 0 && { body }),
    });
    const text = await answer.text();
    if (fault === 'answer is lost') return void response.destroy();
    const [kind, stamp] = ['content-type', 'sync-timestamp'].map(
      (name) => answer.headers.get(name) ?? '',
    );
    response
      .writeHead(answer.status, { 'content-type': kind, ...(stamp && { 'sync-timestamp': stamp }) })
      .end(text);
  }

  beforeAll(async () => {
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  });
  afterAll(() => void proxy.close());

  const through = async (options: Partial<Parameters<typeof createApi>[0]>, ...next: Fault[]) => {
    faults.splice(0, Infinity, ...next);
    seen = [];
    return fresh({ baseUrl: proxyUrl, ...options });
  };

  test('a write is repeated with the same key, and takes effect once', async () => {
    const api = await through({}, 'cut', 'answer is lost', 'busy');
    const { success } = await api.addSubscriptions([{ feed_url: 'https://a.example/feed' }]);
    expect(success).toHaveLength(1);
    expect(seen).toHaveLength(4);
    expect(new Set(seen.map(({ key }) => key)).size).toBe(1);
    expect(seen[0]?.key).toMatch(/^[\da-f-]{36}$/);
  });

  test('a permanent fault becomes an error after the last retry', async () => {
    const api = await through({ retries: 1 }, 'cut', 'cut', 'cut');
    expect(await codeOf(api.getSubscription(newGuid()))).toBe('network');
    expect(seen).toHaveLength(2);
  });

  test('a long Retry-After is returned to the caller', async () => {
    const api = await through({}, 'limited for an hour');
    await expect(api.getSubscription(newGuid())).rejects.toMatchObject({
      code: 'too_many',
      retryAfter: 3_600,
    });
    expect(seen).toHaveLength(1);
  });

  test('a page of another server is an error, without a retry', async () => {
    const api = await through({}, 'page');
    expect(await codeOf(api.addSubscriptions([{ feed_url: 'https://a.example/feed' }]))).toBe(
      'unexpected',
    );
    expect(seen).toHaveLength(1);
  });

  test('a missing answer ends with the deadline, and a call with its signal', async () => {
    const api = await through({ timeout: 200, retries: 0 }, 'silent', 'silent');
    expect(await codeOf(api.getSubscription(newGuid()))).toBe('timeout');
    const abort = new AbortController();
    const call = codeOf(api.getSubscription(newGuid(), { signal: abort.signal }));
    abort.abort();
    expect(await call).toBe('aborted');
    expect(await codeOf(api.getSubscription(newGuid(), { signal: AbortSignal.timeout(0) }))).toBe(
      'timeout',
    );
  });

  test('concurrent requests with a rejected token request one new token', async () => {
    const good = await token();
    const asked: (string | undefined)[] = [];
    let current = 'expired';
    const renew = async (context?: { rejected: string }) => {
      if (!context) return current;
      asked.push(context.rejected);
      await new Promise((resolve) => setImmediate(resolve));
      return (current = good);
    };
    const api = await through({ token: renew });
    const totals = await Promise.all(
      Array.from({ length: 5 }, async () => (await api.listSubscriptions()).total),
    );
    expect([totals, asked]).toEqual([[0, 0, 0, 0, 0], ['expired']]);
  });

  test('a token that is rejected again is an error', async () => {
    const api = await through({ token: (context) => (context ? 'second' : 'first') });
    expect(await codeOf(api.listSubscriptions())).toBe('unauthorized');
    expect(seen.map(({ authorization }) => authorization)).toEqual([
      'Bearer first',
      'Bearer second',
    ]);
  });
});

test("a device with a wrong clock learns the difference from the server's answers", async () => {
  const hour = 3_600_000;
  const api = await fresh({ clock: () => Date.now() - hour });
  expect(api.clockOffset).toBe(0);
  await api.listSubscriptions();
  expect(Math.abs(api.clockOffset - hour)).toBeLessThan(2_000);
});
