import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually, freshUser } from '#testing';
import { type FeedContext, fetched, openFeeds } from '../../testing/feed-context.js';

let context: FeedContext;
beforeAll(async () => {
  context = await openFeeds();
});
afterAll(() => context?.close());

it('keeps stored values that a partly read document lacks', async () => {
  const serve = (body: string) =>
    context.server.on('/cut', (_, response) => response.end(`<rss><channel>${body}`));
  const item = (year: number) =>
    `<item><guid>${year}</guid><pubDate>1 Jan ${year} 00:00:00 GMT</pubDate></item>`;
  const url = serve(`
    <title>Show</title><itunes:author>Ann</itunes:author><description>Text</description>
    <link>https://a.example/</link><language>en</language>
    <itunes:image href="https://a.example/a.png"/>
    <podcast:guid>917393e3-1b1e-5cef-ace4-edaa54e1f810</podcast:guid>
    ${item(2026)}</channel></rss>`);
  await fetched(context, url);
  const read = async () => {
    const { rows } = await context.owner.query<Record<string, unknown>>(`
      SELECT title, author, description, link, language, image_url, declared_guid,
        latest_publish_date, (SELECT count(*)::integer FROM feed.images) AS pictures
      FROM feed.feeds`);
    return rows[0];
  };
  const before = await read();
  expect(Object.values(before ?? {})).not.toContain(null);
  serve(`<title>Renamed</title>${item(2025)}`);
  await context.makeDue();
  await context.fetchDue();
  expect(await read()).toEqual({ ...before, title: 'Renamed' });
  serve(`<title>Renamed</title>${item(2025)}</channel></rss>`);
  await context.makeDue();
  await context.fetchDue();
  expect(await read()).toMatchObject({ author: null, declared_guid: null, pictures: 0 });
});

it('starts the fetches of many due feeds a few at a time', async () => {
  const times: number[] = [];
  const userId = freshUser();
  for (let n = 0; n < 10; n++) {
    const url = context.server.on(`/${n}`, (_, response) => {
      times.push(performance.now());
      response.end('<rss><channel><title>Show</title></channel></rss>');
    });
    await context.follow(userId, url);
  }
  await context.podcasts(userId);
  // A lane for each feed, as if each had a host of its own.
  await context.owner.query(`
    UPDATE feed.fetches SET lane = encode(url_sha256, 'hex');
    INSERT INTO feed.lanes (lane, next_at) SELECT lane, 'epoch' FROM feed.fetches`);
  // Of at most 8 fetches at a time, a claim starts 2.
  const loop = context.openLoop();
  loop.onModuleInit();
  await eventually(() => expect(times).toHaveLength(10));
  await loop.onApplicationShutdown();
  // The first and the last claim are four intervals of 100 ms apart.
  expect((times[9] as number) - (times[0] as number)).toBeGreaterThan(300);
});
