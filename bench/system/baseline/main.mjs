// The baseline: one process of bare Fastify and pg that runs the same SQL and returns the same
// JSON. It has no Nest, no Redis, no validation and no rules; it trusts all input and does not
// verify tokens. It uses the services' own statements, so that both never differ.
import { randomUUID } from 'node:crypto';
import Fastify from 'fastify';
import * as deletions from '../../../dist/apps/deletion-worker/src/records/deletion.store.js';
import * as episodes from '../../../dist/apps/episode/src/episode.store.js';
import { encodeCursor } from '../../../dist/apps/gateway/src/list/cursor.js';
import * as subscriptionList from '../../../dist/apps/subscription/src/subscription.list.js';
import { urlKey } from '../../../dist/apps/subscription/src/subscription.row.js';
import * as subscriptions from '../../../dist/apps/subscription/src/subscription.store.js';
import { podcastGuid } from '#contracts';
import { beginWrite, keepAnswer } from '#database';
import { Transactions } from './transactions.mjs';
import {
  episodeAnswer,
  episodeItem,
  episodeRow,
  subscriptionItem,
  subscriptionRow,
} from './rows.mjs';

const database = new Transactions(process.env.DATABASE_URL);
const app = Fastify();
const userOf = ({ headers }) =>
  JSON.parse(Buffer.from(headers.authorization.split('.')[1], 'base64url').toString('utf8')).sub;

/** Registers a list that starts at its first row. */
function list(path, { statements, name, item }) {
  app.get(path, async (request, reply) => {
    const userId = userOf(request);
    const { since, per_page: asked = '50' } = request.query;
    const perPage = Number(asked);
    const { rows } = since
      ? await database.query(statements.changed, [userId, since, perPage + 1, 0])
      : await database.query(statements.forward, [userId, '-infinity', perPage + 1, 0, 0, null]);
    const { clock, total, id } = rows[0];
    const items = id === null ? [] : rows.slice(0, perPage);
    reply.header('sync-timestamp', clock);
    const last = items.at(-1);
    const cursor = last && { direction: 'after', boundary: last.id, syncTimestamp: clock, total };
    const scope = { userId, list: name, since };
    const next =
      rows.length > perPage &&
      `http://${request.headers.host}${path}?per_page=${perPage}&page=2&cursor=${encodeCursor(cursor, scope)}`;
    return { total, page: 1, per_page: perPage, ...(next && { next }), [name]: items.map(item) };
  });
}

/** The services' default quotas: subscriptions and their names, episodes and further sync_ids. */
const subscriptionQuotas = [10_000, 50_000];
const episodeQuotas = [1_000_000, 2_000_000];

/** Runs a write under the user's clock: reads are sent with the lock, writes with the commit. */
function write(userId, reads, run, { smallAnswer = false } = {}) {
  const requestId = randomUUID();
  return database.transaction(async (query, commit) => {
    const [started, found] = await Promise.all([
      query(beginWrite, [userId, requestId, null, true, 0]),
      query(...reads),
    ]);
    const { stamp } = started.rows[0];
    const { reply, save } = await run(found.rows, stamp, query);
    const answer = [
      keepAnswer,
      [userId, requestId, stamp, JSON.stringify({ reply }), 16 * 1_024 * 1_024],
    ];
    await commit(...save, ...(smallAnswer ? [answer] : []));
    return reply;
  });
}

list('/subscriptions', {
  statements: subscriptionList.list,
  name: 'subscriptions',
  item: subscriptionItem,
});
list('/episodes', { statements: episodes.list, name: 'episodes', item: episodeItem });

