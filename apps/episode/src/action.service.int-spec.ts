import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type GpodderEpisode,
  type ActionStatuses,
  episodeSchema,
  listActions,
  podcastGuid,
  type RequestOf,
  setFavorite,
  uploadActions,
  uploadedSchema,
} from '#contracts';
import { contentOf, freshUser } from '#testing';
import { equalUrls, inBothOrders } from '../../../libs/contracts/testing/url-vectors.js';
import { call } from '../../../libs/transport/testing/handler-call.js';
import { openService, type ServiceContext } from '../testing/service-context.js';

type Entry = RequestOf<typeof uploadActions>['entries'][number];
type Listing = RequestOf<typeof listActions>;

const full = Boolean(process.env.TEST_FULL);
const feedUrl = 'https://podcast.example/feed';
const former = 'https://old.example/feed';
const other = 'https://other.example/feed';
const ten = '2026-01-01T10:00:07.5Z';
const later = '2026-01-01T10:00:08Z';

let context: ServiceContext;
let userId: string;

beforeAll(async () => {
  context = await openService();
});
afterAll(() => context.close());
beforeEach(async () => {
  userId = freshUser();
  await context.feed(userId, feedUrl, former);
  await context.feed(userId, other);
});

const media = (n: number | string) => `https://media.example/${n}.mp3`;
const position = (value: number, at?: string): ActionStatuses => ({
  playbackPosition: { value, ...(at && { at }) },
});
/** Returns an action on an episode that only its media URL identifies. */
const played = (
  n: number | string,
  value: number,
  at: string | undefined = ten,
  more: Partial<Entry> = {},
): Entry => ({
  feedUrl,
  enclosureUrl: media(n),
  statuses: position(value, at),
  ...more,
});

async function upload(...entries: Entry[]) {
  return uploadActions.reply.parse(await context.actions.upload({ userId, entries }, call()));
}

async function act(...entries: Entry[]) {
  const { verdicts } = await upload(...entries);
  expect(verdicts).toEqual(entries.map(() => null));
}

const page = async (asked: Partial<Listing> = {}, requestId?: string) =>
  listActions.reply.parse(
    await context.actions.list({ userId, perPage: 1_000, ...asked }, call(requestId)),
  );

async function walk(asked: Partial<Listing> = {}) {
  const first = await page(asked);
  const episodes = [...first.episodes];
  let pages = 1;
  for (let { next } = first; next; pages += 1) {
    const answer: Awaited<ReturnType<typeof page>> = await page({ ...asked, further: next });
    episodes.push(...answer.episodes);
    next = answer.next;
  }
  return { timestamp: first.timestamp, episodes, pages };
}

const positions = (episodes: readonly GpodderEpisode[]) =>
  episodes.map(({ enclosureUrl, statuses }) => [enclosureUrl, statuses.playbackPosition?.value]);

async function shown() {
  const answer = await context.service.list({
    userId,
    perPage: 1_000,
    cursor: { from: 'page', page: 1 },
  });
  if (answer.unchanged) throw new Error('unchanged');
  return contentOf(answer.items, episodeSchema.array());
}

const deleteFeed = (url: string) =>
  context.owner.query(
    `UPDATE subscription.subscriptions
     SET is_subscribed = false, deleted = now(), changed = now(), subscription_changed = now()
     WHERE user_id = $1 AND feed_url = $2`,
    [userId, url],
  );

const clock = async () =>
  (
    await context.owner.query<{ stamp: Date }>(
      'SELECT stamp FROM sync.user_clock WHERE user_id = $1',
      [userId],
    )
  ).rows[0]?.stamp;

