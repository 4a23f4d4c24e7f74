import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { GpodderWorld, type Person } from '../../testing/gpodder.world.js';

let world: GpodderWorld;
let ann: Person;
beforeAll(async () => {
  world = await GpodderWorld.open();
});
afterAll(() => world.close());
beforeEach(async () => {
  ann = await world.person();
});

const list = async () =>
  (await ann.ask('/api/2/devices/{u}.json')).json<Record<string, unknown>[]>();
const describeDevice = (id: string, body: unknown, method = 'POST') =>
  ann.ask(`/api/2/devices/{u}/${id}.json`, { body, method });

describe('devices', () => {
  it('are described piece by piece, and shown with all four fields', async () => {
    const answer = await describeDevice('Phone.1', {
      caption: 'My phone',
      type: 'mobile',
      other: 1,
    });
    expect([answer.status, answer.text]).toEqual([200, '']);
    await describeDevice('Phone.1', { caption: 'Her phone' }, 'PUT');
    await describeDevice('laptop', {});
    await ann.ask('/api/2/subscriptions/{u}/laptop.json', {
      body: { add: ['https://a.example/feed'], remove: [] },
    });
    expect(await list()).toEqual([
      { id: 'Phone.1', caption: 'Her phone', type: 'mobile', subscriptions: 1 },
      { id: 'laptop', caption: '', type: 'other', subscriptions: 1 },
    ]);
  });

  it('are shown by version 1 alike, whatever content type comes', async () => {
    await ann.ask('/api/1/devices/{u}/x.json', {
      body: { type: 'tablet' },
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    const answer = await ann.ask('/api/1/devices/{u}.json');
    expect(answer.json()).toEqual([{ id: 'x', caption: '', type: 'mobile', subscriptions: 0 }]);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect((await ann.ask('/api/3/devices/{u}.json')).status).toBe(404);
  });

  it.each([
    ['no object', 'phone', []],
    ['no JSON', 'phone', 'x'],
    ['an empty caption', 'phone', { caption: '' }],
    ['an id with a space', 'my%20phone', {}],
  ])('are refused with %s: 400, and none is made', async (_, id, body) => {
    expect((await describeDevice(id, body)).status).toBe(400);
    expect(await list()).toEqual([]);
  });

  it('have ids of letters of any script, and captions of a hundred characters', async () => {
    await describeDevice(encodeURIComponent('Gerät-β'), { caption: '😀'.repeat(101) });
    expect(await list()).toEqual([
      { id: 'Gerät-β', caption: '😀'.repeat(100), type: 'other', subscriptions: 0 },
    ]);
  });

  it('are known once they are named in a path, but for a list of the simple API', async () => {
    expect((await ann.ask('/subscriptions/{u}/new.txt')).status).toBe(404);
    await ann.ask('/api/2/subscriptions/{u}/new.json?since=0');
    expect((await ann.ask('/subscriptions/{u}/new.txt')).status).toBe(200);
    expect((await list()).map(({ id }) => id)).toEqual(['new']);
  });

  it('are not made known by who may only read', async () => {
    const reader = await world.again(ann, ['read:subscriptions']);
    const path = '/api/2/subscriptions/{u}/new.json?since=0';
    expect((await reader.ask(path)).status).toBe(200);
    expect(await list()).toEqual([]);
    await ann.ask(path);
    expect((await list()).map(({ id }) => id)).toEqual(['new']);
  });

  it('are linked all together, whatever is asked for', async () => {
    const path = '/api/2/sync-devices/{u}.json';
    await describeDevice('a', {});
    expect((await ann.ask(path)).json()).toEqual({ synchronized: [], 'not-synchronized': ['a'] });
    await describeDevice('b', {});
    const truth = { synchronized: [['a', 'b']], 'not-synchronized': [] };
    expect((await ann.ask(path)).json()).toEqual(truth);
    const changed = await ann.ask(path, {
      body: { synchronize: [['a', 'zzz']], 'stop-synchronize': ['b'] },
    });
    expect([changed.status, changed.json()]).toEqual([200, truth]);
    expect((await ann.ask(path, { body: [] })).status).toBe(400);
  });
});
