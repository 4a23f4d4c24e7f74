import { describe, expect, it } from 'vitest';
import type { FeedDocument, FeedItem } from '../document/feed-document.js';
import type { ClaimedFeed } from '../feed.repository.js';
import type { Outcome } from './feed-fetch.js';
import { resultOf } from './result.rules.js';

const [hour, day] = [3_600_000, 86_400_000];
const now = Date.parse('2026-01-01T00:00:00Z');

const feed: ClaimedFeed = {
  key: '00',
  url: 'https://a.example/feed',
  status: 'ok',
  etag: '"old"',
  lastModified: null,
  contentSha256: null,
  latest: now - 23 * hour,
  gapSeconds: 86_400,
  isComplete: false,
  failures: 0,
  goneCount: 0,
  failingSince: null,
  declaredGuid: null,
  move: null,
  isVisitDue: false,
};

const document = (items: FeedItem[], more: Partial<FeedDocument> = {}): Outcome => ({
  kind: 'document',
  document: { isWhole: true, isBlocked: false, isComplete: false, title: 'T', items, ...more },
  redirects: [],
  etag: '"new"',
  lastModified: null,
  freshFor: 0,
});

const result = (outcome: Outcome, of: Partial<ClaimedFeed> = {}, stored = '[]', blocks = 0) =>
  resultOf(
    { blocks },
    { ...feed, ...of },
    outcome,
    { now, durationMs: 700, random: () => 0.5 },
    async () => stored,
  );

const guidsOf = (json = '[]') =>
  (JSON.parse(json) as { episode_guid: string }[]).map(({ episode_guid }) => episode_guid);
const item = (guid: string, daysAgo?: number): FeedItem => ({
  guid,
  ...(daysAgo !== undefined && { publishDate: new Date(now - daysAgo * day) }),
});

describe('a document', () => {
  it('replaces content and validators, and ends failures', async () => {
    const failing = {
      failures: 3,
      goneCount: 1,
      failingSince: now - day,
      status: 'failing' as const,
    };
    const saved = await result(document([item('a', 1), item('b', 2), item('c', 3)]), failing);
    expect(saved).toMatchObject({
      etag: '"new"',
      failures: 0,
      goneCount: 0,
      failingSince: null,
      status: 'ok',
      gapSeconds: 86_400,
      lanePauseMs: 1_400,
      content: { title: 'T', latest_publish_date: '2025-12-31T00:00:00.000Z' },
    });
    expect(saved.nextAt).toBe(now + hour);
  });

  it('is no change if all that is stored is equal', async () => {
    const { contentSha256 } = await result(document([item('a', 1)]));
    const again = await result(document([item('a', 1)]), { contentSha256 });
    expect(again).not.toHaveProperty('content');
    expect(await result(document([item('a', 2)]), { contentSha256 })).toHaveProperty('content');
  });

  it('keeps the 100 newest episodes, those without a date last', async () => {
    const items = Array.from({ length: 150 }, (_, n) => item(`${n}`, n));
    const { content } = await result(document([item('none'), ...items.toReversed()]));
    expect(guidsOf(content?.episodes)).toEqual(items.slice(0, 100).map(({ guid }) => guid));
    const few = await result(document([item('none'), item('old', 9), item('new', 1)]));
    expect(guidsOf(few.content?.episodes)).toEqual(['new', 'old', 'none']);
  });

  it('removes episodes only if it is whole', async () => {
    const stored = JSON.stringify([{ episode_guid: 'a' }, { episode_guid: 'b' }]);
    const cut = await result(document([item('a')], { isWhole: false }), {}, stored);
    expect(guidsOf(cut.content?.episodes)).toEqual(['a', 'b']);
    const whole = await result(document([item('a')]), {}, stored);
    expect(guidsOf(whole.content?.episodes)).toEqual(['a']);
  });
});

it('an unchanged document keeps validators and content', async () => {
  const unchanged = { kind: 'unchanged', redirects: [], freshFor: 2 * hour } as const;
  const saved = await result(unchanged, { failures: 2 });
  expect(saved).toMatchObject({ etag: '"old"', failures: 0, gapSeconds: 86_400 });
  expect(saved.nextAt).toBe(now + 2 * hour);
  expect(saved).not.toHaveProperty('content');
});

describe('a failure', () => {
  const failed = (fault: string, retryAfter?: number): Outcome => ({
    kind: 'failed',
    fault,
    retryAfter,
  });

  it('keeps validators and counts', async () => {
    const saved = await result(failed('http_404'), { failures: 1, failingSince: now - 4 * day });
    expect(saved).toMatchObject({ etag: '"old"', failures: 2, failingSince: now - 4 * day });
    expect(saved).toMatchObject({ fault: 'http_404', status: 'failing', laneBlocks: 0 });
    expect(saved.nextAt).toBe(now + hour / 2);
  });

  it('with 429 blocks the lane, longer each time', async () => {
    expect(await result(failed('http_429', 2 * hour))).toMatchObject({ lanePauseMs: 2 * hour });
    const third = await result(failed('http_429'), {}, '[]', 2);
    expect(third).toMatchObject({ lanePauseMs: hour, laneBlocks: 3 });
  });

  it('with 503 delays the feed only', async () => {
    const saved = await result(failed('http_503', 5 * hour));
    expect(saved).toMatchObject({ nextAt: now + 5 * hour, lanePauseMs: 1_400 });
  });

  it('with 410 ends the feed after the third', async () => {
    const since = { failingSince: now - 3 * day };
    expect(await result(failed('http_410'), { ...since, goneCount: 1 })).toMatchObject({
      goneCount: 2,
    });
    const third = await result(failed('http_410'), { ...since, goneCount: 2 });
    expect(third).toMatchObject({ goneCount: 3, status: 'gone' });
    expect(await result(failed('http_404'), { ...since, goneCount: 2 })).toMatchObject({
      goneCount: 0,
    });
  });
});
