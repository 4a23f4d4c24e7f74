// A client of the interface: it works offline, and a sync synchronizes all devices.
//   export TOKEN=$(npm run -s token -- ann)
//   node docs/examples/example-client.mjs phone.json subscribe https://podnews.net/rss
//   … sync                            sends pending changes, asks for changes, prints the lists
//   … list                            prints the lists of the last sync
//   … play GUID EPISODE_GUID SECONDS  stores a position; the lists have the GUIDs of podcasts
// The file contains the data of the device. API is the address of the server.
//
// It lacks some rules of docs/guide/synchronise-reliably.md:
// - It does not sign in and refreshes no token.
// - It sends each change in a request of its own, and no unsubscription, title or deletion.
// - It repeats no request after a network error or a 500. The next run does.
// - It does not correct the device's clock, and shows no pending change before the sync.
// - It keeps former guids in pending changes, which the server accepts.
// - It polls once per sync, without ETag and GET /changes.
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

/**
 * Returns true if the server rejects the request, and a retry cannot succeed. A page of a proxy has
 * no `code`. After a 404 the change is kept: both lists always exist, so API is a wrong address.
 */
const isRejected = (status, body) =>
  [400, 405, 413, 431].includes(status) && body?.code === String(status);

async function request(path, options = {}) {
  for (;;) {
    const headers = { authorization: `Bearer ${TOKEN}`, ...options.headers };
    const answer = await fetch(API + path, { ...options, headers });
    const { status } = answer;
    const body = await answer.json().catch(() => undefined);
    const rejected = isRejected(status, body);
    if (rejected || (answer.ok && body))
      return { rejected, body, stamp: answer.headers.get('sync-timestamp') };
    if (status !== 503 && status !== 429)
      throw new Error(`${API + path}: ${status} ${body?.message ?? 'not an answer of the API'}`);
    await new Promise((resolve) =>
      setTimeout(resolve, 1_000 * Number(answer.headers.get('retry-after') ?? 1)),
    );
  }
}

async function send() {
  while (device.waiting.length > 0) {
    const [{ path, body, key }] = device.waiting;
    const headers = { 'content-type': 'application/json', 'idempotency-key': key };
    const { rejected, body: answer } = await request(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers,
    });
    // A rejected change is dropped, so that it does not block the next ones.
    for (const item of rejected ? [answer] : answer.failure) console.error('rejected:', item);
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

/** Stores an episode. It overwrites no pending change: a sync sends all of them before it polls. */
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

/** Prints each podcast with its GUID, and its episodes with their EPISODE_GUID. */
function printLists() {
  for (const [guid, { feed_url, is_subscribed }] of Object.entries(device.subscriptions)) {
    console.log(guid, feed_url, is_subscribed ? '' : '(unsubscribed)');
    const episodes = Object.values(device.episodes).filter((each) => each.podcast_guid === guid);
    for (const { episode_guid, enclosure_url, playback_position } of episodes)
      console.log(`  ${episode_guid || enclosure_url}: ${playback_position?.value ?? 0} s`);
  }
}

if (command === 'subscribe')
  for (const feed_url of args) {
    const timestamp = new Date().toISOString();
    enqueue('/subscriptions', { subscriptions: [{ feed_url, timestamp }] });
  }
if (command === 'play') {
  const [podcast_guid, episode_guid, seconds] = args;
  const playback_position = { value: Number(seconds), timestamp: new Date().toISOString() };
  enqueue('/episodes', { episodes: [{ podcast_guid, episode_guid, playback_position }] });
}
if (command === 'sync') {
  await send();
  await poll('subscriptions', applySubscription);
  await poll('episodes', applyEpisode);
  await removeMergedEpisodes();
}
if (command === 'sync' || command === 'list') printLists();
save();