describe('an upload of actions', () => {
  it('creates an episode from a media URL alone, with full times of its statuses', async () => {
    await act(
      played(1, 12.5, ten, {
        duration: 60,
        statuses: { ...position(12.5, ten), newStatus: { value: false, at: later } },
      }),
    );
    const { episodes } = await page();
    expect(episodes).toEqual([
      {
        syncId: expect.any(String) as string,
        feedUrl,
        podcastGuid: podcastGuid(feedUrl),
        episodeGuid: '',
        enclosureUrl: media(1),
        episodeUrl: '',
        title: '',
        publishDate: '1970-01-01T00:00:00.000Z',
        duration: 60,
        statuses: {
          playbackPosition: { value: 12.5, at: '2026-01-01T10:00:07.5Z' },
          newStatus: { value: false, at: '2026-01-01T10:00:08Z' },
        },
      },
    ]);
  });

  it('matches a feed by its current URL, a former one and its derived guid', async () => {
    const { verdicts, moved } = await upload(
      played(1, 1),
      played(2, 2, ten, { feedUrl: former }),
      played(3, 3, ten, { feedUrl: former }),
      played(4, 4, ten, { feedUrl: 'http://podcast.example/feed/' }),
    );
    expect(verdicts).toEqual([null, null, null, null]);
    expect(moved, 'each once, except for URLs that differ in scheme and slashes').toEqual([
      [former, feedUrl],
    ]);
    expect(new Set((await page()).episodes.map((episode) => episode.feedUrl))).toEqual(
      new Set([feedUrl]),
    );
  });

  it('validates each entry separately and applies the valid ones', async () => {
    const { verdicts } = await upload(
      played(1, 1),
      played(3, 3, ten, { enclosureUrl: undefined }),
      played(4, 4, ten, { enclosureUrl: 'content://here' }),
      played(5, 5, ten, { episodeGuid: 'NUL \0' }),
      played(6, 6, ten, { feedUrl: 'https://nul.example/\0' }),
      played(7, 7, 'yesterday'),
      played(8, 8, ten, { enclosureUrl: undefined, episodeGuid: 'eight' }),
    );
    expect(verdicts).toEqual([
      null,
      'missing_identifier',
      'invalid_url',
      'invalid_value',
      'invalid_url',
      'invalid_value',
      null,
    ]);
    expect((await page()).episodes.map(({ statuses }) => statuses.playbackPosition?.value)).toEqual(
      [1, 8],
    );
  });

  it('answers invalid and empty uploads without a write', async () => {
    await act(played(1, 1));
    const before = await clock();
    expect(await upload(played(2, 2, ten, { feedUrl: 'x' }))).toEqual({
      timestamp: 1,
      verdicts: ['invalid_url'],
      moved: [],
    });
    expect(await upload()).toEqual({ timestamp: 1, verdicts: [], moved: [] });
    expect(await clock()).toEqual(before);
  });

  it('skips the entries of a deleted feed, by any of its URLs', async () => {
    await deleteFeed(feedUrl);
    const sent = [feedUrl, former, 'http://podcast.example/feed'].map((url) =>
      played(1, 1, ten, { feedUrl: url }),
    );
    const { verdicts } = await upload(...sent, played(2, 2, ten, { feedUrl: other }));
    expect(verdicts).toEqual([...sent.map(() => 'unknown_subscription'), null]);
  });

  describe('of a feed without a subscription', () => {
    const unknown = 'https://unknown.example/feed';
    const subscriptions = async () =>
      (
        await context.owner.query<Record<string, unknown>>(
          `SELECT s.feed_url, s.guid, s.is_subscribed, s.is_subscribed_at, s.flipped,
             s.changed = c.stamp AS stamped
           FROM subscription.subscriptions s JOIN sync.user_clock c ON c.user_id = s.user_id
           WHERE s.user_id = $1 AND s.feed_url NOT IN ($2, $3) ORDER BY s.id`,
          [userId, feedUrl, other],
        )
      ).rows;

    it('creates an unsubscribed one with the stamp of the episode', async () => {
      expect(
        await upload(
          played(1, 1, ten, { feedUrl: unknown }),
          played(2, 2, ten, { feedUrl: unknown }),
        ),
      ).toEqual({
        timestamp: 1,
        verdicts: [null, null],
        moved: [],
      });
      expect(await subscriptions()).toEqual([
        {
          feed_url: unknown,
          guid: podcastGuid(unknown),
          is_subscribed: false,
          is_subscribed_at: new Date(0),
          flipped: null,
          stamped: true,
        },
      ]);
      expect((await page({ feedUrl: unknown })).episodes).toHaveLength(2);
    });

    it('creates one for simultaneous uploads and for equivalent URLs', async () => {
      const sent = [unknown, 'http://unknown.example/feed/'];
      await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          act(...sent.map((url) => played(n, n, ten, { feedUrl: url }))),
        ),
      );
      expect((await subscriptions()).map((row) => row['feed_url'])).toEqual([unknown]);
    });

    it.each(inBothOrders(equalUrls))(
      'creates one podcast and one episode for equal URLs: %s, %s',
      async (first, second) => {
        const sent = [first, second].map((url, n) =>
          played(1, n, n === 0 ? ten : later, { feedUrl: url, enclosureUrl: url }),
        );
        for (const entry of sent) await act(entry);
        expect((await subscriptions()).map((row) => row['feed_url'])).toEqual([first]);
        for (const url of [first, second])
          expect(positions((await page({ feedUrl: url })).episodes)).toEqual([[first, 1]]);
      },
    );

    it('creates none if no action is applied', async () => {
      await upload(played(1, 1, ten, { feedUrl: unknown, enclosureUrl: undefined }));
      expect(await subscriptions()).toEqual([]);
    });

    it('creates none above a quota, and counts the created ones', async () => {
      const small = await openService({ QUOTA_LIVE_SUBSCRIPTIONS: 2 });
      try {
        const urls = [1, 2, 3].map((n) => `https://${n}.example/feed`);
        const entries = urls.map((url) => played(1, 1, ten, { feedUrl: url }));
        const { verdicts } = await small.actions.upload({ userId, entries }, call());
        expect(verdicts).toEqual([null, null, 'unknown_subscription']);
        const { rows } = await small.owner.query(
          'SELECT live::int, guids::int, urls::int FROM subscription.totals WHERE user_id = $1',
          [userId],
        );
        expect(rows).toEqual([{ live: 2, guids: 2, urls: 2 }]);
      } finally {
        await small.close();
      }
    });

    it('matches a single URL with other percent-encoding, and returns it', async () => {
      const [encoded, decoded] = [
        'https://podcast.example/caf%C3%A9%20x',
        'https://podcast.example/café x',
      ] as const;
      await context.feed(userId, encoded);
      const sent = decoded.replace(' ', '%20');
      expect(await upload(played(1, 1, ten, { feedUrl: sent }))).toMatchObject({
        verdicts: [null],
        moved: [[sent, encoded]],
      });
      expect((await page({ feedUrl: encoded })).episodes).toHaveLength(1);
      await deleteFeed(encoded);
      expect((await upload(played(1, 1, ten, { feedUrl: sent }))).verdicts).toEqual([
        'unknown_subscription',
      ]);
    });
  });

  it('applies all actions even if one write would read too many episodes', async () => {
    const long = (n: number, more: object = {}) =>
      played(0, n, ten, {
        episodeGuid: `${n} ${'g'.repeat(2_000)}`,
        enclosureUrl: `${media(n)}?${'x'.repeat(4_000)}`,
        ...more,
      });
    const all = Array.from({ length: 250 }, (_, n) => long(n));
    await act(...all);
    await context.owner.query(
      `UPDATE episode.episodes SET title = $2, episode_url = 'https://a.example/' || $3
       WHERE user_id = $1`,
      [userId, 't'.repeat(2_048), 'x'.repeat(4_000)],
    );
    await act(...all.map((entry, n) => ({ ...entry, statuses: position(n + 1, later) })));
  });

  it('matches by guid first, else by media URL if either has no guid', async () => {
    await act(played('a', 1, ten, { episodeGuid: 'one' }));
    await act(played('moved', 2, later, { episodeGuid: 'one' }));
    await act(played('moved', 3, later));
    await act(played('bare', 4));
    await act(played('bare', 5, later, { episodeGuid: 'two' }));
    await act(played('bare', 6, later, { episodeGuid: 'three' }));
    expect(
      (await page()).episodes.map(({ episodeGuid, statuses }) => [
        episodeGuid,
        statuses.playbackPosition?.value,
      ]),
    ).toEqual([
      ['one', 3],
      ['two', 5],
      ['three', 6],
    ]);
  });

  it('writes no stamp, marker or event if nothing changes', async () => {
    await act(played(1, 1), played(2, 2));
    const before = await clock();
    const requestId = randomUUID();
    await context.actions.upload(
      { userId, entries: [played(1, 1), played(2, 1, '2020-01-01T00:00:00Z')] },
      call(requestId),
    );
    expect(await clock()).toEqual(before);
    const { rows } = await context.owner.query('SELECT FROM sync.request WHERE request_id = $1', [
      requestId,
    ]);
    expect(rows).toEqual([]);
  });

  it('takes effect once if it is delivered repeatedly', async () => {
    const requestId = randomUUID();
    const request = { userId, entries: [played(1, 1)] };
    const first = await context.actions.upload(request, call(requestId));
    await act(played(1, 2, later));
    const before = await clock();
    expect(await context.actions.upload(request, call(requestId))).toEqual(first);
    expect(await clock()).toEqual(before);
    expect(positions((await page()).episodes)).toEqual([[media(1), 2]]);
  });

  it('rejects only the entries above the quota', async () => {
    const small = await openService({ QUOTA_EPISODE_STATES: 2 });
    try {
      await small.feed(userId, feedUrl);
      const { verdicts } = await small.actions.upload(
        { userId, entries: [played(1, 1), played(2, 2), played(3, 3), played(1, 4, later)] },
        call(),
      );
      expect(verdicts).toEqual([null, null, 'limit_reached', null]);
    } finally {
      await small.close();
    }
  });

  it('runs the same number of statements for any number of actions', async () => {
    const all = Array.from({ length: 250 }, (_, n) => played(n, n));
    const count = async (entries: Entry[]) => {
      const before = context.statements();
      await act(...entries);
      return context.statements() - before;
    };
    const [one, many] = [await count([played('x', 1)]), await count(all)];
    expect(many).toBe(one);
    expect(await count(all), 'without changes').toBeLessThan(one);
  });

  it('rejects the requests of a refused user', async () => {
    await act(played(1, 1));
    await context.owner.query('UPDATE sync.user_clock SET refused = 1 WHERE user_id = $1', [
      userId,
    ]);
    const refused = { code: 'unauthorized' };
    await expect(upload(played(1, 2, later))).rejects.toMatchObject(refused);
    await expect(upload()).rejects.toMatchObject(refused);
    await expect(page()).rejects.toMatchObject(refused);
    await expect(page({ further: { after: 0, since: 0, first: true } })).rejects.toMatchObject(
      refused,
    );
  });
});

