import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type Episode,
  episodeSchema,
  type listEpisodes,
  type ListRequest,
  type RequestOf,
  uploadedSchema,
} from '#contracts';
import { contentOf, freshUser } from '#testing';
import { type Identity, toShownEpisode } from './episode.rules.js';
import {
  metadata,
  podcast,
  syncId,
  upload as uploadInMemory,
  episodeSet,
} from '../testing/episode-set.fixture.js';
import { decodedUrls, equalUrls } from '../../../libs/contracts/testing/url-vectors.js';
import { call } from '../../../libs/transport/testing/handler-call.js';
import { type Entry, sentBody } from '../testing/sent-entry.js';
import { openService, type ServiceContext } from '../testing/service-context.js';

const full = Boolean(process.env.TEST_FULL);
const epoch = '1970-01-01T00:00:00.000Z';
const ten = '2026-01-01T10:00:00Z';

let context: ServiceContext;
let userId: string;
let podcastGuid: string;

beforeAll(async () => {
  context = await openService();
});
afterAll(() => context.close());
beforeEach(async () => {
  userId = freshUser();
  podcastGuid = randomUUID();
  await context.subscription(userId, podcastGuid);
});

const upload = async (entries: Entry[], requestId?: string) =>
  contentOf(
    await context.service.upload({ userId, body: sentBody(entries) }, call(requestId)),
    uploadedSchema,
  );

async function put(...entries: Entry[]): Promise<Episode[]> {
  const { success, failure } = await upload(entries.map((entry) => ({ podcastGuid, ...entry })));
  expect(failure).toEqual([]);
  return success;
}

async function page(options: Partial<RequestOf<typeof listEpisodes>> = {}) {
  const answer = await context.service.list({
    userId,
    perPage: 1_000,
    cursor: { from: 'page', page: 1 },
    ...options,
  });
  if (answer.unchanged) throw new Error('unchanged');
  return { ...answer, items: contentOf(answer.items, episodeSchema.array()) };
}

const shown = ({ episodeGuid, title, publishDate, enclosureUrl, episodeUrl }: Identity) => ({
  episode_guid: episodeGuid,
  title,
  publish_date: publishDate,
  enclosure_url: enclosureUrl,
  episode_url: episodeUrl,
});

const list = async (since?: string): Promise<Episode[]> => (await page({ since })).items;
const clock = async (): Promise<string> => (await page()).clock;

/**
 * An entry with few different texts, so that many entries match, and whether the next entry is in
 * the same batch.
 */
const part = fc.integer({ min: 0, max: 2 });
const batchedEntry = fc
  .record({
    guid: part,
    enclosure: part,
    title: part,
    date: part,
    url: part,
    sync: part,
    batch: fc.boolean(),
  })
  .map(({ guid, enclosure, title, date, url, sync, batch }) => ({
    batch,
    sent: {
      ...(guid && { episodeGuid: `guid ${guid}` }),
      ...(enclosure && { enclosureUrl: metadata(enclosure).enclosureUrl }),
      ...(title && { title: `Title ${title}` }),
      ...(date && { publishDate: metadata(date).publishDate }),
      ...(url && { episodeUrl: metadata(url).episodeUrl }),
      ...(sync && { syncId: syncId(sync) }),
    },
  }));

