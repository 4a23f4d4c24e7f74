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

const list = async () =>
  (await ann.request('/api/2/devices/{u}.json')).json<Record<string, unknown>[]>();
const describeDevice = (id: string, body: unknown, method = 'POST') =>
  ann.request(`/api/2/devices/{u}/${id}.json`, { body, method });

describe('devices', () => {
  it('can be described in parts, and are listed with all fields', async () => {
    const answer = await describeDevice('Phone.1', {
      caption: 'My phone',
      type: 'mobile',
      other: 1,
    });
    expect([answer.status, answer.text]).toEqual([200, '']);
    await describeDevice('Phone.1', { caption: 'Her phone' }, 'PUT');
    await describeDevice('laptop', {});
    await ann.request('/api/2/subscriptions/{u}/laptop.json', {
      body: { add: ['https://a.example/feed'], remove: [] },
    });
    expect(await list()).toEqual([
      { id: 'Phone.1', caption: 'Her phone', type: 'mobile', subscriptions: 1 },
      { id: 'laptop', caption: '', type: 'other', subscriptions: 1 },
    ]);
  });

  it('are the same in version 1, with any content type', async () => {
    await ann.request('/api/1/devices/{u}/x.json', {
      body: { type: 'tablet' },
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    const answer = await ann.request('/api/1/devices/{u}.json');
    expect(answer.json()).toEqual([{ id: 'x', caption: '', type: 'mobile', subscriptions: 0 }]);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect((await ann.request('/api/3/devices/{u}.json')).status).toBe(404);
  });

  it.each([
    ['no object', 'phone', []],
    ['no JSON', 'phone', 'x'],
    ['an empty caption', 'phone', { caption: '' }],
    ['an id with a space', 'my%20phone', {}],
  ])('are 400 with %s, and not created', async (_, id, body) => {
    expect((await describeDevice(id, body)).status).toBe(400);
    expect(await list()).toEqual([]);
  });

  it('can have ids in any script, and captions of 100 characters', async () => {
    await describeDevice(encodeURIComponent('Gerät-β'), { caption: '😀'.repeat(101) });
    expect(await list()).toEqual([
      { id: 'Gerät-β', caption: '😀'.repeat(100), type: 'other', subscriptions: 0 },
    ]);
  });

  it('are created by a path, except in the simple API', async () => {
    expect((await ann.request('/subscriptions/{u}/new.txt')).status).toBe(404);
    await ann.request('/api/2/subscriptions/{u}/new.json?since=0');
    expect((await ann.request('/subscriptions/{u}/new.txt')).status).toBe(200);
    expect((await list()).map(({ id }) => id)).toEqual(['new']);
  });

  it('are not created by an app password that can only read', async () => {
    const reader = await fixture.withNewPassword(ann, ['read:subscriptions']);
    const path = '/api/2/subscriptions/{u}/new.json?since=0';
    expect((await reader.request(path)).status).toBe(200);
    expect(await list()).toEqual([]);
    await ann.request(path);
    expect((await list()).map(({ id }) => id)).toEqual(['new']);
  });

  it('are always all linked', async () => {
    const path = '/api/2/sync-devices/{u}.json';
    await describeDevice('a', {});
    expect((await ann.request(path)).json()).toEqual({
      synchronized: [],
      'not-synchronized': ['a'],
    });
    await describeDevice('b', {});
    const linked = { synchronized: [['a', 'b']], 'not-synchronized': [] };
    expect((await ann.request(path)).json()).toEqual(linked);
    const changed = await ann.request(path, {
      body: { synchronize: [['a', 'zzz']], 'stop-synchronize': ['b'] },
    });
    expect([changed.status, changed.json()]).toEqual([200, linked]);
    expect((await ann.request(path, { body: [] })).status).toBe(400);
  });
});
