import { describe, expect, test } from 'vitest';
import { Follower } from './follower.js';
import { errorBody } from './http.js';
import { episode, feed, newGuid } from './samples.js';
import { User } from './user.js';

const epoch = '1970-01-01T00:00:00.000Z';

describe('GET /changes', () => {
  test('sends the clock to every device of a user, first and after each change', async () => {
    const [ann, bob] = [await User.fresh(), await User.fresh()];
    const devices = [await Follower.of(ann), await Follower.of(ann, '/v1/changes')];
    const otherUser = await Follower.of(bob);
    for (const { stamps } of devices) expect(stamps).toEqual([epoch]);
    const guid = newGuid();
    const writeOfEachService = [
      () => ann.subscribed(feed(1), guid),
      () => ann.uploaded(episode(guid, 1)),
      () => ann.deleted(guid),
    ];
    for (const write of writeOfEachService) {
      await write();
      const { sync } = await ann.subscriptions();
      for (const device of devices) await device.received(sync);
    }
    const late = await Follower.of(ann);
    expect(late.stamps).toEqual([(await ann.subscriptions()).sync]);
    for (const { stamps } of devices) expect(stamps).toEqual([...new Set(stamps)].sort());
    expect(otherUser.stamps).toEqual([epoch]);
    for (const follower of [...devices, otherUser, late]) follower.leave();
  });

  test('needs a credential that can read', async () => {
    const writer = await User.fresh({ scope: 'write:subscriptions' });
    expect(await writer.get('/changes')).toMatchObject({ status: 401, body: errorBody(401) });
    expect(await writer.send('GET', '/changes', { token: 'x' })).toMatchObject({ status: 401 });
    expect(await (await User.fresh()).post('/changes', {})).toMatchObject({
      status: 405,
      body: errorBody(405),
    });
  });

  test('sends only headers for HEAD', async () => {
    const { status, headers, text } = await (await User.fresh()).send('HEAD', '/changes');
    expect([status, headers.get('content-type'), headers.get('cache-control'), text]).toEqual([
      200,
      'text/event-stream',
      'no-store',
      '',
    ]);
  });
});
