import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { freshUser } from '#testing';
import { call } from '../../../libs/transport/testing/handler-call.js';
import { sentBody } from '../testing/sent-entry.js';
import { openService, type ServiceContext } from '../testing/service-context.js';

let context: ServiceContext;
let userId: string;
beforeAll(async () => {
  context = await openService();
});
afterAll(() => context.close());
beforeEach(() => {
  userId = freshUser();
});

const subscribe = (feedUrl: string, guid: string) =>
  context.service.subscribe({ userId, body: sentBody([{ feedUrl, guid }]) }, call());

async function listed(kind: 'feed_url' | 'guid') {
  const pages: { name: string; guid: string }[][] = [];
  let after: string | undefined;
  do {
    const page = await context.service.listFormerNames({ userId, kind, ...(after && { after }) });
    pages.push(page.names);
    after = page.next;
  } while (after !== undefined);
  return pages;
}

it('lists former URLs and guids with the current guid, and none of other users', async () => {
  const [before, guid] = [randomUUID(), randomUUID()];
  await subscribe('https://podcast.example/former', before);
  const changes = { newFeedUrl: 'https://podcast.example/current', newGuid: guid };
  await context.service.update({ userId, guid: before, ...changes }, call());
  expect(await listed('feed_url')).toEqual([[{ name: 'https://podcast.example/former', guid }]]);
  const guids = (await listed('guid')).flat();
  expect(guids).toContainEqual({ name: before, guid });
  expect(guids.map(({ name }) => name)).not.toContain(guid);
  userId = freshUser();
  expect([await listed('feed_url'), await listed('guid')]).toEqual([[[]], [[]]]);
});

it('lists former URLs and guids in pages of 250, each once', async () => {
  const guid = randomUUID();
  await subscribe('https://podcast.example/many', guid);
  await context.owner.query(
    `INSERT INTO subscription.guids (user_id, guid, subscription_id, attached)
     SELECT s.user_id, gen_random_uuid(), s.id, now()
     FROM subscription.subscriptions s, generate_series(1, 600) WHERE s.user_id = $1`,
    [userId],
  );
  await context.owner.query(
    `INSERT INTO subscription.feed_urls (user_id, url_sha256, subscription_id, url)
     SELECT s.user_id, sync.sha256(url), s.id, url
     FROM subscription.subscriptions s, generate_series(1, 600) n,
       LATERAL (SELECT 'https://podcast.example/' || n AS url) urls WHERE s.user_id = $1`,
    [userId],
  );
  for (const kind of ['feed_url', 'guid'] as const) {
    const pages = await listed(kind);
    expect(pages.map(({ length }) => length)).toEqual([250, 250, expect.any(Number)]);
    expect(new Set(pages.flat().map(({ name }) => name)).size).toBe(pages.flat().length);
  }
});
