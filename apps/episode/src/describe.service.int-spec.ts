import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Episode, listActions, uploadActions } from '#contracts';
import { freshUser } from '#testing';
import { call } from '../../../libs/transport/testing/handler-call.js';
import { openService, type ServiceContext } from '../testing/service-context.js';
import { DescribeService } from './describe.service.js';

const feedUrl = 'https://podcast.example/feed';
const item = {
  episode_guid: '1',
  title: 'One',
  publish_date: '2026-01-01T00:00:00.000Z',
  enclosure_url: 'https://media.example/1.mp3',
  episode_url: 'https://podcast.example/1',
  duration: 60,
  seen: '2026-01-02T00:00:00.000Z',
};

let context: ServiceContext;
let describing: DescribeService;
let userId: string;

beforeAll(async () => {
  context = await openService({ FEEDS: 'pushed' });
  describing = new DescribeService(context.database);
});
afterAll(() => context.close());
beforeEach(async () => {
  await context.owner.query('TRUNCATE feed.feeds, feed.fetches, feed.touched CASCADE');
  userId = freshUser();
  await context.feed(userId, feedUrl);
});

/** Stores a feed as the feed service does. */
async function storeFeed(url: string, ...items: object[]): Promise<void> {
  await context.owner.query(
    `INSERT INTO feed.feeds (url_sha256, url, last_read_at, status, episodes)
     VALUES ($1, $2, now(), 'ok', $3)
     ON CONFLICT (url_sha256) DO UPDATE SET episodes = excluded.episodes`,
    [createHash('sha256').update(url).digest(), url, JSON.stringify(items)],
  );
}

async function play(enclosureUrl: string, more: { episodeGuid?: string; feedUrl?: string } = {}) {
  const statuses = { playedStatus: { value: true, at: '2026-01-03T00:00:00Z' } };
  const entries = [{ feedUrl, enclosureUrl, ...more, statuses }];
  const answer = await context.actions.upload({ userId, entries }, call());
  expect(uploadActions.reply.parse(answer).verdicts).toEqual([null]);
}

async function episodes() {
  const answer = await context.actions.list({ userId, perPage: 100 }, call());
  return listActions.reply.parse(answer).episodes;
}

async function touched(): Promise<string[]> {
  const { rows } = await context.owner.query<{ url: string }>('SELECT url FROM feed.touched');
  return rows.map(({ url }) => url);
}

const clock = async () => {
  const { rows } = await context.owner.query<{ stamp: Date }>(
    'SELECT stamp FROM sync.user_clock WHERE user_id = $1',
    [userId],
  );
  return rows[0]?.stamp.getTime() ?? 0;
};
const describeAll = (url = feedUrl) => describing.describe({ userId, feedUrl: url }, call());

