import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createPool, Database } from '#database';
import { contentOf, freshUser } from '#testing';
import { subscribedSchema, uploadedSchema } from '#contracts';
import {
  openWorker,
  type WorkerContext,
} from '../../apps/deletion-worker/testing/worker.fixture.js';
import { deletionWorkerConfig } from '../../apps/deletion-worker/src/deletion-worker.config.js';
import { episodeConfig } from '../../apps/episode/src/episode.config.js';
import { EpisodeService } from '../../apps/episode/src/episode.service.js';
import { sentBody } from '../../apps/episode/testing/sent-entry.js';
import { subscriptionConfig } from '../../apps/subscription/src/subscription.config.js';
import { SubscriptionService } from '../../apps/subscription/src/subscription.service.js';
import { call } from '../../libs/transport/testing/handler-call.js';

const full = Boolean(process.env.TEST_FULL);
const quotas = {
  QUOTA_LIVE_SUBSCRIPTIONS: 3,
  QUOTA_SUBSCRIPTION_NAMES: 7,
  QUOTA_TOMBSTONES: 2,
  QUOTA_DELETION_RECORDS: 3,
  QUOTA_EPISODE_STATES: 4,
  QUOTA_SYNC_ID_ALIASES: 2,
};

let worker: WorkerContext;
let databases: Database[];
let subscriptions: SubscriptionService;
let episodes: EpisodeService;
let userId: string;

beforeAll(async () => {
  worker = await openWorker(undefined, quotas);
  const open = (url: string) => new Database(createPool({ url, poolSize: 4 }));
  databases = [worker.urls.subscription, worker.urls.episode].map(open);
  subscriptions = new SubscriptionService(databases[0] as Database, quotas);
  episodes = new EpisodeService(databases[1] as Database, quotas);
});

afterAll(async () => {
  await Promise.all(databases.map((database) => database.close()));
  await worker.close();
});

beforeEach(() => {
  userId = freshUser();
});

/** A guid, or with another first digit a sync_id, that is easy to draw again. */
const guid = (n: number, digit = 'a') =>
  `${digit}0000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const feed = (n: number) => `https://podcast.example/${n}`;
const episode = (n: number) => ({
  episodeGuid: `episode ${n}`,
  title: `Title ${n}`,
  publishDate: '2025-01-01T00:00:00Z',
  enclosureUrl: `https://media.example/${n}`,
  episodeUrl: `https://podcast.example/episode/${n}`,
});

