import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { GpodderFixture, type GpodderUser } from '../testing/gpodder.fixture.js';

let fixture: GpodderFixture;
let ann: GpodderUser;
beforeAll(async () => {
  // Settings of its own start it in this process, which has its metrics.
  fixture = await GpodderFixture.open({ MAX_ENTRIES: '1000' });
});
afterAll(() => fixture.close());
beforeEach(async () => {
  ann = await fixture.user();
});

const feed = (n: number) => `https://a.example/${n}/feed`;
const medium = (n: number) => `https://a.example/${n}.mp3`;
const play = (n: number) => ({
  podcast: feed(n),
  episode: medium(n),
  action: 'play',
  position: 60,
  device: 'phone',
});
const settings = (scope: string, query: object) =>
  `/api/2/settings/{u}/${scope}.json?${new URLSearchParams({ podcast: feed(1), ...query })}`;
const ofEpisode = settings('episode', { episode: medium(1) });

/** Returns the number of service calls of a request. */
async function callsOf(path: string, body: unknown): Promise<number> {
  const count = () => fixture.metric('podcast_sync_transport_calls_total');
  const before = await count();
  const { status } = await ann.request(path, { body });
  expect(status).toBe(200);
  return (await count()) - before;
}

describe('the number of service calls', () => {
  it('is three for the first upload of a client, also with unknown feeds', async () => {
    const actions = Array.from({ length: 250 }, (_, n) => play(n));
    expect(await callsOf('/api/2/episodes/{u}.json', actions)).toBe(3);
    expect(await callsOf('/api/2/episodes/{u}.json', [play(251)]), 'of a later upload').toBe(1);
  });

  it('is two for a favourite, and for settings of a podcast or an episode', async () => {
    // The first request of a client also checks its app password.
    await ann.request('/api/2/favorites/{u}.json');
    expect(await callsOf(ofEpisode, { set: { is_favorite: true } })).toBe(2);
    expect(await callsOf(ofEpisode, { remove: ['is_favorite'] })).toBe(2);
    expect(await callsOf(ofEpisode, { set: { a: 1 } })).toBe(2);
    expect(await callsOf(settings('podcast', {}), { set: { a: 1 } })).toBe(2);
    expect(
      await callsOf(ofEpisode, { set: { a: 2, is_favorite: true } }),
      'with other settings',
    ).toBe(3);
  });
});
