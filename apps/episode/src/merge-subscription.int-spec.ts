import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Status, unknownMetadata } from '#contracts';
import { freshUser } from '#testing';
import { description, feed, seconds } from '../testing/generated-episodes.js';
import { metadata, syncId } from '../testing/episode-set.fixture.js';
import { bestMatch, matchRank } from '../testing/plain-match.js';
import { openService, type ServiceContext } from '../testing/service-context.js';
import { rowColumns, rowTables } from './episode.sql.js';
import { type EpisodeRow, mergeRows, newerStatus } from './episode.rules.js';
import { type StateRow, identityValues, stateValues, toEpisodeRow } from './episode.repository.js';
import { matchKeys } from './match.rules.js';

/** Compares the rules in TypeScript (uploads) and in SQL (merges), singly and in full merges. */

const [from, into] = [1, 2];
const [earlier, stamp] = ['2026-01-01T00:00:00.000Z', '2026-02-02T00:00:00.000Z'];
const runs = { numRuns: process.env.TEST_FULL ? 800 : 75 };

let context: ServiceContext;
beforeAll(async () => {
  context = await openService();
});
afterAll(() => context.close());

const one = (
  id: number,
  subscriptionId: number,
  differing: Partial<EpisodeRow> = {},
): EpisodeRow => ({
  id,
  subscriptionId,
  syncId: syncId(id),
  changed: earlier,
  duration: null,
  statuses: {},
  ...metadata(id),
  ...differing,
});

/** Returns episodes as a parameter of type json, for json_populate_recordset. */
const asJson = (episodes: readonly EpisodeRow[], userId = freshUser()) =>
  JSON.stringify(
    episodes.map((row) => ({ user_id: userId, ...identityValues(row), ...stateValues(row) })),
  );

async function store(userId: string, episodes: readonly EpisodeRow[]): Promise<void> {
  await context.owner.query(
    `WITH episodes AS (
       INSERT INTO episode.episodes
       SELECT * FROM json_populate_recordset(NULL::episode.episodes, $1)
     ), totals AS (
       INSERT INTO episode.totals (user_id, episodes)
       SELECT user_id, count(*)
       FROM json_populate_recordset(NULL::episode.episodes, $1) GROUP BY user_id
     )
     INSERT INTO episode.states SELECT * FROM json_populate_recordset(NULL::episode.states, $1)`,
    [asJson(episodes, userId)],
  );
}

async function merge(
  userId: string,
  pairs: readonly (readonly [number, number])[] = [[from, into]],
) {
  const sides = [pairs.map(([going]) => going), pairs.map(([, staying]) => staying)];
  await context.owner.query('SELECT episode.merge_subscriptions($1, $2, $3, $4, 1000000)', [
    userId,
    ...sides,
    stamp,
  ]);
  const { rows } = await context.owner.query<{ row: StateRow }>(
    `SELECT row_to_json(r) AS row
     FROM (SELECT ${rowColumns} FROM ${rowTables} WHERE s.user_id = $1 ORDER BY s.id) r`,
    [userId],
  );
  return rows.map(({ row }) => toEpisodeRow(row));
}