describe('a new episode without a title', () => {
  it('gets title, date, URL and duration from the stored feed', async () => {
    await storeFeed(feedUrl, { episode_guid: '0', title: 'None' }, item);
    await play(item.enclosure_url);
    expect(await episodes()).toMatchObject([
      {
        title: 'One',
        publishDate: item.publish_date,
        episodeUrl: item.episode_url,
        enclosureUrl: item.enclosure_url,
        duration: 60,
        statuses: { playedStatus: { value: true } },
      },
    ]);
    expect(await touched()).toEqual([]);
  });

  it.each([
    ['unknown', () => Promise.resolve()],
    [
      'stored without it',
      () => storeFeed(feedUrl, { ...item, enclosure_url: 'https://x.example' }),
    ],
  ])('makes the feed service look for its feed, which is %s', async (_, prepare) => {
    await prepare();
    await play(item.enclosure_url);
    expect(await episodes()).toMatchObject([{ title: '' }]);
    expect(await touched()).toEqual([feedUrl]);
    await play(item.enclosure_url);
    expect(await touched()).toEqual([feedUrl]);
  });

  it('gets no title for a feed that was just added, to hide whether others follow it', async () => {
    const url = 'https://new.example/feed';
    await storeFeed(url, item);
    await context.feed(userId, url);
    await context.owner.query(
      `UPDATE subscription.subscriptions SET changed = now(), subscription_changed = now()
       WHERE user_id = $1 AND feed_url = $2`,
      [userId, url],
    );
    await play(item.enclosure_url, { feedUrl: url });
    expect([(await episodes())[0]?.title, await touched()]).toEqual(['', [url]]);
    // A podcast that is not subscribed gets no titles.
    const other = 'https://other.example/feed';
    await storeFeed(other, item);
    await play(item.enclosure_url, { feedUrl: other });
    expect([(await episodes())[1]?.title, await touched()]).toEqual(['', [url]]);
  });

  it('gets no title from POST /episodes, which reports its feed to the feed service', async () => {
    await storeFeed(feedUrl, item);
    const { rows } = await context.owner.query<{ guid: string }>(
      'SELECT guid FROM subscription.subscriptions WHERE user_id = $1',
      [userId],
    );
    const entry = { podcast_guid: rows[0]?.guid, enclosure_url: item.enclosure_url };
    const body = { episodes: [entry] };
    const answer = (await context.service.upload({ userId, body }, call())).parse();
    expect(answer.success as Episode[]).toMatchObject([{ title: '' }]);
    expect(await touched()).toEqual([feedUrl]);
    expect(await describeAll()).toEqual({ described: 1 });
  });

  it('stays as it is with FEEDS=off', async () => {
    const off = await openService();
    await off.feed(userId, feedUrl);
    const entries = [{ feedUrl, enclosureUrl: item.enclosure_url, statuses: {} }];
    await off.actions.upload({ userId, entries }, call());
    const { rows } = await off.owner.query('SELECT FROM feed.touched');
    expect(rows).toEqual([]);
    await off.close();
  });
});

describe('the titles of a feed that is stored later', () => {
  it('fill in unknown values once, with a new stamp', async () => {
    await play(item.enclosure_url);
    await play('https://media.example/2.mp3', { episodeGuid: '2' });
    await play('https://media.example/3.mp3', { episodeGuid: '3' });
    expect(await describeAll()).toEqual({ described: 0 });
    const before = await clock();
    await storeFeed(feedUrl, item, {
      ...item,
      episode_guid: '2',
      title: 'Two',
      enclosure_url: undefined,
    });
    expect(await describeAll()).toEqual({ described: 2 });
    const after = await clock();
    expect(after).toBeGreaterThan(before);
    expect((await episodes()).map(({ title }) => title)).toEqual(['One', 'Two', '']);
    const since = new Date(before).toISOString();
    const cursor = { from: 'page', page: 1 } as const;
    const page = await context.service.list({ userId, since, perPage: 10, cursor });
    expect(!page.unchanged && page.items.parse().map(({ title }) => title)).toEqual(['One', 'Two']);
    expect(await describeAll()).toEqual({ described: 0 });
    expect(await clock()).toBe(after);
  });

  it('concern only episodes of the subscription with exactly this URL', async () => {
    await play(item.enclosure_url);
    const other = 'http://podcast.example/feed';
    await storeFeed(other, item);
    expect(await describeAll(other)).toEqual({ described: 0 });
    await storeFeed(feedUrl, item);
    expect(await describing.describe({ userId: freshUser(), feedUrl }, call())).toEqual({
      described: 0,
    });
  });

  it('do not replace the title that a client sends at the same time', async () => {
    await play(item.enclosure_url);
    await storeFeed(feedUrl, item);
    const { rows } = await context.owner.query<{ guid: string }>(
      'SELECT guid FROM subscription.subscriptions WHERE user_id = $1',
      [userId],
    );
    const entry = { podcast_guid: rows[0]?.guid, enclosure_url: item.enclosure_url, title: 'Mine' };
    await Promise.all([
      describeAll(),
      context.service.upload({ userId, body: { episodes: [entry] } }, call()),
      describeAll(),
    ]);
    expect(await episodes()).toMatchObject([{ title: 'Mine' }]);
  });
});