describe('an upload', () => {
  it('shows the result of the full batch in every success item', async () => {
    const [first, second] = await put(metadata(1), metadata(1, { title: 'Last' }));
    expect(first).toEqual(second);
    expect(first?.title).toBe('Last');
  });

  it("rejects another user's subscription and a tombstone", async () => {
    const other = randomUUID();
    await context.subscription(freshUser(), other);
    await context.owner.query(
      `UPDATE subscription.subscriptions
       SET is_subscribed = false, subscription_changed = now(), deleted = now(), changed = now()
       WHERE user_id = $1`,
      [userId],
    );
    const { failure } = await upload(
      [other, podcastGuid].map((guid) => ({ ...metadata(1), podcastGuid: guid })),
    );
    const message = 'There is no subscription with this podcast_guid';
    expect(failure).toMatchObject([0, 1].map(() => ({ code: 'unknown_subscription', message })));
  });

  it('stores texts up to their limits, which exceed an index entry', async () => {
    const long = (length: number) =>
      Array.from({ length: length / 36 + 1 }, randomUUID)
        .join('')
        .slice(0, length - 6) + 'ä😀';
    const entry = metadata(1, {
      episodeGuid: long(2_048),
      title: long(2_048),
      enclosureUrl: `https://e.example/${long(4_078)}`,
      episodeUrl: `https://p.example/${long(4_078)}`,
    });
    const [first, second] = await put(entry, entry);
    expect(first).toMatchObject(shown(entry));
    expect(second).toEqual(first);
    expect((await page()).total).toBe(1);
  });

  it('creates one episode for 20 simultaneous uploads', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => put(metadata(1))));
    expect(new Set(answers.flat().map((episode) => episode.sync_id)).size).toBe(1);
  });

  it.each([...equalUrls, ...decodedUrls])(
    'makes one episode of concurrent uploads with the enclosure URLs %s and %s',
    async (one, other) => {
      const [first] = await put({ enclosureUrl: one });
      const again = [other, one, other].map((enclosureUrl) => put({ enclosureUrl, title: 'A' }));
      for (const [item] of await Promise.all(again))
        expect(item).toMatchObject({ sync_id: first?.sync_id, enclosure_url: one });
      expect(await list()).toHaveLength(1);
    },
  );

  it('swaps the episode_guids of two episodes in one batch', async () => {
    await put({ ...metadata(1), syncId: syncId(1) }, { ...metadata(2), syncId: syncId(2) });
    const swap = ['meanwhile', 'episode-1', 'episode-2'].map((episodeGuid, n) => ({
      syncId: syncId((n % 2) + 1),
      episodeGuid,
    }));
    await put(...swap);
    expect((await list()).map((episode) => episode.episode_guid)).toEqual([
      'episode-2',
      'episode-1',
    ]);
  });

  it('creates an episode for a guid that an earlier entry of the batch released', async () => {
    await put(
      { ...metadata(1), episodeGuid: '', syncId: syncId(1) },
      { episodeGuid: 'episode-2', syncId: syncId(2) },
    );
    const [, renamed, made] = await put(
      { episodeGuid: 'episode-2', syncId: syncId(1) },
      { episodeGuid: 'episode-3', syncId: syncId(1) },
      { episodeGuid: 'episode-2', title: 'Another one' },
    );
    expect(renamed).toMatchObject({ episode_guid: 'episode-3', sync_id: syncId(1) });
    expect(made).toMatchObject({ episode_guid: 'episode-2', title: 'Another one' });
    expect((await page()).total).toBe(2);
  });

  it('matches stored episodes like all episodes in memory, for any batches', async () => {
    // Each entry has the latest time, so that its status shows which episode it was merged into.
    const played = (n: number) => ({
      playbackPosition: { value: n, timestamp: `2026-01-01T10:00:0${n}Z` },
    });
    await fc.assert(
      fc.asyncProperty(fc.array(batchedEntry, { minLength: 1, maxLength: 7 }), async (entries) => {
        [userId, podcastGuid] = [freshUser(), podcast];
        await context.subscription(userId, podcast);
        const sent = entries.map((of, n) => ({ podcastGuid, ...of.sent, ...played(n) }));
        let batch: Entry[] = [];
        for (const [n, of] of sent.entries()) {
          batch.push(of);
          if (!entries[n]?.batch && n < sent.length - 1) continue;
          await upload(batch);
          batch = [];
        }
        const inMemory = episodeSet();
        uploadInMemory(inMemory, ...sent);
        const rows = inMemory.changes().rows.sort((a, b) => a.id - b.id);
        const expected = rows.map((row) => ({
          ...toShownEpisode(row, row.statuses, podcast),
          sync_id: '',
        }));
        expect((await list()).map((of) => ({ ...of, sync_id: '' }))).toEqual(expected);
      }),
      { numRuns: full ? 500 : 50 },
    );
  });

  it('keeps sync_ids unique and totals exact for any entries', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(batchedEntry, { maxLength: 12 }), async (entries) => {
        [userId, podcastGuid] = [freshUser(), randomUUID()];
        await context.subscription(userId, podcastGuid);
        for (const { sent } of entries) await upload([{ podcastGuid, ...sent }]);
        const { rows } = await context.owner.query(
          `WITH episodes AS (SELECT * FROM episode.episodes WHERE user_id = $1),
             aliases AS (SELECT * FROM episode.sync_ids WHERE user_id = $1),
             names AS (SELECT sync_id FROM episodes UNION ALL SELECT sync_id FROM aliases)
           SELECT (SELECT count(*) - count(DISTINCT sync_id) FROM names)::int AS ambiguous,
             (SELECT count(*) FROM episode.states
              WHERE user_id = $1 AND (id, sync_id) NOT IN (SELECT id, sync_id FROM episodes)
             )::int AS "orphanedStates",
             (SELECT count(*) FROM aliases
              WHERE episode_id NOT IN (SELECT id FROM episodes))::int AS "orphanedAliases",
             (SELECT count(*) FROM episodes)::int - coalesce(sum(t.episodes), 0)::int AS uncounted,
             (SELECT count(*) FROM aliases)::int
               - coalesce(sum(t.sync_ids), 0)::int AS "uncountedAliases"
           FROM episode.totals t WHERE t.user_id = $1`,
          [userId],
        );
        expect(rows).toEqual([
          {
            ambiguous: 0,
            orphanedStates: 0,
            orphanedAliases: 0,
            uncounted: 0,
            uncountedAliases: 0,
          },
        ]);
      }),
      { numRuns: full ? 500 : 50 },
    );
  });

  it('stamps only rows that are new, absorbed another or changed for clients', async () => {
    const episodes = async () =>
      new Map((await list()).map((row) => [row.sync_id, JSON.stringify(row)]));
    await fc.assert(
      fc.asyncProperty(fc.array(batchedEntry, { maxLength: 7 }), async (entries) => {
        [userId, podcastGuid] = [freshUser(), randomUUID()];
        await context.subscription(userId, podcastGuid);
        for (const { sent } of entries) {
          const [before, since] = [await episodes(), await clock()];
          const { success } = await upload([{ podcastGuid, ...sent }]);
          const after = await episodes();
          const differing = [...after.keys()].filter(
            (name) => after.get(name) !== before.get(name),
          );
          const absorbers = after.size < before.size ? success.map((row) => row.sync_id) : [];
          const stamped = (await list(since)).map((row) => row.sync_id);
          expect(new Set(stamped)).toEqual(new Set([...differing, ...absorbers]));
        }
      }),
      { numRuns: full ? 300 : 30 },
    );
  });

  it('stores publish_dates of the years 1 and 9999 and extreme numbers', async () => {
    const timestamp = ten;
    const sent = [
      { publishDate: '0001-01-01T00:00:00.000Z', least: Number.MIN_VALUE },
      { publishDate: '9999-12-31T23:59:59.999Z', least: Number.MAX_VALUE },
    ].map(({ publishDate, least: value }, n) => ({
      ...metadata(n, { publishDate }),
      duration: value,
      playbackPosition: { value, timestamp },
    }));
    const made = await put(...sent);
    expect(
      made.map((row) => [row.publish_date, row.duration, row.playback_position?.value]),
    ).toEqual(sent.map(({ publishDate, duration }) => [publishDate, duration, duration]));
    expect(await list()).toEqual(made);
    expect(await put(...sent)).toEqual(made);
  });

  it.each([
    ['merges all of them into one', 7, []],
    ['fails if they are too many', 8, ['limit_reached']],
  ])(
    'of an enclosure_url that several rows without episode_guid have %s',
    async (_, count, codes) => {
      const numbers = Array.from({ length: count }, (__, n) => n + 1);
      await put(
        ...numbers.map((n) => ({
          syncId: syncId(n),
          enclosureUrl: metadata(n).enclosureUrl,
          duration: n,
        })),
      );
      const { enclosureUrl } = metadata(99);
      await put(...numbers.map((n) => ({ syncId: syncId(n), enclosureUrl })), {
        syncId: syncId(9),
        episodeGuid: 'g',
      });
      for (const name of [{ syncId: syncId(9) }, { episodeGuid: 'g' }]) {
        const { failure } = await upload([{ podcastGuid, ...name, enclosureUrl }]);
        expect(failure.map(({ code }) => code)).toEqual(codes);
      }
      const all = await list();
      expect(all).toHaveLength(codes.length === 0 ? 1 : count + 1);
      expect(all.find((row) => row.sync_id === syncId(9))?.duration).toBe(
        codes.length === 0 ? 1 : undefined,
      );
    },
  );

  it('answers within the requested bytes and applies only the answered entries', async () => {
    const entries = [1, 2, 3].map((n) => ({
      podcastGuid,
      ...metadata(n),
      title: 'x'.repeat(2_000),
      temporaryId: n,
    }));
    const text = await context.service.upload(
      { userId, body: sentBody(entries), maxBytes: 6_000 },
      call(),
    );
    expect(Buffer.byteLength(text.toString())).toBeLessThanOrEqual(6_000);
    const { success, failure } = contentOf(text, uploadedSchema);
    expect(success.map((row) => row.temporary_id)).toEqual([1, 2]);
    expect(failure).toMatchObject([{ code: 'limit_reached', temporary_id: 3 }]);
    expect((await page()).total).toBe(2);
  });

  it('runs as many statements for 1,000 entries as for one', async () => {
    const statementsOf = async (entries: Entry[]) => {
      const before = context.statements();
      await put(...entries);
      return context.statements() - before;
    };
    const all = Array.from({ length: 1_001 }, (_, n) => ({
      ...metadata(n),
      syncId: syncId(n + 1),
    }));
    const play = (entry: Entry) => ({ ...entry, playedStatus: { value: true, timestamp: ten } });
    const [first, ...others] = all as [Entry, ...Entry[]];
    const made = [await statementsOf([first]), await statementsOf(others)];
    const episodes = [await statementsOf([play(first)]), await statementsOf(others.map(play))];
    expect(made[1]).toBe(made[0]);
    expect(episodes[1]).toBe(episodes[0]);
    // Entries by sync_id need no second read, and no update of the counts.
    expect(episodes[0]).toBeLessThan(made[0] as number);
    expect(made[0]).toBeLessThanOrEqual(10);
    const { items } = await page({ perPage: 2_000 });
    expect(items.filter((episode) => episode.played_status?.value).length).toBe(1_001);
  });
});