describe('SQL and TypeScript agree', () => {
  it('on match keys, for searched episodes and candidates', async () => {
    const some = fc.array(
      fc.oneof(
        description,
        description.map((of) => ({ ...of, enclosureUrl: '' })),
      ),
      {
        minLength: 1,
        maxLength: 20,
      },
    );
    await fc.assert(
      fc.asyncProperty(some, async (descriptions) => {
        const episodes = descriptions.map((of, index) => one(index, from, of));
        const { rows } = await context.owner.query<{
          id: number;
          date: string;
          found: boolean;
          keys: string[];
        }>(
          `SELECT e.id::int, e.publish_date::text AS date, side.found, ARRAY(
             SELECT k.rank || ' ' || encode(k.key, 'hex')
             FROM episode.match_keys(e.episode_guid, e.title, e.publish_date, e.episode_url,
               coalesce(e.comparable_enclosure_url, e.enclosure_url), side.found) k
           ) AS keys
           FROM json_populate_recordset(NULL::episode.episodes, $1) e
           CROSS JOIN (VALUES (true), (false)) side (found)`,
          [asJson(episodes)],
        );
        expect(rows).toHaveLength(2 * episodes.length);
        for (const { id, date, found, keys } of rows) {
          const episode = episodes[id] as EpisodeRow;
          const hasDate = episode.publishDate !== unknownMetadata.publishDate;
          const expected = matchKeys(hasDate ? { ...episode, publishDate: date } : episode, found);
          const hashed = expected.map(({ rank, kind, texts }) => {
            const text = [kind, ...texts].join('\n');
            return `${rank} ${createHash('sha256').update(text).digest('hex')}`;
          });
          expect(new Set(keys)).toEqual(new Set(hashed));
          expect(keys).toHaveLength(hashed.length);
        }
      }),
      runs,
    );
  });

  /** Returns a status in the JSON form that Postgres reads. */
  const asRegister = (status?: Status) =>
    status && { value: status.value, at: status.at, minute: status.minuteForm };
  const columnsOf = (status: string) =>
    `(${status}).value,
     to_char((${status}).at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at,
     (${status}).minute AS "minuteForm"`;
  const none = { value: null, at: null, minuteForm: null };

  it('on the newer of two statuses, in full and to the minute', async () => {
    const inForm = (status: Status | undefined, minuteForm: boolean) =>
      status && {
        ...status,
        minuteForm,
        at: minuteForm ? `${status.at.slice(0, 16)}:00.000000Z` : status.at,
      };
    const maybe = fc.option(seconds, { nil: undefined });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(maybe, maybe), { minLength: 1, maxLength: 20 }),
        async (pairs) => {
          const forms = [false, true].flatMap((first) =>
            [false, true].map((second) => [first, second] as const),
          );
          const all = pairs.flatMap(([a, b]) =>
            forms.map(([ofA, ofB]) => [inForm(a, ofA), inForm(b, ofB)] as const),
          );
          const { rows } = await context.owner.query<Status>(
            `SELECT ${columnsOf('n.newer')}
           FROM json_to_recordset($1) AS p (place integer, a episode.status, b episode.status)
           CROSS JOIN LATERAL (SELECT episode.newer(p.a, p.b)) n ORDER BY p.place`,
            [
              JSON.stringify(
                all.map(([a, b], place) => ({ place, a: asRegister(a), b: asRegister(b) })),
              ),
            ],
          );
          expect(rows).toEqual(all.map(([a, b]) => newerStatus(a, b) ?? none));
        },
      ),
      runs,
    );
  });

  it('on the newest of many statuses, in their order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(seconds, { maxLength: 8 }), async (all) => {
        const { rows } = await context.owner.query<Status>(
          `SELECT ${columnsOf('n.newest')} FROM (
             SELECT episode.newest(s.status ORDER BY s.place)
             FROM json_to_recordset($1) AS s (place integer, status episode.status)
           ) n`,
          [JSON.stringify(all.map((status, place) => ({ place, status: asRegister(status) })))],
        );
        expect(rows).toEqual([all.reduce<Status | undefined>(newerStatus, undefined) ?? none]);
      }),
      runs,
    );
  });
});

/**
 * Merges by the rules in TypeScript. Each episode of the merged subscription is merged into its
 * best match among the survivor's episodes in their initial state. If the match had no guid and got
 * one from an earlier merge, the two must still match with that guid.
 */
function mergedByRules(episodes: readonly EpisodeRow[]): {
  after: EpisodeRow[];
  names: Map<string, number>;
} {
  const staying = episodes.filter(({ subscriptionId }) => subscriptionId === into);
  const after = new Map(episodes.map((episode) => [episode.id, episode]));
  const names = new Map<string, number>();
  for (const going of episodes.filter(({ subscriptionId }) => subscriptionId === from)) {
    const found = bestMatch(going, staying);
    const survivor = found && after.get(found.id);
    if (survivor && matchRank(going, { ...found, episodeGuid: survivor.episodeGuid })) {
      after.set(survivor.id, mergeRows(survivor, going));
      after.delete(going.id);
      names.set(going.syncId, survivor.id);
    } else after.set(going.id, { ...going, subscriptionId: into, changed: stamp });
  }
  return { after: [...after.values()].sort((a, b) => a.id - b.id), names };
}

