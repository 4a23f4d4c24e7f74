// The service of the floor: reads requests from a consumer group, runs one statement each, answers.
import { Redis } from 'ioredis';
import pg from 'pg';
import { podcastGuid } from '#contracts';
import { changes, fields, page, subscribe, update, upload } from './statements.mjs';

const { INT8 } = pg.types.builtins;
pg.types.setTypeParser(INT8, Number);
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
const [reader, writer] = [new Redis(process.env.REDIS_URL), new Redis(process.env.REDIS_URL)];
/** The SQLSTATE for a key that exists: that of a marker, as the request is a repeated one. */
const uniqueViolation = '23505';

const query = async ({ name, text }, values) => (await pool.query({ name, text, values })).rows;

const subscriptionItem = (row) => ({
  feed_url: row.feed_url,
  guid: row.guid,
  is_subscribed: row.is_subscribed,
  subscription_changed: row.changed,
});

const statuses = (row) =>
  Object.fromEntries(
    Object.keys(fields)
      .filter((name) => row[name] !== null)
      .map((name) => [
        name,
        { value: row[name], timestamp: row[`${name}_at`].toISOString().slice(0, 16) },
      ]),
  );

const episodeItem = (row) => ({
  podcast_guid: row.podcast_guid,
  sync_id: row.sync_id,
  episode_guid: row.episode_guid,
  title: row.title,
  publish_date: row.publish_date,
  enclosure_url: row.enclosure_url,
  episode_url: row.episode_url,
  ...statuses(row),
});

const items = { subscriptions: subscriptionItem, episodes: episodeItem };

async function list({ name, user, since, after = 0, perPage = 50, host }) {
  const rows = since
    ? await query(changes[name], [user, since, perPage + 1])
    : await query(page[name], [user, after, perPage + 1]);
  const shown = rows[0].id === null ? [] : rows.slice(0, perPage);
  const next = `http://${host}/${name}?per_page=${perPage}&page=2&cursor=${shown.at(-1)?.id}`;
  const body = {
    total: since ? shown.length : rows[0].total,
    page: 1,
    per_page: perPage,
    ...(rows.length > perPage && { next }),
    [name]: shown.map(items[name]),
  };
  return { body, clock: (rows[0].clock ?? new Date(0)).toISOString() };
}

const operations = {
  list,
  async upload({ user, id, entries }) {
    const rows = await query(upload, [user, id, JSON.stringify(entries)]);
    const bySyncId = new Map(rows.map((row) => [row.sync_id, row]));
    const success = entries.map((entry) => episodeItem(bySyncId.get(entry.sync_id)));
    return { body: { success, failure: [] } };
  },
  async subscribe({ user, id, urls }) {
    const rows = await query(subscribe, [user, id, urls, urls.map(podcastGuid)]);
    return { body: { success: rows.map(subscriptionItem), failure: [] } };
  },
  async update({ user, id, guid, isSubscribed }) {
    const [row] = await query(update, [user, id, guid, isSubscribed]);
    if (!row) return error(404, 'Resource not found');
    return { body: { is_subscribed: isSubscribed, subscription_changed: row.changed } };
  },
};

const error = (status, message) => ({ status, body: { code: String(status), message } });

async function handle(entry, request) {
  const {
    status = 200,
    clock,
    body,
  } = await operations[request.operation](request).catch((caught) =>
    caught.code === uniqueViolation
      ? error(409, 'The request was repeated')
      : error(500, caught.message),
  );
  const reply = [
    'head',
    JSON.stringify({ id: request.id, status, clock }),
    'body',
    JSON.stringify(body),
  ];
  await writer
    .pipeline()
    .xadd(request.replies, 'MAXLEN', '~', 10_000, '*', ...reply)
    .xack(requests, group, entry)
    .xdel(requests, entry)
    .exec();
}

const [requests, group] = ['floor:requests', 'service'];
await writer.xgroup('CREATE', requests, group, '0', 'MKSTREAM');
process.on('disconnect', () => process.exit(0));
process.send('ready');
for (;;) {
  const read = ['GROUP', group, 'one', 'COUNT', 64, 'BLOCK', 0, 'STREAMS', requests, '>'];
  const [[, entries]] = await reader.xreadgroup(...read);
  for (const [entry, [, request]] of entries) void handle(entry, JSON.parse(request));
}
