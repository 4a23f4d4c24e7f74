import { randomUUID } from 'node:crypto';
import { episode } from './seed.mjs';

const json = (method, path, body) => ({ method, path, body: JSON.stringify(body) });
const feed = () => ({ feed_url: `https://podcast.example/shows/${randomUUID()}/feed.xml` });

/** Makes each timestamp later than all previous ones. */
let uploads = 0;
function status() {
  uploads += 1;
  const timestamp = new Date(Date.UTC(2021, 0) + uploads * 1_000).toISOString();
  return { playback_position: { value: uploads, timestamp } };
}

/**
 * The measured requests of a user. Each call returns a new request, so that every write changes
 * something. Positions are new, their episodes exist.
 */
export const cases = {
  'poll, nothing new': ({ since }) => ({ method: 'GET', path: `/episodes?since=${since}` }),
  'poll of subscriptions, nothing new': ({ since }) => ({
    method: 'GET',
    path: `/subscriptions?since=${since}`,
  }),
  'page of 50 subscriptions': () => ({ method: 'GET', path: '/subscriptions?per_page=50' }),
  'page of 50 episodes': () => ({ method: 'GET', path: '/episodes?per_page=50' }),
  'POST of 1 subscription': () => json('POST', '/subscriptions', { subscriptions: [feed()] }),
  'POST of 100 subscriptions': () =>
    json('POST', '/subscriptions', { subscriptions: Array.from({ length: 100 }, feed) }),
  'POST of 30 positions': ({ episodes }) =>
    json('POST', '/episodes', { episodes: episodes.map((known) => ({ ...known, ...status() })) }),
  'POST of 30 positions by sync_id': ({ episodes }) =>
    json('POST', '/episodes', {
      episodes: episodes.map(({ podcast_guid, sync_id }) => ({
        podcast_guid,
        sync_id,
        ...status(),
      })),
    }),
  'POST of 30 new episodes': ({ guids }) =>
    json('POST', '/episodes', {
      episodes: Array.from({ length: 30 }, () => ({ ...episode(guids[0]), ...status() })),
    }),
  PATCH: ({ guids }) =>
    json('PATCH', `/subscriptions/${guids[1]}`, { is_subscribed: Math.random() < 0.5 }),
};

/**
 * A further case of several requests: from the DELETE until the end of the deletion. The floor has
 * no deletions.
 */
export const deletion = 'DELETE to SUCCESS';
