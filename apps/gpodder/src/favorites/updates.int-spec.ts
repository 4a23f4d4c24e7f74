import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { GpodderFixture, type GpodderUser } from '../../testing/gpodder.fixture.js';

let fixture: GpodderFixture;
let ann: GpodderUser;
beforeAll(async () => {
  fixture = await GpodderFixture.open();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  ann = await fixture.user();
});

interface Updates {
  readonly add: { readonly url: string }[];
  readonly rem: string[];
  readonly remove: string[];
  readonly updates: Record<string, unknown>[];
  readonly timestamp: number;
}
const feed = 'https://a.example/feed';
const play = {
  podcast: feed,
  episode: 'https://a.example/1.mp3',
  action: 'play',
  timestamp: '2024-01-02T03:04:05',
  started: 1,
  position: 10,
  total: 100,
};
const updates = async (query: string) =>
  (await ann.request(`/api/2/updates/{u}/phone.json?${query}`)).json<Updates>();

describe('updates', () => {
  it('return podcasts and episodes since a timestamp, with actions on request', async () => {
    await ann.request('/api/2/subscriptions/{u}/phone.json', { body: { add: [feed], remove: [] } });
    await ann.request('/api/2/episodes/{u}.json', { body: [play] });
    const all = await updates('since=0&include_actions=true');
    expect(all.add.map(({ url }) => url)).toEqual([feed]);
    expect(all.updates).toEqual([
      expect.objectContaining({
        url: play.episode,
        podcast_url: feed,
        status: 'play',
        action: { ...play, started: 10 },
      }),
    ]);
    expect((await updates('since=0')).updates[0]).not.toHaveProperty('action');
    await ann.request('/api/2/subscriptions/{u}/phone.json', { body: { add: [], remove: [feed] } });
    const later = await updates(`since=${all.timestamp}`);
    expect([later.add, later.rem, later.remove, later.updates]).toEqual([[], [feed], [feed], []]);
  });

  it('do not change the sync state of the client', async () => {
    await ann.request('/api/2/subscriptions/{u}/phone.json', { body: { add: [feed], remove: [] } });
    await updates('since=0');
    const delta = await ann.request('/api/2/subscriptions/{u}/phone.json?since=4102444800');
    expect(delta.json()).toMatchObject({ add: [feed] });
  });

  it.each(['', 'since=x', 'since=-1'])('are 400 for %j', async (query) => {
    expect((await ann.request(`/api/2/updates/{u}/phone.json?${query}`)).status).toBe(400);
  });
});
