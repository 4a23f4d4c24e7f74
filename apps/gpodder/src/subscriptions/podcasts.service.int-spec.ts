import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GpodderFixture, type GpodderUser } from '../../testing/gpodder.fixture.js';

const feed = `https://podcast.example/${crypto.randomUUID()}`;
const artwork = crypto.randomUUID();
const medium = 'https://podcast.example/1.mp3';
const settings = new URLSearchParams({ podcast: feed, episode: medium }).toString();

let fixture: GpodderFixture;
let ann: GpodderUser;

beforeAll(async () => {
  fixture = await GpodderFixture.open({ FEEDS: 'pushed' });
  ann = await fixture.user();
  await ann.request('/api/2/subscriptions/{u}/phone.json', { body: { add: [feed], remove: [] } });
  const favorite = { set: { is_favorite: true } };
  await ann.request(`/api/2/settings/{u}/episode.json?${settings}`, { body: favorite });
  await fixture.owner.query(
    `INSERT INTO feed.feeds (url_sha256, url, last_read_at, status, title, author, link, image_url)
     VALUES ($1, $2, now(), 'ok', 'Mind & Matter', 'Ann', 'https://podcast.example/', $3)`,
    [createHash('sha256').update(feed).digest(), feed, 'https://podcast.example/1.png'],
  );
  await fixture.owner.query(
    `INSERT INTO feed.images (url_sha256, id, source, bytes, next_at)
     SELECT url_sha256, $1, image_url, '', now() FROM feed.feeds WHERE url = $2`,
    [artwork, feed],
  );
  // For some seconds after the subscription, answers hide whether others follow the feed.
  await fixture.owner.query(
    `UPDATE subscription.subscriptions SET changed = t, subscription_changed = t, flipped = t
     FROM (SELECT now() - interval '1 min' AS t) t WHERE user_id = $1`,
    [ann.userId],
  );
});
afterAll(() => fixture.close());

const podcast = {
  url: feed,
  title: 'Mind & Matter',
  author: 'Ann',
  website: 'https://podcast.example/',
  logo_url: 'https://podcast.example/1.png',
  scaled_logo_url: expect.stringMatching(`^http.*/feeds/artwork/${artwork}$`) as string,
};

describe('titles and pictures', () => {
  it('are in lists, as JSON, XML and OPML', async () => {
    const list = async (name: string) => (await ann.request(`/subscriptions/{u}${name}`)).text;
    expect(JSON.parse(await list('.json'))).toMatchObject([podcast]);
    expect(await list('.xml')).toContain('<title>Mind &#38; Matter</title>');
    for (const name of ['.opml', '/phone.opml'])
      expect(await list(name)).toContain('text="Mind &#38; Matter" title="Mind &#38; Matter"');
  });

  it('are in favourites and updates', async () => {
    const favorites = await ann.request('/api/2/favorites/{u}.json');
    expect(favorites.json()).toMatchObject([{ url: medium, podcast_title: 'Mind & Matter' }]);
    const updates = await ann.request('/api/2/updates/{u}/phone.json?since=0');
    expect(updates.json()).toMatchObject({
      add: [podcast],
      updates: [{ podcast_title: 'Mind & Matter' }],
    });
  });

  it('are found for a podcast of the user only, by any equal URL', async () => {
    const pathOf = (url: string) => `/api/2/data/podcast.json?url=${encodeURIComponent(url)}`;
    const path = pathOf(feed);
    for (const url of [feed, ` ${feed}/`, feed.replace('https://podcast', 'feed://Podcast')])
      expect((await ann.request(pathOf(url))).json()).toMatchObject(podcast);
    const bob = await fixture.user();
    expect((await bob.request(path)).status).toBe(404);
    expect((await ann.request('/api/2/data/podcast.json')).status).toBe(404);
  });
});