describe('actions and the main API', () => {
  it('show the same states for both, and never replace a newer one', async () => {
    await act(played(1, 10, ten, { episodeGuid: 'guid' }));
    const guid = podcastGuid(feedUrl);
    const set = async (value: number, timestamp: string) => {
      const entry = {
        podcast_guid: guid,
        episode_guid: 'guid',
        playback_position: { value, timestamp },
      };
      contentOf(
        await context.service.upload({ userId, body: { episodes: [entry] } }, call()),
        uploadedSchema,
      );
    };
    await set(20, '2026-01-01T10:00:30Z');
    expect(positions((await page()).episodes)).toEqual([[media(1), 20]]);
    await act(played(1, 30, '2026-01-01T10:00:29Z', { episodeGuid: 'guid' }));
    await set(31, '2026-01-01T10:00:28Z');
    expect(positions((await page()).episodes)).toEqual([[media(1), 20]]);
    await act(played(1, 40, '2026-01-01T10:00:31Z', { episodeGuid: 'guid' }));
    expect(await shown()).toMatchObject([
      {
        podcast_guid: guid,
        episode_guid: 'guid',
        playback_position: { value: 40, timestamp: '2026-01-01T10:00' },
      },
    ]);
  });
});

describe('a list of actions', () => {
  const credentialId = randomUUID();
  const reader = (since: number, more: object = {}) => ({ credentialId, since, ...more });

  it('returns each change once to a reader that echoes the timestamp', async () => {
    await act(played(1, 1), played(2, 2));
    const first = await page({ reader: reader(0) });
    expect(positions(first.episodes)).toEqual([
      [media(1), 1],
      [media(2), 2],
    ]);
    await act(played(2, 3, later));
    const second = await page({ reader: reader(first.timestamp) });
    expect(positions(second.episodes)).toEqual([[media(2), 3]]);
    expect(second.timestamp).toBeGreaterThan(first.timestamp);
    const third = await page({ reader: reader(second.timestamp) });
    expect(third).toEqual({ timestamp: second.timestamp, episodes: [] });
    const before = context.statements();
    expect(await page({ reader: reader(second.timestamp) })).toEqual(third);
    expect(context.statements() - before).toBe(1);
  });

  it('returns everything to an app password without a stored reader', async () => {
    await act(played(1, 1));
    const { timestamp } = await page({ reader: reader(0) });
    await page({ reader: reader(timestamp) });
    const { episodes } = await page({
      reader: { credentialId: randomUUID(), since: timestamp + 1_000_000 },
    });
    expect(positions(episodes)).toEqual([[media(1), 1]]);
  });

  it('answers an upload with the last timestamp of its session', async () => {
    const sessionId = randomUUID();
    await act(played(1, 1));
    const { timestamp } = await page({ reader: reader(0, { sessionId }) });
    const answer = await context.actions.upload(
      { userId, sessionId, entries: [played(2, 2)] },
      call(),
    );
    expect(answer.timestamp).toBe(timestamp);
    expect((await upload(played(3, 3))).timestamp).toBe(1);
  });

  it('stores no reader for lists of one feed or of favourites', async () => {
    await act(played(1, 1));
    const { timestamp } = await page({ reader: reader(0), feedUrl });
    await page({ reader: reader(0), favorites: true });
    expect(timestamp).toBeGreaterThan(1);
    const { rows } = await context.owner.query('SELECT FROM sync.readers WHERE user_id = $1', [
      userId,
    ]);
    expect(rows).toEqual([]);
  });

  it('filters by any URL of a feed, and returns nothing for an unknown one', async () => {
    await act(played(1, 1), played(2, 2, ten, { feedUrl: other }), played(3, 3));
    for (const url of [feedUrl, former, 'http://podcast.example/feed'])
      expect(positions((await walk({ feedUrl: url, perPage: 1 })).episodes)).toEqual([
        [media(1), 1],
        [media(3), 3],
      ]);
    expect((await page({ feedUrl: 'https://unknown.example/feed' })).episodes).toEqual([]);
  });

  it('filters by favourite status, also within one feed', async () => {
    const liked = (n: number, url: string, value = true): Entry => ({
      feedUrl: url,
      enclosureUrl: media(n),
      statuses: { favoriteStatus: { value, at: ten } },
    });
    await act(liked(1, feedUrl), liked(2, other), liked(3, other, false), played(4, 4));
    const urls = async (asked: Partial<Listing>) =>
      (await walk(asked)).episodes.map(({ enclosureUrl }) => enclosureUrl);
    expect(await urls({ favorites: true, perPage: 1 })).toEqual([media(1), media(2)]);
    expect(await urls({ favorites: true, feedUrl: other })).toEqual([media(2)]);
  });

  it('includes unsubscribed podcasts', async () => {
    await act(played(1, 1));
    await context.owner.query(
      'UPDATE subscription.subscriptions SET is_subscribed = false WHERE user_id = $1',
      [userId],
    );
    expect(positions((await page()).episodes)).toEqual([[media(1), 1]]);
  });

  it('returns each row on one page, even if it changes between pages', async () => {
    await act(...Array.from({ length: 7 }, (_, n) => played(n, n)));
    const first = await page({ perPage: 3, reader: reader(0) });
    expect(positions(first.episodes)).toEqual([0, 1, 2].map((n) => [media(n), n]));
    await act(played(0, 10, later), played(4, 14, later));
    const second = await page({ perPage: 3, reader: reader(0), further: first.next });
    expect(positions(second.episodes)).toEqual([3, 4, 5].map((n) => [media(n), n === 4 ? 14 : n]));
    const third = await page({ perPage: 3, reader: reader(0), further: second.next });
    expect(positions(third.episodes)).toEqual([[media(6), 6]]);
    expect(third.next).toBeUndefined();
    for (const { timestamp } of [second, third])
      expect(timestamp).toBeLessThanOrEqual(first.timestamp);
    const next = await page({ perPage: 3, reader: reader(first.timestamp) });
    expect(positions(next.episodes)).toEqual([0, 4].map((n) => [media(n), n + 10]));
  });

  it('ends a page below two megabytes and continues on the next one', async () => {
    const long = (n: number) => `https://media.example/${'x'.repeat(4_000)}/${n}`;
    const count = 600;
    for (let from = 0; from < count; from += 200)
      await act(
        ...Array.from({ length: 200 }, (_, n) =>
          played(0, n, ten, { enclosureUrl: long(from + n) }),
        ),
      );
    const first = await page();
    expect(Buffer.byteLength(JSON.stringify(first))).toBeLessThan(2 * 1_024 * 1_024);
    expect(first.episodes.length).toBeGreaterThan(100);
    const { episodes, pages } = await walk();
    expect(pages).toBeGreaterThan(1);
    expect(new Set(episodes.map(({ enclosureUrl }) => enclosureUrl)).size).toBe(count);
    expect(episodes).toHaveLength(count);
  });
});

