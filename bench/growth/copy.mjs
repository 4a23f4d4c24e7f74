import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from } from 'pg-copy-streams';

/** The filled tables with their columns of an episode. */
const tables = {
  episodes: [
    'user_id',
    'id',
    'subscription_id',
    'publish_date',
    'sync_id',
    'episode_guid',
    'title',
    'enclosure_url',
    'episode_url',
  ],
  states: [
    'user_id',
    'id',
    'sync_id',
    'changed',
    'playback_position',
    'playback_position_at',
    'played_status',
    'played_status_at',
  ],
};

/** Episodes per upload, which have the same change time. */
const together = 30;
const first = Date.UTC(2025, 0);

const stamp = (upload) => new Date(first + upload * 1_000).toISOString();

/**
 * Returns the `since` after which a share of a user's episodes changed, exact to one upload.
 *
 * @param states number of the user's episode states.
 */
export function sinceOf(states, share) {
  return stamp(Math.floor((states * (1 - share)) / together) - 1);
}

const chunkSize = 65_536;

/**
 * Fills the tables of episodes and their states by COPY. Drops their secondary indexes first, as
 * building them afterwards is faster.
 *
 * @param owners users with their number of `states`; for a `descending` one the first rows changed
 * last.
 * @param onProgress receives the number of rows so far.
 * @returns the dropped indexes.
 */
export async function copyEpisodes(owner, owners, onProgress) {
  const { rows: indexes } = await owner.query(
    `SELECT indexname AS name, indexdef AS definition FROM pg_indexes
     WHERE schemaname = 'episode' AND tablename IN ('episodes', 'states')
       AND indexname NOT LIKE '%_pkey'`,
  );
  for (const { name } of indexes) await owner.query(`DROP INDEX episode.${name}`);
  const { rows } = await owner.query(`SELECT nextval('episode.episode_id')::int AS id`);
  const copied = owners.reduce((sum, { states }) => sum + states, 0);
  for (const [n, [table, columns]] of Object.entries(tables).entries()) {
    const lines = episodeLines(owners, rows[0].id, columns, (done) =>
      onProgress(Math.round((n * copied + done) / 2)),
    );
    const copy = from(`COPY episode.${table} (${columns.join(', ')}) FROM STDIN`);
    await pipeline(Readable.from(lines), owner.query(copy));
  }
  await owner.query(
    `INSERT INTO episode.totals AS t (user_id, episodes) SELECT *
     FROM unnest($1::uuid[], $2::bigint[])
     ON CONFLICT (user_id) DO UPDATE SET episodes = t.episodes + excluded.episodes`,
    [owners.map(({ id }) => id), owners.map(({ states }) => states)],
  );
  await owner.query(`SELECT setval('episode.episode_id', $1)`, [rows[0].id + copied]);
  await owner.query(`SET maintenance_work_mem = '512MB'`);
  return indexes;
}

function* episodeLines(owners, firstId, columns, onProgress) {
  let id = firstId;
  let chunk = '';
  for (const user of owners)
    for (let n = 0; n < user.states; n += 1) {
      const row = episodeRow(user, id, n);
      chunk += `${columns.map((column) => row[column]).join('\t')}\n`;
      id += 1;
      if (chunk.length < chunkSize) continue;
      yield chunk;
      chunk = '';
      onProgress(id - firstId);
    }
  yield chunk;
  onProgress(id - firstId);
}

function episodeRow({ id: userId, subscriptionIds, states, descending }, id, n) {
  // The same in both tables and in random order, like keys of clients: the index fills row by row.
  const name = createHash('md5')
    .update(`${id}`)
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  const changed = stamp(Math.floor((descending ? states - 1 - n : n) / together));
  return {
    user_id: userId,
    id,
    subscription_id: subscriptionIds[n % subscriptionIds.length],
    changed,
    publish_date: changed,
    playback_position: n % 3600,
    playback_position_at: changed,
    played_status: n % 2 ? 't' : 'f',
    played_status_at: changed,
    sync_id: name,
    episode_guid: name,
    title: `Episode ${n}: of this and that, and of what else there is to say`,
    enclosure_url: `https://media.podcast.example/audio/2020/${name}.mp3?source=feed`,
    episode_url: `https://podcast.example/2020/episodes/${name}`,
  };
}
