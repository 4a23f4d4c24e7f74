import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { createHash } from 'node:crypto';

/** A UUID that a text stands for. */
const uuid = (text) =>
  createHash('md5')
    .update(text)
    .digest('hex')
    .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-8$4-$5');

/**
 * Writes a file of users' data (docs/data.md): each user has so many episodes of ten subscriptions, one after the other in
 * turn, with a position and whether it was played.
 *
 * @param name what tells these users from those of other files.
 */
export async function writeData(path, { name, users, episodes, firstEpisode = 0 }) {
  const file = createWriteStream(path);
  const write = async (lines) => {
    if (!file.write(lines.join(''))) await once(file, 'drain');
  };
  for (let user = 0; user < users; user += 1) {
    const guids = Array.from({ length: 10 }, (_, n) => uuid(`${name} ${user} podcast ${n}`));
    const line = (value) => `${JSON.stringify(value)}\n`;
    const lines = [line({ user: { issuer: 'https://id.example.org', subject: `${name}-${user}` } })];
    for (const [n, guid] of guids.entries())
      lines.push(
        line({
          subscription: {
            feed_url: `https://feeds.example.org/${name}/${n}/rss`,
            guid,
            timestamp: '2025-01-01T00:00:00Z',
          },
        }),
      );
    for (let n = firstEpisode; n < firstEpisode + episodes; n += 1) {
      lines.push(line({ episode: episodeOf(guids[n % 10], `${name} ${user}`, n) }));
      if (lines.length >= 1_000) await write(lines.splice(0));
    }
    lines.push(line({ end: { subscriptions: 10, episodes } }));
    await write(lines);
  }
  file.end();
  await once(file, 'close');
}

function episodeOf(podcast_guid, user, n) {
  const at = new Date(Date.UTC(2025, 0, 1, 0, n)).toISOString();
  return {
    podcast_guid,
    sync_id: uuid(`${user} episode ${n}`),
    episode_guid: `https://podcasts.example.org/${n % 10}/episodes/${n}`,
    title: `Episode ${n}: what happened this week`,
    publish_date: at,
    enclosure_url: `https://media.example.org/${n % 10}/${n}/audio.mp3?source=feed`,
    episode_url: `https://podcasts.example.org/${n % 10}/${n}`,
    duration: 1_800 + (n % 600),
    playback_position: { value: n % 1_800, timestamp: at },
    played_status: { value: n % 3 > 0, timestamp: at },
  };
}
