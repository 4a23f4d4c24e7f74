import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually, freshUser } from '#testing';
import { type FeedContext, openFeeds } from '../../testing/feed-context.js';

let context: FeedContext;
beforeAll(async () => {
  context = await openFeeds();
});
afterAll(() => context?.close());

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