const [n, few] = [fc.nat(9), fc.nat(5)];
const step = fc.oneof(
  fc.record({ do: fc.constant('post' as const), feed: n, guid: fc.option(n, { freq: 3 }) }),
  fc
    .record({
      do: fc.constant('patch' as const),
      guid: few,
      newGuid: fc.option(n),
      newFeed: fc.option(n),
    })
    .filter(({ newGuid, newFeed }) => newGuid !== null || newFeed !== null),
  fc.record({ do: fc.constant('delete' as const), guid: few, process: fc.boolean() }),
  ...[1, 2, 3].map(() =>
    fc.record({
      do: fc.constant('upload' as const),
      guid: few,
      episode: few,
      syncId: fc.option(n),
    }),
  ),
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

// Sequences that reach each limit, which random steps do not always reach.

/** Reaches the limits of tombstones and deletion records. */
const deletions = [0, 1, 2].flatMap((name): Step[] => [
  { do: 'post', feed: name, guid: name },
  { do: 'delete', guid: name, process: true },
]);

/** Reaches the limit of feed URLs; some derived guids exceed it. */
const moves: Step[] = [
  { do: 'post', feed: 0, guid: 0 },
  ...[1, 2, 3, 4, 5, 6, 7].map((newFeed): Step => ({
    do: 'patch',
    guid: 0,
    newGuid: null,
    newFeed,
  })),
];

/** Reaches the limit of guid changes, each back to an earlier guid. */
const renames: Step[] = [
  { do: 'post', feed: 0, guid: 0 },
  ...[1, 0, 1, 0, 1, 0, 1, 0].map((newGuid): Step => ({
    do: 'patch',
    guid: 0,
    newGuid,
    newFeed: null,
  })),
];

/** Reaches the limit of live subscriptions. */
const posts = [0, 1, 2, 3].map((name): Step => ({ do: 'post', feed: name, guid: name }));

/** Reaches the limits of episodes and of further sync_ids. */
const uploads: Step[] = [
  { do: 'post', feed: 0, guid: 0 },
  ...[0, 1, 2, 3, 4].map((number): Step => ({
    do: 'upload',
    guid: 0,
    episode: number,
    syncId: null,
  })),
  ...[0, 1, 2].map((syncId): Step => ({ do: 'upload', guid: 0, episode: 0, syncId })),
];

/** Counts the user's rows. */
async function counts() {
  const of = (table: string, where = 'true') =>
    `(SELECT count(*)::int FROM ${table} WHERE user_id = $1 AND ${where})`;
  const total = (column: string, name: string) =>
    `coalesce((SELECT ${column}::int FROM subscription.totals WHERE user_id = $1), 0) AS "${name}"`;
  const { rows } = await worker.owner.query<Record<string, number>>(
    `SELECT ${of('subscription.subscriptions', 'deleted IS NULL AND merged_into IS NULL')} AS live,
       ${of('subscription.subscriptions', 'deleted IS NOT NULL AND merged_into IS NULL')}
         AS tombstones,
       ${of('subscription.subscriptions', 'merged_into IS NOT NULL')} AS pointers,
       ${of('subscription.former_guids')} AS "guidChanges", ${of('subscription.guids')} AS guids,
       ${of('subscription.feed_urls')} AS urls, ${of('episode.episodes')} AS episodes,
       ${of('episode.sync_ids')} AS aliases,
         ${of('deletion.deletions', `status <> 'PENDING'`)} AS records,
       coalesce((SELECT episodes::int FROM episode.totals WHERE user_id = $1), 0)
         AS "totalEpisodes",
       coalesce((SELECT sync_ids::int FROM episode.totals WHERE user_id = $1), 0) AS "totalAliases",
       ${total('live', 'totalLive')}, ${total('pointers', 'totalPointers')},
         ${total('guid_changes', 'totalGuidChanges')},
       ${total('guids', 'totalGuids')}, ${total('urls', 'totalUrls')}`,
    [userId],
  );
  return rows[0] as Record<string, number>;
}

const most: Record<string, number> = {
  live: quotas.QUOTA_LIVE_SUBSCRIPTIONS,
  tombstones: quotas.QUOTA_TOMBSTONES,
  pointers: quotas.QUOTA_SUBSCRIPTION_NAMES,
  guidChanges: quotas.QUOTA_SUBSCRIPTION_NAMES,
  guids: quotas.QUOTA_SUBSCRIPTION_NAMES,
  urls: quotas.QUOTA_SUBSCRIPTION_NAMES,
  episodes: quotas.QUOTA_EPISODE_STATES,
  aliases: quotas.QUOTA_SYNC_ID_ALIASES,
  records: quotas.QUOTA_DELETION_RECORDS,
};

/** Pairs of counted rows and their stored totals. */
const totals = [
  ['live', 'totalLive'],
  ['pointers', 'totalPointers'],
  ['guidChanges', 'totalGuidChanges'],
  ['guids', 'totalGuids'],
  ['urls', 'totalUrls'],
  ['episodes', 'totalEpisodes'],
  ['aliases', 'totalAliases'],
] as const;

/** Does it. @returns the codes of entries that failed; a PATCH beyond a quota is invalid. */
async function run(does: Step): Promise<string[]> {
  if (does.do === 'post') {
    const entry = {
      feed_url: feed(does.feed),
      ...(does.guid !== null && { guid: guid(does.guid) }),
    };
    const reply = await subscriptions.subscribe(
      { userId, body: { subscriptions: [entry] } },
      call(),
    );
    return contentOf(reply, subscribedSchema).failure.map(({ code }) => code);
  }
  if (does.do === 'upload') {
    const syncId = does.syncId === null ? {} : { syncId: guid(does.syncId, 'b') };
    const entry = { podcastGuid: guid(does.guid), ...episode(does.episode), ...syncId };
    const reply = await episodes.upload({ userId, body: sentBody([entry]) }, call());
    return contentOf(reply, uploadedSchema).failure.flatMap(({ code }) => code ?? []);
  }
  try {
    if (does.do === 'patch') {
      const newGuid = does.newGuid === null ? {} : { newGuid: guid(does.newGuid) };
      const newFeedUrl = does.newFeed === null ? {} : { newFeedUrl: feed(does.newFeed) };
      await subscriptions.update(
        { userId, guid: guid(does.guid), ...newGuid, ...newFeedUrl },
        call(),
      );
    } else {
      const deletionId = await worker.request(userId, guid(does.guid));
      if (does.process) await worker.service.process({ userId, deletionId });
    }
  } catch (error) {
    const { code } = error as { code: string };
    if (!['invalid', 'not_found'].includes(code)) throw error;
    if (code === 'invalid') return ['limit_reached'];
  }
  return [];
}

it(
  'no user exceeds a quota, rejected users have reached it, and totals match the rows',
  { timeout: 300_000 },
  async () => {
    const reached = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 80, maxLength: 120 }), async (steps) => {
        userId = freshUser();
        let after = await counts();
        for (const each of steps) {
          const before = after;
          const failed = await run(each);
          after = await counts();
          for (const [what, total] of totals)
            expect({ what, total: after[total] }).toEqual({ what, total: after[what] });
          for (const [what, limit] of Object.entries(most)) {
            expect({ what, count: after[what] }).toEqual({
              what,
              count: Math.min(after[what] ?? 0, limit),
            });
            if (after[what] === limit) reached.add(what);
          }
          if (!failed.includes('limit_reached')) continue;
          expect(Object.entries(most).some(([what, limit]) => before[what] === limit)).toBe(true);
          expect(after).toEqual(before);
        }
      }),
      {
        examples: [[deletions], [moves], [renames], [posts], [uploads]],
        numRuns: full ? 105 : 12,
        maxSkipsPerRun: 0,
        endOnFailure: true,
      },
    );
    console.log(`reached: ${[...reached].join(', ')}`);
    expect([...reached]).toEqual(
      expect.arrayContaining([
        'live',
        'guids',
        'guidChanges',
        'urls',
        'tombstones',
        'records',
        'episodes',
        'aliases',
      ]),
    );
  },
);

