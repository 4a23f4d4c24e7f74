import { afterAll, beforeAll, expect, it } from 'vitest';
import { type FeedContext, openFeeds } from '../testing/feed.context.js';

let context: FeedContext;
beforeAll(async () => {
  context = await openFeeds();
});
afterAll(() => context?.close());

it('wakes up the loops that have work, in the order in which it arrives', async () => {
  const { work, previews, repository } = context;
  const end = new AbortController();
  const woken: string[] = [];
  const wait = async (kind: Parameters<typeof work.wait>[0]) => {
    await work.wait(kind, end.signal);
    woken.push(kind);
  };
  const images = wait('images');
  const waiting = [wait('lanes'), wait('previews')];
  const url = 'https://feeds.example/1';
  await previews.request(url);
  await waiting[1];
  expect(woken).toEqual(['previews']);
  await repository.ensureFeeds([url]);
  await waiting[0];
  expect(woken).toEqual(['previews', 'lanes']);
  end.abort();
  await images;
  expect(woken).toEqual(['previews', 'lanes', 'images']);
});
