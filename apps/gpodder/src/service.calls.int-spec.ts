import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { GpodderWorld, type Person } from '../testing/gpodder.world.js';

let world: GpodderWorld;
let ann: Person;
beforeAll(async () => {
  // In the test's own process, where its calls can be counted.
  world = await GpodderWorld.open({ MAX_ENTRIES: '1000' });
});
afterAll(() => world.close());
beforeEach(async () => {
  ann = await world.person();
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
const settings = (scope: string, asked: object) =>
  `/api/2/settings/{u}/${scope}.json?${new URLSearchParams({ podcast: feed(1), ...asked })}`;
const ofEpisode = settings('episode', { episode: medium(1) });

/** Returns the number of service calls of a request. */
async function callsOf(path: string, body: unknown): Promise<number> {
  const count = () => world.counted('podcast_sync_transport_calls_total');
  const before = await count();
  const { status } = await ann.ask(path, { body });
  expect(status).toBe(200);
  return (await count()) - before;
}

describe('the calls of services', () => {
  it('of the first upload of a client are three, also where none of its feeds has a subscription', async () => {
    const actions = Array.from({ length: 250 }, (_, n) => play(n));
    expect(await callsOf('/api/2/episodes/{u}.json', actions)).toBe(3);
    expect(await callsOf('/api/2/episodes/{u}.json', [play(251)]), 'of a later one').toBe(1);
  });

  it('of a favourite are two, and of settings of a podcast or an episode no more', async () => {
    // The first request of a client also checks its app password.
    await ann.ask('/api/2/favorites/{u}.json');
    expect(await callsOf(ofEpisode, { set: { is_favorite: true } })).toBe(2);
    expect(await callsOf(ofEpisode, { remove: ['is_favorite'] })).toBe(2);
    expect(await callsOf(ofEpisode, { set: { a: 1 } })).toBe(2);
    expect(await callsOf(settings('podcast', {}), { set: { a: 1 } })).toBe(2);
    expect(
      await callsOf(ofEpisode, { set: { a: 2, is_favorite: true } }),
      'beside other settings',
    ).toBe(3);
  });
});
