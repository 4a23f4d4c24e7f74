import { randomUUID } from 'node:crypto';

const atOnce = 8;
/** Entries per request, as in the release with the lowest limit. */
const subscriptionsAtOnce = 100;

/** Returns an episode with realistic fields. */
export function episode(podcastGuid) {
  const name = randomUUID();
  return {
    podcast_guid: podcastGuid,
    sync_id: name,
    episode_guid: name,
    title: `Episode ${name.slice(0, 4)}: of this and that, and of what else there is to say`,
    publish_date: new Date(
      Date.UTC(2020, 0) + Math.floor(Math.random() * 50_000) * 3_600_000,
    ).toISOString(),
    enclosure_url: `https://media.podcast.example/audio/2020/${name}.mp3?source=feed`,
    episode_url: `https://podcast.example/2020/episodes/${name}`,
  };
}

const feed = () => ({ feed_url: `https://podcast.example/shows/${randomUUID()}/feed.xml` });

/**
 * Creates users with subscriptions, and episodes of each user's first subscription. It uses HTTP,
 * so that it works with the tables of every release. `episodes` are thirty of them, `since` is a
 * time after all of them.
 */
export async function seedUsers(system, { users, subscribed, uploaded }) {
  const made = [];
  const one = async () => {
    while (made.length < users) {
      const user = await system.user();
      const place = made.push(user) - 1;
      const guids = await subscribe(system, user, subscribed);
      const entries = Array.from({ length: uploaded }, () => episode(guids[0]));
      const position = { value: 1, timestamp: '2020-01-01T00:00:00Z' };
      const played = { value: false, timestamp: '2020-01-01T00:00:00Z' };
      const episodes = entries.map((entry) => ({
        ...entry,
        playback_position: position,
        played_status: played,
      }));
      const { failure } = await system.call(user, 'POST', '/episodes', 200, { episodes });
      if (failure.length > 0) throw new Error(`not uploaded: ${JSON.stringify(failure[0])}`);
      // The user's clock can be ahead by some milliseconds.
      const since = new Date(Date.now() + 1_000).toISOString();
      made[place] = Object.assign(user, { guids, episodes: entries.slice(0, 30), since });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  return made;
}

/** Creates more subscriptions for each user, for cases that consume them. */
export async function seedSubscriptions(system, users, count) {
  const made = [...users];
  const one = async () => {
    for (let n = left.pop(); n !== undefined; n = left.pop())
      made[n] = { ...made[n], guids: await subscribe(system, made[n], count) };
  };
  const left = made.map((_, n) => n);
  await Promise.all(Array.from({ length: atOnce }, one));
  return made;
}

async function subscribe(system, user, count) {
  const guids = [];
  while (guids.length < count) {
    const subscriptions = Array.from(
      { length: Math.min(subscriptionsAtOnce, count - guids.length) },
      feed,
    );
    const { success } = await system.call(user, 'POST', '/subscriptions', 200, { subscriptions });
    guids.push(...success.map(({ guid }) => guid));
  }
  return guids;
}