app.post('/subscriptions', (request) => {
  const userId = userOf(request);
  const urls = request.body.subscriptions.map((entry) => entry.feed_url);
  const guids = urls.map(podcastGuid);
  const keys = urls.map(urlKey);
  const hashes = keys.map((key) => Buffer.from(key, 'hex'));
  const reads = [subscriptions.load, [userId, guids, hashes, urls.length, ...subscriptionQuotas]];
  return write(userId, reads, (rows, stamp) => {
    const ids = rows[0].newIds;
    const made = urls.map((url, n) => subscriptionRow(ids[n], url, guids[n], stamp));
    const names = [
      guids.map((guid, n) => [guid, ids[n], false, true]),
      keys.map((key, n) => [key, ids[n]]),
      [],
    ];
    const save = [
      [subscriptions.save, [userId, ...[made, ...names].map((set) => JSON.stringify(set)), stamp]],
    ];
    const success = made.map((row) => subscriptionItem({ ...row, newGuid: row.guid }));
    return { reply: { success, failure: [] }, save };
  });
});

app.patch('/subscriptions/:guid', (request) => {
  const userId = userOf(request);
  const { is_subscribed: isSubscribed } = request.body;
  const reads = [subscriptions.load, [userId, [request.params.guid], [], 0, ...subscriptionQuotas]];
  const run = (rows, stamp) => {
    const row = { ...rows[0].rows[0], isSubscribed, subscriptionChanged: stamp, changed: stamp };
    const save = [[subscriptions.save, [userId, JSON.stringify([row]), '[]', '[]', '[]', stamp]]];
    return { reply: { is_subscribed: isSubscribed, subscription_changed: stamp }, save };
  };
  return write(userId, reads, run, { smallAnswer: true });
});

app.post('/episodes', (request) => {
  const userId = userOf(request);
  const entries = request.body.episodes;
  const sought = entries.map((entry) => ({
    syncId: entry.sync_id,
    podcastGuid: entry.podcast_guid,
    episodeGuid: entry.episode_guid,
  }));
  const reads = [episodes.loadKnown, [userId, JSON.stringify(sought), ...episodeQuotas]];
  return write(userId, reads, (rows, stamp) => {
    const stored = new Map(rows[0].episodes.map((row) => [row.syncId, row]));
    const saved = entries.map((entry) => episodeRow(stored.get(entry.sync_id), entry, stamp));
    const byId = Object.fromEntries(saved.map((row) => [row.id, row]));
    const save = [[episodes.settle, [userId, JSON.stringify(byId), Object.keys(byId)]]];
    return {
      reply: { success: saved.map((row, n) => episodeAnswer(row, entries[n])), failure: [] },
      save,
    };
  });
});

app.delete('/subscriptions/:guid', async (request, reply) => {
  const userId = userOf(request);
  const reads = [deletions.find, [userId, request.params.guid]];
  const run = async (rows, stamp, query) => {
    const made = await query(deletions.insert, [userId, rows[0].subscriptionId, stamp, '{}']);
    const { id } = made.rows[0];
    return { reply: id, save: [[deletions.mark, [userId, rows[0].subscriptionId, id, null]]] };
  };
  const deletionId = await write(userId, reads, run, { smallAnswer: true });
  void cascade(userId, deletionId);
  reply.code(202);
  return {
    deletion_id: deletionId,
    message: 'Deletion request was received and will be processed',
  };
});

/** Runs the statements of the deletion worker's job in one transaction. */
function cascade(userId, deletionId) {
  return database.transaction(async (query, commit) => {
    await query(deletions.lockClock, [userId]);
    const { rows } = await query(deletions.claim, [userId, deletionId]);
    await query(deletions.cascade, [userId, rows[0].subscriptionId, 0, 0]);
    await commit([deletions.end, [userId, deletionId, 'SUCCESS', null, 0]]);
  });
}

app.get('/deletions/:id', (request) => {
  const id = Number(request.params.id);
  const found = database.query(deletions.read, [userOf(request), id]);
  return found.then(({ rows }) => ({ deletion_id: id, status: rows[0].status }));
});

process.on('disconnect', () => process.exit(0));
await app.listen({ host: '127.0.0.1', port: 0 });
process.send({ url: `http://127.0.0.1:${app.server.address().port}` });