describe('the favourite status of an episode', () => {
  const unknown = 'https://unknown.example/feed';
  const ask = async (asked: Partial<RequestOf<typeof setFavorite>> = {}) => {
    const request = { userId, feedUrl, enclosureUrl: media(1), ensure: false, ...asked };
    return setFavorite.reply.parse(await context.actions.favorite(request, call())).episode;
  };

  it('is read and set for the episode that an action without a guid matches', async () => {
    await act(
      played(1, 1, ten, { episodeGuid: 'one' }),
      played(1, 2, ten, { episodeGuid: 'two' }),
      played(1, 3, ten, { feedUrl: other }),
    );
    const { episodes } = await page();
    const [{ syncId }] = episodes as [GpodderEpisode];
    expect(await ask()).toEqual({ syncId });
    expect(await ask({ feedUrl: former, favorite: true })).toEqual({ syncId, favorite: true });
    expect(await ask()).toEqual({ syncId, favorite: true });
    expect((await page({ favorites: true })).episodes.map((episode) => episode.syncId)).toEqual([
      syncId,
    ]);
    expect(await ask({ favorite: false })).toEqual({ syncId, favorite: false });
    expect((await ask({ feedUrl: other }))?.syncId).toBe(episodes[2]?.syncId);
  });

  it('creates a podcast and an episode only on request', async () => {
    const before = await clock();
    for (const url of [feedUrl, unknown])
      for (const favorite of [undefined, false])
        expect(await ask({ feedUrl: url, favorite })).toBeNull();
    expect(await clock()).toEqual(before);
    const made = await ask({ feedUrl: unknown, ensure: true });
    expect(made).toEqual({ syncId: expect.any(String) as string });
    expect(await ask({ feedUrl: unknown, ensure: true, favorite: true })).toEqual({
      ...made,
      favorite: true,
    });
  });

  it('writes nothing when it is only read', async () => {
    await act(played(1, 1));
    const before = await clock();
    await ask();
    await ask({ ensure: true });
    expect(await clock()).toEqual(before);
  });

  it('fails for a deleted podcast, above the quota and for a refused user', async () => {
    await deleteFeed(feedUrl);
    expect(await ask({ ensure: true, favorite: true })).toBeNull();
    await expect(ask({ feedUrl: 'x' })).rejects.toMatchObject({ code: 'invalid' });
    const small = await openService({ QUOTA_EPISODE_STATES: 1 });
    try {
      const make = (n: number) =>
        small.actions.favorite(
          { userId, feedUrl: unknown, enclosureUrl: media(n), ensure: true },
          call(),
        );
      await make(1);
      await expect(make(2)).rejects.toMatchObject({ code: 'invalid' });
    } finally {
      await small.close();
    }
    await context.owner.query('UPDATE sync.user_clock SET refused = 1 WHERE user_id = $1', [
      userId,
    ]);
    await context.owner.query(
      `INSERT INTO sync.user_clock (user_id, stamp, refused) VALUES ($1, now(), 1)
       ON CONFLICT (user_id) DO NOTHING`,
      [userId],
    );
    await expect(ask()).rejects.toMatchObject({ code: 'unauthorized' });
  });
});