describe('a status', () => {
  it('converges to the newest of 40 simultaneous writes in any order', async () => {
    const values = Array.from({ length: 40 }, (_, n) => n);
    let round = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(values, { minLength: values.length }),
        async (shuffled) => {
          const [episode] = await put(metadata(round++));
          const write = (n: number) =>
            put({
              syncId: episode?.sync_id,
              playbackPosition: {
                value: n,
                timestamp: `2026-01-01T10:00:00.${String(n).padStart(6, '0')}Z`,
              },
            });
          await Promise.all(shuffled.map(write));
          expect((await list()).at(-1)?.playback_position).toEqual({
            value: 39,
            timestamp: '2026-01-01T10:00',
          });
        },
      ),
      { numRuns: full ? 20 : 2 },
    );
  });

  it('keeps its minute form, so that a merge compares by the minute', async () => {
    const played = (n: number, value: boolean, timestamp: string) => ({
      ...metadata(n),
      syncId: syncId(n),
      playedStatus: { value, timestamp },
    });
    await put(played(1, true, '2026-01-01T10:00'), played(2, false, '2026-01-01T10:00:30Z'));
    const [merged] = await put({ syncId: syncId(1), episodeGuid: metadata(2).episodeGuid });
    expect(merged?.played_status).toEqual({ value: true, timestamp: '2026-01-01T10:00' });
  });

  it('with a time in the year 1 is stored, one in 9999 gets the time of arrival', async () => {
    const [first] = await put({
      ...metadata(1),
      playedStatus: { value: true, timestamp: '0001-01-01T00:00' },
    });
    expect(first?.played_status?.timestamp).toBe('0001-01-01T00:00');
    const before = Date.now();
    await put({ ...metadata(1), newStatus: { value: true, timestamp: '9999-12-31T23:59:59Z' } });
    const minute = (time: number) => new Date(time).toISOString().slice(0, 16);
    expect([minute(before), minute(Date.now())]).toContain(
      (await list())[0]?.new_status?.timestamp,
    );
  });
});