it('merges episodes like the rules, and stamps moved and changed ones', async () => {
  await fc.assert(
    fc.asyncProperty(feed, feed, fc.boolean(), async (going, staying, goingFirst) => {
      const userId = freshUser();
      const episodes = [
        ...going.map((of, index) => one(goingFirst ? index + 1 : index + 101, from, of)),
        ...staying.map((of, index) => one(going.length + index + 1, into, of)),
      ];
      await store(userId, episodes);
      const found = await merge(userId);
      const expected = mergedByRules(episodes);
      const unstamped = (list: readonly EpisodeRow[]) =>
        list.map((episode) => ({ ...episode, changed: '' }));
      expect(unstamped(found)).toEqual(unstamped(expected.after));
      for (const episode of found) {
        const before = episodes.find(({ id }) => id === episode.id);
        const same = isDeepStrictEqual({ ...before, changed: '' }, { ...episode, changed: '' });
        expect([episode.id, episode.changed]).toEqual([episode.id, same ? earlier : stamp]);
      }
      expect(new Map(await aliases(userId))).toEqual(expected.names);
    }),
    runs,
  );
});

it('merges several pairs as if one after another, without matches across pairs', async () => {
  const pairs = [
    [from, into],
    [3, 4],
    [5, 6],
  ] as const;
  const feeds = fc.tuple(feed, feed, feed, feed, feed, feed);
  await fc.assert(
    fc.asyncProperty(feeds, async (all) => {
      // Row ids alternate between the episodes of all subscriptions.
      const episodes = all.flatMap((of, subscription) =>
        of.map((differing, index) =>
          one(10 * index + subscription + 1, subscription + 1, differing),
        ),
      );
      const [together, inSequence] = [freshUser(), freshUser()];
      for (const userId of [together, inSequence]) await store(userId, episodes);
      const found = await merge(together, pairs);
      let expected: EpisodeRow[] = [];
      for (const pair of pairs) expected = await merge(inSequence, [pair]);
      expect(found).toEqual(expected);
      expect(await aliases(together)).toEqual(await aliases(inSequence));
    }),
    runs,
  );
});

async function aliases(userId: string): Promise<[string, number][]> {
  const { rows } = await context.owner.query<{ sync_id: string; id: number }>(
    'SELECT sync_id, episode_id::int AS id FROM episode.sync_ids WHERE user_id = $1 ORDER BY 1',
    [userId],
  );
  return rows.map((row) => [row.sync_id, row.id]);
}

async function mergeOf(...episodes: EpisodeRow[]): Promise<EpisodeRow[]> {
  const userId = freshUser();
  await store(userId, episodes);
  return merge(userId);
}

it('never merges two episodes with different guids through one without a guid', async () => {
  const shared = { enclosureUrl: metadata(9).enclosureUrl };
  const after = await mergeOf(
    one(1, from, shared),
    one(2, from, shared),
    one(3, into, { ...shared, episodeGuid: '' }),
  );
  expect(after.map(({ id, episodeGuid }) => [id, episodeGuid])).toEqual([
    [2, 'episode-2'],
    [3, 'episode-1'],
  ]);
});

it("matches only the initial state of the survivor's episodes", async () => {
  const { enclosureUrl } = metadata(1);
  const [named, bare] = [
    one(2, into, { ...unknownMetadata, episodeGuid: 'episode-1' }),
    one(3, into, { ...unknownMetadata, enclosureUrl }),
  ];
  const after = await mergeOf(one(1, from), named, bare);
  expect(after).toMatchObject([
    { id: 2, ...metadata(1) },
    { id: 3, episodeGuid: '', enclosureUrl },
  ]);
});

it('moves episodes without a match, and ignores other subscriptions', async () => {
  const after = await mergeOf(one(1, from), one(2, into), one(3, 7, { episodeGuid: 'episode-1' }));
  expect(after.map(({ subscriptionId, changed }) => [subscriptionId, changed])).toEqual([
    [into, stamp],
    [into, earlier],
    [7, earlier],
  ]);
});

it('moves the aliases of an absorbed episode', async () => {
  const userId = freshUser();
  await store(userId, [one(1, from), one(2, into, metadata(1))]);
  await context.owner.query('INSERT INTO episode.sync_ids VALUES ($1, $2, 1)', [userId, syncId(8)]);
  await merge(userId);
  expect(await aliases(userId)).toEqual([
    [syncId(1), 2],
    [syncId(8), 2],
  ]);
});
