import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from } from 'pg-copy-streams';

const columns = `user_id, id, subscription_id, changed, publish_date, playback_position, playback_position_at, played_status,
  played_status_at, sync_id, episode_guid, title, enclosure_url, episode_url`;

/** Episodes that are uploaded together, and so changed at the same time. */
const together = 30;
const first = Date.UTC(2025, 0);

/** When the n-th of a user's uploads was made. */
const stamp = (upload) => new Date(first + upload * 1_000).toISOString();

/**
 * The `since` that a share of a user's episodes changed after; how many that are is at most one upload off.
 *
 * @param states how many the user has.
 */
export function sinceOf(states, share) {
  return stamp(Math.floor((states * (1 - share)) / together) - 1);
}

/** What is copied at once, in characters. */
const chunkSize = 65_536;

/**
 * Fills the table of episode states by COPY, without its other indexes and its triggers meanwhile: building and counting
 * afterwards is faster.
 *
 * @param owners users with as many `states`; those of a `descending` one changed last that were made first.
 * @param told is called with the number of rows so far.
 */
export async function copyEpisodes(owner, owners, told) {
  const { rows: indexes } = await owner.query(
    `SELECT indexname AS name, indexdef AS definition FROM pg_indexes
     WHERE schemaname = 'episode' AND tablename = 'episodes' AND indexname <> 'episodes_pkey'`,
  );
  for (const { name } of indexes) await owner.query(`DROP INDEX episode.${name}`);
  const { rows } = await owner.query(`SELECT nextval('episode.episode_id')::int AS id`);
  const lines = episodeLines(owners, rows[0].id, told);
  await owner.query('ALTER TABLE episode.episodes DISABLE TRIGGER USER');
  await pipeline(Readable.from(lines), owner.query(from(`COPY episode.episodes (${columns}) FROM STDIN`)));
  await owner.query('ALTER TABLE episode.episodes ENABLE TRIGGER USER');
  await owner.query(
    `INSERT INTO episode.totals AS t (user_id, episodes) SELECT * FROM unnest($1::uuid[], $2::bigint[])
     ON CONFLICT (user_id) DO UPDATE SET episodes = t.episodes + excluded.episodes`,
    [owners.map(({ id }) => id), owners.map(({ states }) => states)],
  );
  const copied = owners.reduce((sum, { states }) => sum + states, 0);
  await owner.query(`SELECT setval('episode.episode_id', $1)`, [rows[0].id + copied]);
  await owner.query(`SET maintenance_work_mem = '512MB'`);
  return indexes;
}

function* episodeLines(owners, firstId, told) {
  let id = firstId;
  let chunk = '';
  for (const user of owners)
    for (let n = 0; n < user.states; n += 1) {
      chunk += episodeLine(user, id, n);
      id += 1;
      if (chunk.length < chunkSize) continue;
      yield chunk;
      chunk = '';
      told(id - firstId);
    }
  yield chunk;
  told(id - firstId);
}

function episodeLine({ id: userId, subscriptionIds, states, descending }, id, n) {
  const [name, sync] = [randomUUID(), randomUUID()];
  const changed = stamp(Math.floor((descending ? states - 1 - n : n) / together));
  return `${[
    userId,
    id,
    subscriptionIds[n % subscriptionIds.length],
    changed,
    changed,
    n % 3600,
    changed,
    n % 2 ? 't' : 'f',
    changed,
    sync,
    name,
    `Episode ${n}: of this and that, and of what else there is to say`,
    `https://media.podcast.example/audio/2020/${name}.mp3?source=feed`,
    `https://podcast.example/2020/episodes/${name}`,
  ].join('\t')}\n`;
}