describe('a list with more rows than a page sorts', () => {
  const count = 10_500;
  /** Every hundredth row is of the other feed. Odd rows changed a second later than even ones. */
  const second = 1_700_000_000;

  it('returns each row once, for all changes and for one feed', async () => {
    const { rows: ids } = await context.owner.query<{ id: number }>(
      'SELECT id::int FROM subscription.subscriptions WHERE user_id = $1 ORDER BY id',
      [userId],
    );
    await context.owner.query(
      `WITH made AS MATERIALIZED (
         SELECT nextval('episode.episode_id') AS id, gen_random_uuid() AS sync_id, n
         FROM generate_series(1, $4::int) n
       ), described AS (
         INSERT INTO episode.episodes (
           user_id, id, subscription_id, sync_id, publish_date, episode_guid, title, enclosure_url,
           episode_url
         )
         SELECT $1, id, CASE WHEN n % 100 = 0 THEN $3::bigint ELSE $2::bigint END, sync_id, 'epoch',
           '', '', 'https://media.example/' || n, ''
         FROM made
       ), clock AS (
         INSERT INTO sync.user_clock (user_id, stamp) VALUES ($1, to_timestamp($5::bigint + 10))
       )
       INSERT INTO episode.states (
         user_id, id, sync_id, changed, playback_position, playback_position_at
       )
       SELECT $1, id, sync_id, to_timestamp($5::bigint + n % 2), n, 'epoch' FROM made`,
      [userId, ids[0]?.id, ids[1]?.id, count, second],
    );
    await context.owner.query('ANALYZE episode.states, episode.episodes');
    const numbers = async (asked: Partial<Listing>) => {
      const { episodes } = await walk(asked);
      return episodes.map(({ statuses }) => statuses.playbackPosition?.value);
    };
    const all = Array.from({ length: count }, (_, n) => n + 1);
    expect(await numbers({})).toEqual(all);
    const from = async (since: number) => {
      const further = { after: 0, since, first: false };
      return numbers({ further });
    };
    expect(await from(second - 1), 'more than a page sorts').toEqual(all);
    expect(await from(second), 'fewer').toEqual(all.filter((n) => n % 2 === 1));
    expect(await numbers({ feedUrl })).toEqual(all.filter((n) => n % 100 !== 0));
    expect(await numbers({ feedUrl: other })).toEqual(all.filter((n) => n % 100 === 0));
  });
});

