import { createHash, randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { beginWrite, storeAnswer, selectClock, type Statement, sweepRequests } from '#database';
import { selectSession, selectSyncState, saveReader, saveSession } from '#gpodder-sync';
import { podcastGuid as derivedGuidOf, urlKey } from '#contracts';
import { createDatabase, type TestDatabase } from '#testing';
import { erasurePhases } from '../../apps/deletion-worker/src/erasure/erasure.repository.js';
import * as deletions from '../../apps/deletion-worker/src/records/deletion.repository.js';
import * as excessRows from '../../apps/deletion-worker/src/records/excess-rows.repository.js';
import * as actionList from '../../apps/episode/src/action.repository.js';
import { selectActedEpisodes } from '../../apps/episode/src/action.sql.js';
import { selectUntitled } from '../../apps/episode/src/describe.repository.js';
import * as episodes from '../../apps/episode/src/episode.repository.js';
import {
  list as episodeList,
  listOfPodcast,
} from '../../apps/episode/src/episode-list.repository.js';
import * as feeds from '../../apps/subscription/src/feeds.repository.js';
import { claimImages } from '../../apps/feed/src/artwork/image.repository.js';
import { selectDueWork } from '../../apps/feed/src/due-work.js';
import * as fetches from '../../apps/feed/src/feed.sql.js';
import { selectFollowedPage } from '../../apps/feed/src/followed.sql.js';
import * as laneSql from '../../apps/feed/src/schedule/lane.sql.js';
import { selectFollowers } from '../../apps/feed/src/task/task.repository.js';
import * as subscriptionList from '../../apps/subscription/src/subscription-list.repository.js';
import * as subscriptions from '../../apps/subscription/src/subscription.repository.js';
import { explain, inFunction, type Plan, planModes } from './testing/plan.js';
import { seedEpisodes, type SeededUser } from './testing/seeded-episodes.js';

const size = process.env.TEST_FULL ? 1_000_000 : 50_000;
/** Each of two large users has a tenth of all; the others have 2,000 or less. */
const large = size / 10;
const usual = Math.min(2_000, size / 50);

const ascending = randomUUID();
const descending = randomUUID();

let database: TestDatabase;
let client: pg.Client;
let user: SeededUser;
let guids: string[];
let stored: Record<string, unknown>[];
const measured: object[] = [];
const used = new Set<string>();

beforeAll(async () => {
  database = await createDatabase();
  client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  const started = performance.now();
  const others = Array.from({ length: (size - 2 * large) / usual }, () => ({
    id: randomUUID(),
    states: usual,
  }));
  const seeded = await seedEpisodes(client, [
    { id: ascending, states: large },
    { id: descending, states: large, descending: true },
    ...others,
  ]);
  user = seeded.get(ascending) as SeededUser;
  console.log(
    `${size} episode states seeded in ${((performance.now() - started) / 1_000).toFixed(1)} s`,
  );
  const found = await client.query<{ guid: string }>(
    'SELECT guid FROM subscription.subscriptions WHERE user_id = $1 ORDER BY id',
    [ascending],
  );
  guids = found.rows.map(({ guid }) => guid);
  const rows = await client.query<Record<string, unknown>>(
    `SELECT * FROM episode.episodes JOIN episode.states USING (user_id, id, sync_id)
     WHERE user_id = $1 ORDER BY id OFFSET $2 LIMIT 30`,
    [ascending, large / 2],
  );
  stored = rows.rows;
}, 240_000);

afterAll(async () => {
  console.table(measured);
  await client.end();
  await database.drop();
});

/** A stored episode as an entry of the statement that finds it, and the parameters of that. */
const entry = (row: Record<string, unknown>, place: number) => ({
  entry: place,
  syncId: row['sync_id'],
  podcastGuid: guids[Number(row['subscription_id']) - user.subscriptionId],
  episodeGuid: row['episode_guid'],
  title: row['title'],
  publishDate: row['publish_date'],
  enclosureUrl: row['enclosure_url'],
  episodeUrl: row['episode_url'],
});

const known = (entries: ReturnType<typeof entry>[]) => [
  ascending,
  entries.map(({ podcastGuid }) => podcastGuid),
  entries.map(({ syncId }) => syncId),
  entries.map(({ episodeGuid }) => episodeGuid),
  1_000_000,
  2_000_000,
];
const sent = (entries: object[]) => [ascending, JSON.stringify(entries), 30, 1_000_000, 2_000_000];

/** Returns the time of the n-th upload of a hundred episodes. */
const upload = (n: number) => new Date(Date.UTC(2025, 0) + n * 1_000).toISOString();
const lastUpload = large / 100 - 1;

/** Plans a statement for its values and generically: Postgres switches to the generic plan. */
async function plans(statement: Statement, values: readonly unknown[]): Promise<Plan[]> {
  const found: Plan[] = [];
  for (const mode of planModes) found.push(await explain(client, statement, values, mode));
  for (const index of found.flatMap(({ indexes }) => [...indexes])) used.add(index);
  return found;
}

/** Expects index scans except of small tables, and buffers in proportion to the concerned rows. */
async function expectPlans(
  statement: Statement,
  values: readonly unknown[],
  {
    uses,
    buffers,
    pairs = 100,
    small = [],
  }: { uses: string[]; buffers: number; pairs?: number; small?: string[] },
): Promise<void> {
  for (const plan of await plans(statement, values)) {
    measured.push({
      statement: statement.name,
      rows: plan.rows,
      buffers: plan.buffers,
      'at most': buffers,
    });
    const indexes = [...plan.indexes].join(', ');
    const about = `${statement.name}: ${plan.rows} rows, ${plan.buffers} buffers, ${indexes}`;
    expect([...plan.sequential], `${about}`).toEqual(small);
    for (const index of uses) expect([...plan.indexes], `${about}`).toContain(index);
    expect(plan.buffers, `${about}`).toBeLessThanOrEqual(buffers);
    expect(plan.pairsTried, `${about}: pairs of rows that a join tried`).toBeLessThanOrEqual(pairs);
  }
}

/** Returns the query with which a function looks for due records; $1 limit, $2 milliseconds. */
async function dueOf(name: string, table: string): Promise<Statement> {
  const { text } = await inFunction(client, name, /\$q\$([^$]*)\$q\$/);
  const values = [table, '$2::double precision', '$1::integer'];
  return { name, text: values.reduce((sql, value) => sql.replace('%s', () => value), text) };
}

/** $2 since, $3 rows, $4 boundary, $5 rows to skip, $6 total. */
const page = (id: string, boundary: number, total: number | null) => [
  id,
  '-infinity',
  51,
  boundary,
  0,
  total,
];

describe(`query plans on plain tables with ${size} episode states`, () => {
  it('a page by a link reads its rows through the primary key, anywhere in the list', async () => {
    // Each row is a page of the table and one look-up of its subscription.
    const most = { uses: ['states_pkey', 'episodes_pkey'], buffers: 51 * 12 };
    const middle = Number(stored[0]?.['id']);
    await expectPlans(episodeList.forward, page(ascending, 0, large), most);
    await expectPlans(episodeList.forward, page(ascending, middle, large), most);
    await expectPlans(episodeList.backward, page(ascending, middle, large), most);
  });

  it('a page of a podcast reads the rows of the page, and its total by one index', async () => {
    const of = [...page(ascending, 0, null), guids[7]];
    const uses = ['episodes_subscription', 'states_pkey', 'guids_pkey'];
    // The total is the number of the podcast's entries in the index.
    const rows = large / 100;
    await expectPlans(listOfPodcast.forward, of, { uses, buffers: 51 * 12 + 2 * rows });
    const middle = Number(stored[0]?.['id']);
    for (const list of [listOfPodcast.forward, listOfPodcast.backward])
      await expectPlans(list, [...page(ascending, middle, rows), guids[7]], {
        uses,
        buffers: 51 * 12,
      });
  });

  it('changes of a podcast read the rows of the podcast', async () => {
    const rows = large / 100;
    const values = [ascending, upload(lastUpload - 1), 51, 0, guids[7]];
    await expectPlans(listOfPodcast.changed, values, {
      uses: ['episodes_subscription', 'states_pkey'],
      buffers: rows * 8 + 51 * 12,
      pairs: rows,
    });
  });

  it('a first page reads its total from one row', async () => {
    await expectPlans(episodeList.forward, page(ascending, 0, null), {
      uses: ['states_pkey', 'episodes_pkey', 'totals_pkey'],
      buffers: 51 * 12,
    });
  });

  it('a list of subscriptions reads its rows through the primary key', async () => {
    await expectPlans(subscriptionList.list.forward, page(ascending, 0, null), {
      uses: ['subscriptions_pkey'],
      buffers: 51 * 20,
    });
  });

  it('a poll with If-None-Match reads the clock', async () => {
    await expectPlans(selectClock, [ascending], { uses: ['user_clock_pkey'], buffers: 8 });
  });

  it('an empty poll of the gpodder API reads three rows, each by its key', async () => {
    const [credential, session] = [randomUUID(), randomUUID()];
    // The maximum of this user, and far more of others.
    const owner = 'CASE WHEN n <= 400 THEN $1::uuid ELSE gen_random_uuid() END';
    await client.query(
      `INSERT INTO sync.readers
         (user_id, credential_id, list, since, answered_second, safe_second, received_ms)
       SELECT ${owner}, gen_random_uuid(), 1, 1, 1, 1, 1 FROM generate_series(1, 40000) n`,
      [ascending],
    );
    await client.query(
      `INSERT INTO sync.reader_sessions (user_id, session_id, list, stamp_ms)
       SELECT ${owner}, gen_random_uuid(), 1, 1 FROM generate_series(1, 40000) n`,
      [ascending],
    );
    await client.query(saveReader.text, [ascending, 1, credential, 1, 1, 1, 1]);
    await client.query(saveSession.text, [ascending, 1, session, 1]);
    await client.query('ANALYZE sync.readers, sync.reader_sessions');
    await expectPlans(selectSyncState, [ascending, 1, credential, session], {
      uses: ['user_clock_pkey', 'readers_pkey', 'reader_sessions_pkey'],
      buffers: 16,
    });
    await expectPlans(selectSession, [ascending, 1, session], {
      uses: ['reader_sessions_pkey'],
      buffers: 8,
    });
  });

  it('a write starts and stores its answer with a few lookups', async () => {
    const request = randomUUID();
    await expectPlans(beginWrite, [ascending, request, null, true, 2], { uses: [], buffers: 30 });
    await client.query(
      'INSERT INTO sync.request (user_id, request_id, stamp) VALUES ($1, $2, now())',
      [ascending, request],
    );
    await expectPlans(storeAnswer, [ascending, request, upload(0), '{}', 1_000], {
      uses: [],
      buffers: 30,
    });
  });
});

describe(`query plans on plain tables of writes with ${size} episode states`, () => {
  it('an upload looks up its matches, each entry by every identifier', async () => {
    await expectPlans(episodes.selectIdentifiedEpisodes, known(stored.map(entry)), {
      uses: ['episodes_pkey', 'episodes_guid', 'states_pkey', 'sync_ids_pkey'],
      // Three lookups per entry, its subscription, and the row in two tables; a CTE counts again
      // where it is read.
      buffers: 30 * 75,
    });
    await expectPlans(episodes.selectAllCandidates, sent(stored.map(entry)), {
      uses: ['episodes_pkey', 'episodes_guid', 'states_pkey'],
      buffers: 30 * 60,
    });
    const unnamed = stored.map((row, place) => ({ ...entry(row, place), syncId: null }));
    await expectPlans(episodes.selectAllCandidates, sent(unnamed), {
      uses: [
        'episodes_guid',
        'episodes_enclosure',
        'episodes_date_and_url',
        'episodes_date_and_title',
        'episodes_pkey',
      ],
      buffers: 30 * 90,
    });
  });

  it('an upload saves its rows with the look-ups of each one’s indexes', async () => {
    const rows = stored.map((row) => ({ ...row, playback_position: 7, changed: '2026-01-02' }));
    const { arraysOf, stateColumns, metadataColumns } = episodes;
    const states = [ascending, ...arraysOf(['id', ...stateColumns.keys()], rows)];
    await expectPlans(episodes.updateStates, states, { uses: ['states_pkey'], buffers: 30 * 30 });
    const metadata = [ascending, ...arraysOf(['sync_id', ...metadataColumns.keys()], rows)];
    await expectPlans(episodes.updateMetadata, metadata, {
      uses: ['episodes_pkey'],
      buffers: 30 * 60,
    });
  });

  it('a write of subscriptions looks up its names', async () => {
    await expectPlans(
      subscriptions.selectSnapshot,
      [ascending, guids.slice(0, 50), [], 50, 10_000, 50_000],
      {
        uses: ['guids_pkey', 'totals_pkey'],
        // 50 names and their rows, up to 6 buffers each in a table of a million; a CTE counts again
        // where it is read. The quotas are one row.
        buffers: 50 * 16,
      },
    );
    await expectPlans(subscriptions.selectByGuid, [ascending, guids[0]], {
      uses: ['guids_pkey', 'subscriptions_pkey'],
      buffers: 16,
    });
  });

  it('a list of changed subscriptions of the gpodder API reads only the changed rows', async () => {
    const [since, before] = ['2025-06-01', '2024-06-01'];
    // Of the rows of one user a few, with the URLs of those that are not subscribed.
    await client.query('BEGIN');
    await client.query(
      `UPDATE subscription.subscriptions
       SET is_subscribed = false, flipped = '2025-07-01', subscription_changed = '2025-07-01',
         changed = '2025-07-01' WHERE user_id = $1 AND id < $2`,
      [ascending, user.subscriptionId + 5],
    );
    await expectPlans(feeds.selectFlippedFeeds, [ascending, 0, 501, since, Buffer.alloc(0)], {
      uses: ['feed_urls_subscription'],
      buffers: 120,
    });
    await expectPlans(feeds.selectSubscribedFeeds, [ascending, 0, 501, before, Buffer.alloc(0)], {
      uses: ['subscriptions_pkey'],
      buffers: 400,
    });
    await expectPlans(feeds.countSubscribed, [ascending], {
      uses: ['user_clock_pkey'],
      buffers: 200,
    });
    await expectPlans(
      feeds.selectFirstGuids,
      [ascending, [user.subscriptionId, user.subscriptionId + 1]],
      {
        uses: ['former_guids_pkey'],
        buffers: 16,
      },
    );
    await expectPlans(feeds.selectOtherSubscribed, [ascending, []], {
      uses: ['subscriptions_pkey'],
      buffers: 200,
    });
    await expectPlans(feeds.selectOtherUrl, [ascending, [user.subscriptionId], []], {
      uses: ['feed_urls_subscription'],
      buffers: 20,
    });
    await expectPlans(feeds.unsubscribeOthers, [ascending, [user.subscriptionId], since, since], {
      // By whichever index has the rows of the user.
      uses: [],
      // Each row is written, and its entries in four indexes.
      buffers: 10_000,
    });
    await client.query('ROLLBACK');
  });

  it('a former URL is stored by one lookup', async () => {
    const url = 'https://podcast.example/7';
    const byKey = JSON.stringify({ [createHash('sha256').update(url).digest('hex')]: url });
    await expectPlans(subscriptions.storeFormerUrls, [ascending, byKey], {
      uses: ['feed_urls_pkey'],
      buffers: 60,
    });
  });

  it('a merge reads only names of the user, and looks up pointers to a subscription', async () => {
    await expectPlans(
      subscriptions.moveAliases,
      [ascending, [user.subscriptionId + 1], [user.subscriptionId + 2], upload(0)],
      {
        uses: ['subscriptions_pointers'],
        // The plan for values uses the names of the subscription, the generic one all of the
        // user's.
        buffers: Infinity,
        // One pair of subscriptions, and each name that the user has.
        pairs: 1_000,
      },
    );
  });

  it('a deletion looks up its subscription, and reads only the episodes of that one', async () => {
    await expectPlans(deletions.findSubscription, [ascending, guids[0]], {
      uses: ['guids_pkey', 'subscriptions_pkey'],
      buffers: 24,
    });
    await expectPlans(await dueOf('deletion.claim_due', 'deletion.deletions'), [10, 1_000], {
      uses: ['deletions_due'],
      buffers: 10 * 40,
    });
    await expectPlans(excessRows.deleteOldestTombstones, [ascending, 10_000], {
      uses: ['subscriptions_tombstones'],
      // One look into each of seven indexes, whether there is anything or not.
      buffers: 7 * 8,
    });
    await expectPlans(excessRows.deleteOldestRecords, [ascending, 10_000], {
      uses: ['deletions_pkey'],
      buffers: 40 + large / 50,
    });
    await expectPlans(sweepRequests, [5_000], { uses: ['request_created_at'], buffers: 8 });
    await expectPlans(deletions.selectStatus, [ascending, 1], {
      uses: ['deletions_pkey'],
      buffers: 8,
    });
    await expectPlans(await inFunction(client, 'deletion.claim'), [ascending, 1], {
      uses: ['deletions_pkey'],
      buffers: 24,
    });
    await expectPlans(
      await inFunction(client, 'deletion.end_pending', /(UPDATE deletion[^;]*) RETURNING[^;]*;/),
      [ascending, 1, 'FAILURE', 'why'],
      { uses: ['deletions_pkey'], buffers: 40 },
    );
    // The first statements of the cascade's transaction.
    await client.query('SET enable_bitmapscan = off');
    await expectPlans(
      deletions.deleteSubscription,
      [ascending, user.subscriptionId, '2026-01-01'],
      {
        uses: ['episodes_subscription', 'states_pkey', 'sync_ids_episode_id'],
        buffers: 80 + (large / 100) * 40,
      },
    );
    await client.query('RESET enable_bitmapscan');
  });
});

it('a foreign key looks up the names of a deleted subscription', async () => {
  for (const table of ['guids', 'feed_urls']) {
    // The foreign key check of Postgres per deleted row, without its lock.
    const text = `SELECT 1 FROM ONLY subscription.${table} x
      WHERE $1 = x.user_id AND $2 = x.subscription_id`;
    const check = { name: `subscription.${table}.foreign_key`, text };
    await expectPlans(check, [ascending, user.subscriptionId], {
      uses: [`${table}_subscription`],
      buffers: 8,
    });
  }
});

it('a relay looks up due erasures, for any number of ended ones', async () => {
  await client.query(`
    INSERT INTO deletion.erasures (user_id, status, requested, finished, sent_at)
    SELECT gen_random_uuid(), 'SUCCESS', now(), now(), now() FROM generate_series(1, 5000);
    INSERT INTO deletion.erasures (user_id, requested)
    SELECT gen_random_uuid(), now()
    FROM generate_series(1, 200);
    ANALYZE deletion.erasures`);
  await expectPlans(await dueOf('deletion.claim_due_erasures', 'deletion.erasures'), [10, 1_000], {
    uses: ['erasures_due'],
    buffers: 10 * 40,
  });
});

/** Tables with many rows: $2 start of a step, $3 rows. */
const erasing = erasurePhases.filter(({ statement }) => statement.name.includes('episode.'));

describe(`query plans on plain tables of erasures with ${size} episode states`, () => {
  it.each(erasing)(
    '$statement.name reads what it removes, wherever it begins',
    async ({ statement, lowestKey }) => {
      const table = statement.name.replace('deletion.erase.', '');
      const index = `${table.replace('episode.', '')}_pkey`;
      const key = table === 'episode.states' ? 'id' : 'sync_id';
      const { rows } = await client.query<{ key: string }>(
        `SELECT ${key}::text AS key FROM ${table}
         WHERE user_id = $1 ORDER BY ${key} OFFSET $2 LIMIT 1`,
        [ascending, large / 2],
      );
      // The row is found, and its place is read, three times where a CTE reads it, too.
      for (const from of [lowestKey, rows[0]?.key ?? lowestKey])
        await expectPlans(statement, [ascending, from, 100], { uses: [index], buffers: 100 * 8 });
    },
  );
});

describe(`query plans on plain tables of lists with since, ${size} episode states`, () => {
  /** Each user and share of matches, and the id of the first page's last row. */
  async function sinces() {
    const found = [];
    for (const id of [ascending, descending])
      for (const share of [0, 0.001, 0.1, 0.5]) {
        const since = share === 0 ? '2026-01-01' : upload(Math.floor(lastUpload * (1 - share)));
        const { rows } = await client.query<{ ids: number[] }>(
          `SELECT array_agg(id::int ORDER BY id) AS ids FROM episode.states
           WHERE user_id = $1 AND changed > $2`,
          [id, since],
        );
        found.push({
          id,
          since,
          ids: rows[0]?.ids ?? [],
          where: id === ascending ? 'highest' : 'lowest',
        });
      }
    return found;
  }

  async function readBy(list: Statement, values: readonly unknown[]): Promise<number> {
    return Math.max(...(await plans(list, values)).map(({ episodesRead }) => episodesRead));
  }

  it('no page reads over four times its rows, and the first scans the matches once', async () => {
    const read = [];
    for (const { id, since, ids, where } of await sinces()) {
      const [matches, lastPage] = [ids.length, ids.length - (ids.length % 50 || 50)];
      const [walk, idRange] = [
        [id, since, 51],
        [ids[0], ids.at(-1)],
      ];
      const after = (index: number) =>
        readBy(episodeList.changedForward, [...walk, ids[index], ...idRange]);
      const before = (index: number) =>
        readBy(episodeList.changedBackward, [...walk, ids[index], ...idRange]);
      const pages = {
        first: await readBy(episodeList.changed, [...walk, 0]),
        ...(matches > 50 && {
          second: await after(49),
          last: await after(lastPage - 1),
          'back to first': await before(50),
        }),
      };
      read.push({ 'matches at ids': where, matches, ...pages });
    }
    console.table(read);
    for (const { matches, first, second = 0, last = 0, 'back to first': back = 0 } of read) {
      expect(first).toBeLessThanOrEqual(4 * 51 + matches);
      // Postgres can prefer to read and sort a few thousand rows of the range.
      const most = process.env.TEST_FULL ? 4 * 51 : 4 * 51 + matches;
      expect(Math.max(second, last, back)).toBeLessThanOrEqual(most);
    }
  });
});

describe(`query plans on plain tables of actions with ${size} episode states`, () => {
  const podcast = (row: Record<string, unknown>) =>
    `https://podcast.example/${Number(row['subscription_id']) - user.subscriptionId + 1}`;
  const actedFeeds = () =>
    [...new Set(stored.map(podcast))].map((feedUrl) => ({
      feedUrl,
      derivedGuid: derivedGuidOf(feedUrl),
    }));
  const actions = (differing: object) =>
    stored.map((row, place) => ({
      entry: place,
      feedUrl: podcast(row),
      episodeGuid: row['episode_guid'],
      enclosureUrl: row['enclosure_url'],
      ...differing,
    }));
  const loaded = (entries: object[]) => [
    ascending,
    JSON.stringify(actedFeeds()),
    JSON.stringify(entries),
    1_000_000,
    2_000_000,
  ];
  const firstIds = [ascending, 0, 0, 50];
  const second = (time: string) => Date.parse(time) / 1_000;

  it('an upload of actions finds its feeds and episodes by look-ups', async () => {
    await expectPlans(selectActedEpisodes, loaded(actions({})), {
      uses: ['feed_urls_pkey', 'episodes_guid', 'states_pkey', 'episodes_pkey'],
      // Its feed, one lookup, and the row in two tables; a CTE counts again where it is read.
      buffers: 30 * 75,
    });
    await expectPlans(selectActedEpisodes, loaded(actions({ episodeGuid: undefined })), {
      uses: ['feed_urls_pkey', 'episodes_enclosure', 'states_pkey', 'episodes_pkey'],
      buffers: 30 * 90,
    });
  });

  it('a page of all actions is read in the order of ids, wherever it is', async () => {
    const most = { uses: ['states_pkey', 'episodes_pkey'], buffers: 51 * 24 };
    await expectPlans(actionList.selectByPrimaryKey, firstIds, most);
    await expectPlans(actionList.selectByPrimaryKey, [ascending, 0, stored[0]?.['id'], 50], most);
  });

  it('a page of changes reads only the changed rows, and none without changes', async () => {
    for (const id of [ascending, descending]) {
      const at = (n: number) => [id, second(upload(n)), 0, 50];
      await expectPlans(actionList.selectByChanged, at(lastUpload - 1), {
        uses: ['states_changed', 'states_pkey', 'episodes_pkey'],
        buffers: 51 * 24 + 200,
      });
      await expectPlans(actionList.selectByChanged, [id, second('2026-01-01'), 0, 50], {
        uses: [],
        buffers: 16,
      });
    }
  });

  it('a page of one podcast reads its rows', async () => {
    const [row] = stored as [Record<string, unknown>];
    const key = Buffer.from(urlKey(podcast(row)), 'hex');
    const ofFeed = [...firstIds, key, derivedGuidOf(podcast(row)), false];
    await expectPlans(actionList.selectOfFeed, ofFeed, {
      uses: ['feed_urls_pkey', 'states_pkey', 'episodes_pkey'],
      buffers: 51 * 24 + (large / 100) * 12,
    });
  });

  it('a page of favourites is read by their own index', async () => {
    await client.query(
      `UPDATE episode.states SET favorite_status = true, favorite_status_at = '2025-01-01'
       WHERE user_id = $1 AND id % 50 = 0`,
      [ascending],
    );
    await client.query('VACUUM ANALYZE episode.states');
    await expectPlans(actionList.selectFavorites, firstIds, {
      uses: ['states_favorites', 'episodes_pkey'],
      buffers: 51 * 24,
    });
  });
});

// The last one: it changes what is stored.
describe(`query plans for episodes with little metadata, ${size} states`, () => {
  it('an upload never looks up missing metadata, even if many episodes lack it too', async () => {
    await client.query(
      `UPDATE episode.episodes
       SET title = '', enclosure_url = '', episode_url = '', publish_date = 'epoch'
       WHERE user_id = $1`,
      [ascending],
    );
    await client.query('VACUUM ANALYZE episode.episodes');
    const entries = stored.map(entry);
    const named = entries.map(({ entry: place, podcastGuid, episodeGuid }) => ({
      entry: place,
      podcastGuid,
      episodeGuid,
    }));
    await expectPlans(episodes.selectAllCandidates, sent(named), {
      uses: ['episodes_guid', 'episodes_pkey'],
      buffers: 30 * 40,
    });
    const bringing = entries.map(({ entry: place, podcastGuid, syncId, enclosureUrl }) => ({
      entry: place,
      podcastGuid,
      syncId,
      enclosureUrl,
    }));
    const uses = ['episodes_pkey', 'episodes_enclosure'];
    await expectPlans(episodes.selectAllCandidates, sent(bringing), { uses, buffers: 30 * 60 });
  });
});

// For few rows, one index can replace two.
describe('query plans of feeds with 20,000 feeds in 2,000 lanes', () => {
  const [lane, key] = ['host 7', createHash('sha256').update('7').digest()];

  beforeAll(() =>
    client.query(`
      INSERT INTO feed.feeds (url_sha256, url, declared_guid, last_read_at)
      SELECT sha256(n::text::bytea), 'https://feeds.example/' || n, md5((n / 2)::text)::uuid,
        now() - CASE WHEN n % 1000 = 0 THEN interval '20 days' ELSE interval '1 hour' END
      FROM generate_series(1, 20000) n;
      INSERT INTO feed.fetches (url_sha256, lane, next_at)
      SELECT sha256(n::text::bytea), 'host ' || n % 2000, now() + (n % 900 - 9) * interval '1 min'
      FROM generate_series(1, 20000) n;
      INSERT INTO feed.lanes (lane, next_at)
      SELECT t.lane, min(t.next_at) FROM feed.fetches t GROUP BY t.lane;
      INSERT INTO feed.images (url_sha256, id, source, next_at)
      SELECT t.url_sha256, gen_random_uuid(), 'https://feeds.example/1.png', t.next_at
      FROM feed.fetches t;
      INSERT INTO feed.imports (user_id, id, source, login, state)
      SELECT gen_random_uuid(), gen_random_uuid(), 'https://a.example/', 'ann', 'finished'
      FROM generate_series(1, 20000);
      UPDATE episode.episodes SET title = ''
      WHERE user_id = '${ascending}' AND subscription_id = ${user.subscriptionId};
      ANALYZE feed.feeds, feed.fetches, feed.lanes, feed.images, feed.imports,
        episode.episodes, subscription.feed_urls`),
  );

  it('a page of a user is read by id, and its feeds by their keys', async () => {
    const indexes = ['subscriptions_pkey', 'feeds_pkey', 'images_pkey'];
    for (const since of [null, '2026-01-01T00:00:00Z'])
      await expectPlans(selectFollowedPage, [ascending, 0, 50, since, []], {
        uses: indexes,
        buffers: 51 * 20,
      });
  });

  it('a claim reads the due lanes, and the first due feed of each', async () => {
    await expectPlans(laneSql.claimLanes, [8], {
      uses: ['lanes_due', 'fetches_due'],
      buffers: 8 * 40,
    });
  });

  it('an idle replica finds due work by index', async () => {
    const small = ['previews', 'touched', 'tasks'];
    const uses = ['imports_waiting', 'lanes_due', 'images_due'];
    await expectPlans(selectDueWork, [], { uses, buffers: 100, small });
  });

  it('a result is stored by the keys of its feed and its lane', async () => {
    const end = [lane, new Date().toISOString(), 1_000, 0];
    await expectPlans(laneSql.releaseLane, end, { uses: ['lanes_pkey'], buffers: 10 });
    await expectPlans(laneSql.saveResult, [...end, key.toString('hex'), '{}', null], {
      uses: ['lanes_pkey'],
      buffers: 20,
    });
  });

  it('a claim of pictures reads those that are due', async () => {
    await expectPlans(claimImages, [4], { uses: ['images_due', 'images_pkey'], buffers: 4 * 40 });
  });

  it('a visit reads the next followers of a feed, and finds those without titles', async () => {
    const url = 'https://podcast.example/1';
    const lookupKey = Buffer.from(urlKey(url), 'hex');
    const nobody = '00000000-0000-0000-0000-000000000000';
    // All users of the test follow the feed, so that Postgres can prefer to read all subscriptions.
    const first = [lookupKey, url, nobody, 50, 'describe', false, null];
    for (const { indexes } of await plans(selectFollowers, first))
      expect([...indexes]).toEqual(
        expect.arrayContaining(['feed_urls_by_url', 'episodes_untitled']),
      );
    const [untitled, values] = selectUntitled(ascending, url);
    await expectPlans(untitled, values, { uses: ['episodes_untitled'], buffers: 1_000 * 40 });
  });

  it('the start of visits finds other feeds with a declared guid', async () => {
    await expectPlans(fetches.startVisits, [[key], true, true], {
      uses: ['feeds_declared_guid'],
      buffers: 200,
    });
  });

  it('a sweep finds the feeds that nobody reads', async () => {
    await expectPlans(fetches.deleteUnread, [10], {
      uses: ['feeds_last_read'],
      buffers: 10 * 60,
      small: ['previews', 'imports'],
    });
  });
});

it.each(process.env.TEST_FULL ? ['these statements use'] : [])(
  'every index that keeps nothing unique is one that %s',
  async () => {
    const { rows } = await client.query<{ name: string }>(
      `SELECT s.indexrelname AS name FROM pg_stat_user_indexes s JOIN pg_index i USING (indexrelid)
       WHERE NOT i.indisunique
         AND s.schemaname IN ('sync', 'subscription', 'episode', 'deletion', 'feed')`,
    );
    expect(rows.map(({ name }) => name).filter((name) => !used.has(name))).toEqual([]);
  },
);
