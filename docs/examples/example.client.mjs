// A client of the interface: it works offline, and a sync synchronizes all devices.
//   export TOKEN=$(npm run -s token -- ann)
//   node docs/examples/example.client.mjs phone.json subscribe https://podnews.net/rss
//   … play GUID SYNC_ID SECONDS    stores the position of the listener
//   … sync                         sends the pending changes, then asks for changes
// The file contains the data of the device. API is the address of the server.
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const { API = 'http://127.0.0.1:3000', TOKEN } = process.env;
const [file, command, ...args] = process.argv.slice(2);
const device = existsSync(file)
  ? JSON.parse(readFileSync(file, 'utf8'))
  : { waiting: [], since: {}, subscriptions: {}, episodes: {} };
const save = () => writeFileSync(file, JSON.stringify(device, undefined, 2));

/** Stores a change of one entry. Its key makes it take effect once, even if it is sent twice. */
const enqueue = (path, body) => device.waiting.push({ path, body, key: randomUUID() });

/** Returns true if a retry of the same request cannot succeed. */
const isPermanent = (status) => [404, 405, 410, 413, 414, 431].includes(status);

async function request(path, options = {}) {
  for (;;) {
    const headers = { authorization: `Bearer ${TOKEN}`, ...options.headers };
    const answer = await fetch(API + path, { ...options, headers });
    const { status } = answer;
    if (answer.ok || isPermanent(status))
      return { status, body: await answer.json(), stamp: answer.headers.get('sync-timestamp') };
    if (status !== 503 && status !== 429) throw new Error(`${path}: ${await answer.text()}`);
    await new Promise((resolve) =>
      setTimeout(resolve, 1_000 * Number(answer.headers.get('retry-after') ?? 1)),
    );
  }
}

async function send() {
  while (device.waiting.length > 0) {
    const [{ path, body, key }] = device.waiting;
    const headers = { 'content-type': 'application/json', 'idempotency-key': key };
    const { status, body: answer } = await request(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers,
    });
    // A rejected change is dropped, so that it does not block the next ones.
    const rejected = isPermanent(status) ? [answer] : answer.failure;
    for (const item of rejected) console.error('rejected:', item);
    device.waiting.shift();
    save();
  }
}

/** Reads all pages of a list. The first page has the next `since`, which misses no change. */
async function poll(list, apply) {
  const since =
    device.since[list] === undefined ? '' : `?since=${encodeURIComponent(device.since[list])}`;
  let first;
  for (let path = `/${list}${since}`; path !== undefined;) {
    const { body, stamp } = await request(path);
    first ??= stamp;
    for (const item of body[list]) apply(item);
    // The token is sent to API only, wherever the link points.
    path = body.next && `/${list}${new URL(body.next).search}`;
  }
  device.since[list] = first;
}

/**
 * Stores a subscription. A new guid replaces the old one, also in episodes. A deletion also deletes
 * the episodes.
 */
function applySubscription({ guid, new_guid = guid, feed_url, is_subscribed, deleted }) {
  delete device.subscriptions[guid];
  if (!deleted) device.subscriptions[new_guid] = { feed_url, is_subscribed };
  for (const episode of Object.values(device.episodes)) {
    if (episode.podcast_guid !== guid) continue;
    if (deleted) delete device.episodes[episode.sync_id];
    else episode.podcast_guid = new_guid;
  }
}

const applyEpisode = (episode) => (device.episodes[episode.sync_id] = episode);

/** Reads all episodes again if the counts differ: lists do not report merged episodes. */
async function removeMergedEpisodes() {
  const { body, stamp } = await request('/episodes?per_page=1');
  // After a write in between, the counts cannot be compared before the next sync.
  if (stamp !== device.since.subscriptions || stamp !== device.since.episodes) return;
  if (body.total === Object.keys(device.episodes).length) return;
  device.episodes = {};
  delete device.since.episodes;
  await poll('episodes', applyEpisode);
}

if (command === 'subscribe')
  for (const feed_url of args) {
    const timestamp = new Date().toISOString();
    enqueue('/subscriptions', { subscriptions: [{ feed_url, timestamp }] });
  }
if (command === 'play') {
  const [podcast_guid, sync_id, seconds] = args;
  const playback_position = { value: Number(seconds), timestamp: new Date().toISOString() };
  enqueue('/episodes', { episodes: [{ podcast_guid, sync_id, playback_position }] });
}
if (command === 'sync') {
  await send();
  await poll('subscriptions', applySubscription);
  await poll('episodes', applyEpisode);
  await removeMergedEpisodes();
}
save();
