import { describe, expect, test } from 'vitest';
import { type Answer, expectError } from './http.js';
import type { DeletionAccepted, SubscribeAnswer, UploadAnswer } from './interface.js';
import { episode, feed, newGuid } from './samples.js';
import { User } from './user.js';

const key = (value: string) => ({ 'idempotency-key': value });
const entry = (n: number) => ({ subscriptions: [{ feed_url: feed(n) }] });

function expectSame(second: Answer, first: Answer): void {
  expect([second.status, second.text]).toEqual([first.status, first.text]);
}

describe('the same Idempotency-Key from the same user gets the first answer again and changes nothing', () => {
  test('POST /subscriptions', async () => {
    const ann = await User.fresh();
    const first = await ann.post('/subscriptions', entry(1), key('a'));
    const { sync } = await ann.subscriptions();
    expectSame(await ann.post('/subscriptions', entry(1), key('a')), first);
    expect((await ann.subscriptions()).sync).toBe(sync);
  });

  test('POST /episodes', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed();
    const first = await ann.post('/episodes', { episodes: [episode(guid, 1)] }, key('a'));
    expectSame(await ann.post('/episodes', { episodes: [episode(guid, 1)] }, key('a')), first);
    expect((await ann.episodes()).total).toBe(1);
  });

  test('PATCH, whatever happened since', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed();
    const first = await ann.patch(`/subscriptions/${guid}`, { is_subscribed: false }, key('a'));
    await ann.update(guid, { is_subscribed: true });
    expectSame(await ann.patch(`/subscriptions/${guid}`, { is_subscribed: false }, key('a')), first);
    expect((await ann.subscription(guid)).is_subscribed).toBe(true);
  });

  test('DELETE, also after the subscription is gone', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed();
    const first = await ann.delete<DeletionAccepted>(`/subscriptions/${guid}`, key('a'));
    await ann.ended(first.body.deletion_id);
    expectSame(await ann.delete(`/subscriptions/${guid}`, key('a')), first);
    expectError(await ann.delete(`/subscriptions/${guid}`, key('b')), 404);
  });

  test('with an answer of many episodes, byte for byte', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed();
    const episodes = Array.from({ length: 100 }, (_, n) => ({
      ...episode(guid, n),
      temporary_id: `ä 😀 "${n}" \u0000`,
    }));
    const first = await ann.post<UploadAnswer>('/episodes', { episodes }, key('a'));
    await ann.upload({ ...episode(guid, 7), title: 'Another title' });
    const again = await ann.post('/episodes', { episodes }, key('a'));
    expectSame(again, first);
    expect(first.body.success).toHaveLength(100);
  });

  test('also when the first answer was a 404', async () => {
    const ann = await User.fresh();
    const guid = newGuid();
    const patch = () => ann.patch(`/subscriptions/${guid}`, { is_subscribed: false }, key('a'));
    expectError(await patch(), 404);
    await ann.subscribed(feed(1), guid);
    expectError(await patch(), 404);
    expect(await ann.subscription(guid)).toMatchObject({ is_subscribed: true });
  });

  test('below /v1 and at /', async () => {
    const ann = await User.fresh();
    const first = await ann.post('/subscriptions', entry(1), key('a'));
    expectSame(await ann.post('/v1/subscriptions', entry(1), key('a')), first);
  });
});

describe('the same Idempotency-Key with another method, path or body is 405 and changes nothing', () => {
  /** A user, one subscription, and a key that they have used to unsubscribe it. */
  async function unsubscribed() {
    const ann = await User.fresh();
    const guid = await ann.subscribed();
    const other = await ann.subscribed(feed(2));
    const path = `/subscriptions/${guid}`;
    const send = () => ann.patch(path, { is_subscribed: false }, key('a'));
    const first = await send();
    const { sync } = await ann.subscriptions();
    const changesNothing = async () => {
      expect((await ann.subscriptions()).sync).toBe(sync);
      expect((await ann.episodes()).total).toBe(0);
      // The key still has the answer of its own request.
      expectSame(await send(), first);
    };
    return { ann, guid, other, path, changesNothing };
  }

  test('another body', async () => {
    const { ann, path, changesNothing } = await unsubscribed();
    expectError(await ann.patch(path, { is_subscribed: true }, key('a')), 405);
    expectError(await ann.send('PATCH', path, { raw: '{ "is_subscribed": false }', headers: key('a') }), 405);
    await changesNothing();
  });

  test('another path', async () => {
    const { ann, other, changesNothing } = await unsubscribed();
    expectError(await ann.patch(`/subscriptions/${other}`, { is_subscribed: false }, key('a')), 405);
    await changesNothing();
  });

  test('another method', async () => {
    const { ann, path, changesNothing } = await unsubscribed();
    expectError(await ann.delete(path, key('a')), 405);
    await changesNothing();
  });

  test('another operation, of another service', async () => {
    const { ann, guid, changesNothing } = await unsubscribed();
    expectError(await ann.post('/subscriptions', entry(3), key('a')), 405);
    expectError(await ann.post('/episodes', { episodes: [episode(guid, 1)] }, key('a')), 405);
    await changesNothing();
  });

  test('also of a subscription that there is not: input comes before existence', async () => {
    const { ann, changesNothing } = await unsubscribed();
    expectError(await ann.delete(`/subscriptions/${newGuid()}`, key('a')), 405);
    await changesNothing();
  });

  test('also when the first answer was an error', async () => {
    const ann = await User.fresh();
    const guid = newGuid();
    expectError(await ann.patch(`/subscriptions/${guid}`, { is_subscribed: false }, key('a')), 404);
    await ann.subscribed(feed(1), guid);
    expectError(await ann.delete(`/subscriptions/${guid}`, key('a')), 405);
    expect(await ann.subscription(guid)).toMatchObject({ is_subscribed: true });
  });
});

describe('an Idempotency-Key', () => {
  test('is of its user: another one with the same key is served', async () => {
    const [ann, bob] = [await User.fresh(), await User.fresh()];
    await ann.post('/subscriptions', entry(1), key('a'));
    await bob.post('/subscriptions', entry(2), key('a'));
    expect((await bob.subscriptions()).subscriptions).toMatchObject([{ feed_url: feed(2) }]);
  });

  test('that differs in case is another one', async () => {
    const ann = await User.fresh();
    await ann.post('/subscriptions', entry(1), key('a'));
    await ann.post('/subscriptions', entry(2), key('A'));
    expect((await ann.subscriptions()).total).toBe(2);
  });

  test('has up to 255 visible characters', async () => {
    const ann = await User.fresh();
    expect((await ann.post('/subscriptions', entry(1), key('~'.repeat(255)))).status).toBe(200);
    expectError(await ann.post('/subscriptions', entry(1), key('~'.repeat(256))), 405);
    expectError(await ann.post('/subscriptions', entry(1), key('a b')), 405);
    expectError(await ann.post('/subscriptions', entry(1), key('')), 405);
  });

  test('of a request that was refused for its input can be used again', async () => {
    const ann = await User.fresh();
    expectError(await ann.post('/subscriptions', { subscriptions: 1 }, key('a')), 405);
    expect((await ann.post('/subscriptions', entry(1), key('a'))).status).toBe(200);
  });

  test('says nothing on a GET', async () => {
    const ann = await User.fresh();
    await ann.get('/subscriptions', key('a'));
    expect((await ann.post<SubscribeAnswer>('/subscriptions', entry(1), key('a'))).body.success).toHaveLength(1);
  });
});