describe('any uploads of actions', () => {
  const minute = (n: number) => `2026-01-01T10:${String(n).padStart(2, '0')}:00Z`;
  const action = fc.record({
    feed: fc.constantFrom(feedUrl, former, other),
    guid: fc.integer({ min: 0, max: 2 }),
    enclosure: fc.integer({ min: 1, max: 3 }),
    status: fc.constantFrom('playbackPosition', 'playedStatus', 'favoriteStatus'),
    value: fc.integer({ min: 0, max: 3 }),
    at: fc.integer({ min: 0, max: 5 }),
  });
  const entryOf = ({
    feed,
    guid,
    enclosure,
    status,
    value,
    at,
  }: typeof action extends fc.Arbitrary<infer Value> ? Value : never): Entry => ({
    feedUrl: feed,
    enclosureUrl: media(enclosure),
    ...(guid && { episodeGuid: `guid ${guid}` }),
    statuses: {
      [status]: { value: status === 'playbackPosition' ? value : value > 1, at: minute(at) },
    },
  });

  it('make the pages, the main API and an incremental reader agree', async () => {
    const batches = fc.array(fc.array(action, { minLength: 1, maxLength: 5 }), {
      minLength: 1,
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(batches, fc.integer({ min: 1, max: 4 }), async (uploads, perPage) => {
        userId = freshUser();
        await context.feed(userId, feedUrl, former);
        await context.feed(userId, other);
        const has = new Map<string, GpodderEpisode>();
        const credentialId = randomUUID();
        let since = 0;
        for (const batch of uploads) {
          await act(...batch.map(entryOf));
          const { episodes, timestamp } = await walk({ perPage, reader: { credentialId, since } });
          for (const episode of episodes) has.set(`${episode.feedUrl} ${episode.syncId}`, episode);
          since = timestamp;
        }
        const { episodes } = await walk({ perPage });
        const existing = new Set(episodes.map(({ syncId }) => syncId));
        const plain = (some: Iterable<GpodderEpisode>) =>
          [...some]
            .filter(({ syncId }) => existing.has(syncId))
            .sort((a, b) => (a.syncId < b.syncId ? -1 : 1))
            .map((episode) => JSON.stringify(episode));
        expect(plain(has.values())).toEqual(plain(episodes));
        expect(
          episodes.map(({ syncId, statuses }) => [
            syncId,
            statuses.playbackPosition?.value,
            statuses.playedStatus?.value,
          ]),
        ).toEqual(
          (await shown()).map((row) => [
            row.sync_id,
            row.playback_position?.value,
            row.played_status?.value,
          ]),
        );
      }),
      { numRuns: full ? 300 : 20 },
    );
  });
});
