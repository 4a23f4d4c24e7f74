// The gateway of the floor: bare Fastify with JSON Schema, a token cache, and one stream each way.
import { randomUUID } from 'node:crypto';
import Fastify from 'fastify';
import { Redis } from 'ioredis';
import { importJWK, jwtVerify } from 'jose';

const [reader, writer] = [new Redis(process.env.REDIS_URL), new Redis(process.env.REDIS_URL)];
const key = await importJWK(JSON.parse(process.env.PUBLIC_KEY), 'EdDSA');
const replies = `floor:replies:${randomUUID()}`;
const timeoutMs = 5_000;

/** Callers in flight, by the id of their request. */
const callers = new Map();

/** Sends a request to the service. Resolves with the head and the JSON text of its reply. */
function call(request) {
  const id = randomUUID();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      callers.delete(id);
      reject(Object.assign(new Error('Service unavailable'), { statusCode: 503 }));
    }, timeoutMs);
    callers.set(id, { resolve, timer });
    const message = JSON.stringify({ ...request, id, replies });
    writer.xadd('floor:requests', '*', 'request', message).catch(reject);
  });
}

async function readReplies() {
  for (let last = '$'; ;) {
    const [[, entries]] = await reader.xread('COUNT', 64, 'BLOCK', 0, 'STREAMS', replies, last);
    for (const [entry, [, head, , body]] of entries) {
      last = entry;
      const { id, ...rest } = JSON.parse(head);
      const caller = callers.get(id);
      if (!caller) continue;
      callers.delete(id);
      clearTimeout(caller.timer);
      caller.resolve({ ...rest, body });
    }
  }
}

/** Subjects of verified tokens. A token is verified once. */
const subjects = new Map();

async function userOf({ headers }) {
  const token = headers.authorization?.slice('Bearer '.length) ?? '';
  const cached = subjects.get(token);
  if (cached) return cached;
  const { payload } = await jwtVerify(token, key, { audience: 'podcast-sync' });
  subjects.set(token, payload.sub);
  return payload.sub;
}

const app = Fastify();
app.decorateRequest('user', '');
app.addHook('onRequest', async (request) => {
  request.user = await userOf(request).catch(() => {
    throw Object.assign(new Error('User not authorized'), { statusCode: 401 });
  });
});

async function answer(reply, request) {
  const { status, clock, body } = await call(request);
  if (clock) reply.header('sync-timestamp', clock);
  return reply.code(status).type('application/json; charset=utf-8').send(body);
}

const text = { type: 'string', maxLength: 4_096 };
const uuid = { type: 'string', format: 'uuid' };
const status = (value) => ({
  type: 'object',
  required: ['value', 'timestamp'],
  properties: { value, timestamp: { type: 'string', format: 'date-time' } },
});
const entry = {
  type: 'object',
  required: ['podcast_guid', 'sync_id'],
  properties: {
    podcast_guid: uuid,
    sync_id: text,
    episode_guid: text,
    title: text,
    publish_date: { type: 'string', format: 'date-time' },
    enclosure_url: text,
    episode_url: text,
    playback_position: status({ type: 'integer' }),
    played_status: status({ type: 'boolean' }),
    new_status: status({ type: 'boolean' }),
    download_status: status({ type: 'boolean' }),
    favorite_status: status({ type: 'boolean' }),
  },
};
const bodyOf = (properties) => ({
  schema: { body: { type: 'object', required: Object.keys(properties), properties } },
});
const listOf = (items, maxItems) => ({ type: 'array', maxItems, items });
const query = {
  properties: {
    since: { type: 'string', format: 'date-time' },
    per_page: { type: 'integer', minimum: 1, maximum: 250 },
    cursor: { type: 'integer' },
  },
};

for (const name of ['subscriptions', 'episodes'])
  app.get(`/${name}`, { schema: { querystring: query } }, (request, reply) => {
    const { since, per_page: perPage, cursor: after } = request.query;
    const { host } = request.headers;
    return answer(reply, {
      operation: 'list',
      name,
      user: request.user,
      since,
      after,
      perPage,
      host,
    });
  });

const feed = { type: 'object', required: ['feed_url'], properties: { feed_url: text } };
app.post('/subscriptions', bodyOf({ subscriptions: listOf(feed, 1_000) }), (request, reply) => {
  const urls = request.body.subscriptions.map(({ feed_url: url }) => url);
  return answer(reply, { operation: 'subscribe', user: request.user, urls });
});

app.patch(
  '/subscriptions/:guid',
  bodyOf({ is_subscribed: { type: 'boolean' } }),
  (request, reply) => {
    const { guid } = request.params;
    const isSubscribed = request.body.is_subscribed;
    return answer(reply, { operation: 'update', user: request.user, guid, isSubscribed });
  },
);

app.post('/episodes', bodyOf({ episodes: listOf(entry, 250) }), (request, reply) =>
  answer(reply, { operation: 'upload', user: request.user, entries: request.body.episodes }),
);

// The stream exists before it is read from its end.
await writer.xadd(replies, '*', 'head', '{}', 'body', '');
void readReplies();
process.on('disconnect', () => process.exit(0));
await app.listen({ host: '127.0.0.1', port: 0 });
process.send(`http://127.0.0.1:${app.server.address().port}`);