it('concurrent requests of a user together stay within the quotas', async () => {
  const entries = (from: number) =>
    [1, 2, 3].map((more) => ({ feed_url: feed(from + more), guid: randomUUID() }));
  const replies = await Promise.all(
    [10, 20, 30, 40].map((from) =>
      subscriptions.subscribe({ userId, body: { subscriptions: entries(from) } }, call()),
    ),
  );
  const added = replies.flatMap((reply) => contentOf(reply, subscribedSchema).success);
  expect(added).toHaveLength(quotas.QUOTA_LIVE_SUBSCRIPTIONS);
  expect((await counts())['live']).toBe(quotas.QUOTA_LIVE_SUBSCRIPTIONS);
});

it.each([
  ['QUOTA_LIVE_SUBSCRIPTIONS', 10_000, subscriptionConfig],
  ['QUOTA_LIVE_SUBSCRIPTIONS', 10_000, episodeConfig],
  ['QUOTA_TOMBSTONES', 10_000, deletionWorkerConfig],
  ['QUOTA_SUBSCRIPTION_NAMES', 50_000, subscriptionConfig],
  ['QUOTA_SUBSCRIPTION_NAMES', 50_000, episodeConfig],
  ['QUOTA_EPISODE_STATES', 1_000_000, episodeConfig],
  ['QUOTA_SYNC_ID_ALIASES', 2_000_000, subscriptionConfig],
  ['QUOTA_SYNC_ID_ALIASES', 2_000_000, episodeConfig],
  ['QUOTA_DELETION_RECORDS', 10_000, deletionWorkerConfig],
  ['QUOTA_STORED_ANSWER_BYTES', 16 * 1_024 * 1_024, subscriptionConfig],
  ['QUOTA_STORED_ANSWER_BYTES', 16 * 1_024 * 1_024, episodeConfig],
  ['QUOTA_STORED_ANSWER_BYTES', 16 * 1_024 * 1_024, deletionWorkerConfig],
] as const)('%s is %d unless an operator sets another', (name, usual, config) => {
  const DATABASE_URL = 'postgres://database';
  expect(config.parse({ DATABASE_URL })).toHaveProperty(name, usual);
  expect(config.parse({ DATABASE_URL, [name]: '7' })).toHaveProperty(name, 7);
});
