import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { type FeedContext, openFeeds } from '../testing/feed-context.js';
import { DueWork } from './due-work.js';

let context: FeedContext;
beforeAll(async () => {
  context = await openFeeds();
});
afterAll(() => context?.close());
afterEach(() => void vi.useRealTimers());

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
  await previews.requestPreview(url);
  await waiting[1];
  expect(woken).toEqual(['previews']);
  await repository.ensureFeeds([url]);
  await waiting[0];
  expect(woken).toEqual(['previews', 'lanes']);
  end.abort();
  await images;
  expect(woken).toEqual(['previews', 'lanes', 'images']);
});

it('polls soon after a notification, although there was no work for a time', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const idle = [new DueWork(context.database), new DueWork(context.database)] as const;
  vi.advanceTimersByTime(60_000);
  const end = new AbortController();
  const first = Promise.race(
    idle.map((work) => work.wait('previews', end.signal).then(() => work)),
  );
  await context.previews.requestPreview('https://feeds.example/2');
  idle[1].notify();
  expect(await first).toBe(idle[1]);
  end.abort();
});