describe('the list of episodes', () => {
  it("uses the server's stamps: old times of clients still reach other devices", async () => {
    await put(metadata(1), metadata(2));
    const since = await clock();
    await put({ ...metadata(1), playedStatus: { value: true, timestamp: '2001-01-01T00:00' } });
    expect((await list(since)).map(({ title }) => title)).toEqual(['Title 1']);
    expect(await list(await clock())).toEqual([]);
  });

  it('limits the bytes of a page; a walk in either direction sees each row once', async () => {
    await put(
      ...Array.from({ length: 30 }, (_, n) => metadata(n, { title: '"'.repeat((n * 37) % 400) })),
    );
    const all = await list();
    const walk = async (
      since: string | undefined,
      perPage: number,
      maxBytes: number,
      back: boolean,
    ) => {
      const pages: Episode[][] = [];
      const { span } = await page({ since, perPage, maxBytes });
      let cursor: ListRequest['cursor'] = back
        ? { from: 'before', id: Number.MAX_SAFE_INTEGER }
        : { from: 'after', id: 0 };
      for (let more = true; more;) {
        const answer = await page({ since, perPage, maxBytes, cursor, span });
        more = answer.more;
        const bytes = Buffer.byteLength(JSON.stringify(answer.items));
        expect(answer.items.length === 1 || bytes <= maxBytes).toBe(true);
        expect(answer.items.length).toBeGreaterThan(0);
        if (back) pages.unshift(answer.items);
        else pages.push(answer.items);
        cursor = back
          ? { from: 'before', id: answer.firstId ?? 0 }
          : { from: 'after', id: answer.lastId ?? 0 };
      }
      return pages.flat();
    };
    const walks = fc.tuple(
      fc.constantFrom(undefined, epoch),
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 9_000 }),
      fc.boolean(),
    );
    await fc.assert(
      fc.asyncProperty(walks, async (of) => {
        expect(await walk(...of)).toEqual(all);
      }),
      { numRuns: full ? 200 : 20 },
    );
  });

  it('of one podcast has its episodes only, by any of its guids', async () => {
    const [other, former] = [randomUUID(), randomUUID()];
    await context.subscription(userId, other, former);
    await put(metadata(1), metadata(2), metadata(3));
    const since = await clock();
    await put({ ...metadata(1), podcastGuid: other }, metadata(4));
    const titles = async (options: Parameters<typeof page>[0]) => {
      const { items, total } = await page({ podcastGuid, ...options });
      return [items.map(({ title }) => title), total];
    };
    const all = await page({ podcastGuid });
    expect(all.items).toEqual((await list()).filter((row) => row.podcast_guid === podcastGuid));
    expect(await titles({ perPage: 2, cursor: { from: 'page', page: 2 } })).toEqual([
      ['Title 3', 'Title 4'],
      4,
    ]);
    const { firstId: id = 0, lastId = 0 } = await page({ podcastGuid, perPage: 2 });
    expect(await titles({ perPage: 1, cursor: { from: 'after', id }, total: 4 })).toEqual([
      ['Title 2'],
      4,
    ]);
    expect(await titles({ cursor: { from: 'before', id: lastId }, total: 4 })).toEqual([
      ['Title 1'],
      4,
    ]);
    expect(await titles({ since })).toEqual([['Title 4'], 1]);
    for (const guid of [other, former])
      expect(await titles({ podcastGuid: guid, since })).toEqual([['Title 1'], 1]);
    expect(await titles({ podcastGuid: randomUUID() })).toEqual([[], 0]);
  });

  it('is one snapshot during writes, and a poller of its clock misses no change', async () => {
    let writing = true;
    const [episodes, torn] = [new Map<string, Episode>(), [] as unknown[]];
    const poll = async () => {
      let since: string | undefined;
      for (let last = false; !last;) {
        last = !writing;
        const { items, total, clock: seen } = await page({ since });
        if (total !== items.length) torn.push({ total, length: items.length });
        for (const item of items) episodes.set(item.sync_id, item);
        since = seen;
      }
    };
    const polling = poll();
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let n = 0; n < (full ? 60 : 10); n++) {
        const timestamp = new Date(Date.UTC(2026, 0, 1) + n * 1_000).toISOString();
        await put({
          ...metadata(writer * 10 + (n % 5)),
          playbackPosition: { value: n, timestamp },
        });
      }
    });
    await Promise.all(writers);
    writing = false;
    await polling;
    expect(torn).toEqual([]);
    const byId = (a: Episode, b: Episode) => a.sync_id.localeCompare(b.sync_id);
    expect([...episodes.values()].sort(byId)).toEqual((await list()).sort(byId));
  });
});
