import { describe, expect, test } from 'vitest';
import { type Answer, expectError } from './http.js';
import type { DeletionAccepted } from './interface.js';
import { episode, feed, newGuid } from './samples.js';
import { User } from './user.js';

// database.int-spec.ts owns the rules of request ids, write-identity.spec.ts their derivation.

const key = (value: string) => ({ 'idempotency-key': value });
const entry = (n: number) => ({ subscriptions: [{ feed_url: feed(n) }] });

function expectSame(second: Answer, first: Answer): void {
  expect([second.status, second.text]).toEqual([first.status, first.text]);
}

describe('a repeated Idempotency-Key gets the first answer without further effect:', () => {
  test('POST /subscriptions, below /v1 as well', async () => {
    const ann = await User.fresh();
    const first = await ann.post('/subscriptions', entry(1), key('a'));
    const { sync } = await ann.subscriptions();
    for (const path of ['/subscriptions', '/v1/subscriptions'])
      expectSame(await ann.post(path, entry(1), key('a')), first);
    expect((await ann.subscriptions()).sync).toBe(sync);
  });

  test('POST /episodes, byte for byte', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed();
    const episodes = Array.from({ length: 100 }, (_, n) => ({
      ...episode(guid, n),
      temporary_id: `ä 😀 "${n}" \u0000`,
    }));
    const first = await ann.post('/episodes', { episodes }, key('a'));
    await ann.upload({ ...episode(guid, 7), title: 'Another title' });
    expectSame(await ann.post('/episodes', { episodes }, key('a')), first);
    expect((await ann.episodes()).episodes.some(({ title }) => title === 'Another title')).toBe(
      true,
    );
  });

  test('PATCH, after other writes and also for a 404', async () => {
    const ann = await User.fresh();
    const guid = newGuid();
    const patch = (name: string) =>
      ann.patch(`/subscriptions/${guid}`, { is_subscribed: false }, key(name));
    expectError(await patch('a'), 404);
    await ann.subscribed(feed(1), guid);
    expectError(await patch('a'), 404);
    const first = await patch('b');
    await ann.update(guid, { is_subscribed: true });
    expectSame(await patch('b'), first);
    expect((await ann.subscription(guid)).is_subscribed).toBe(true);
  });

  test('DELETE, also after the deletion', async () => {
    const ann = await User.fresh();
    const guid = await ann.subscribed();
    const first = await ann.delete<DeletionAccepted>(`/subscriptions/${guid}`, key('a'));
    await ann.ended(first.body.deletion_id);
    expectSame(await ann.delete(`/subscriptions/${guid}`, key('a')), first);
    expectError(await ann.delete(`/subscriptions/${guid}`, key('b')), 404);
  });
});

test('a repeated key with another method, path or body is 405 without effect', async () => {
  const ann = await User.fresh();
  const [guid, other] = [await ann.subscribed(), await ann.subscribed(feed(2))];
  const path = `/subscriptions/${guid}`;
  const send = () => ann.patch(path, { is_subscribed: false }, key('a'));
  const first = await send();
  const { sync } = await ann.subscriptions();
  expectError(await ann.patch(path, { is_subscribed: true }, key('a')), 405);
  expectError(
    await ann.send('PATCH', path, { raw: '{ "is_subscribed": false }', headers: key('a') }),
    405,
  );
  expectError(await ann.patch(`/subscriptions/${other}`, { is_subscribed: false }, key('a')), 405);
  expectError(await ann.delete(path, key('a')), 405);
  // Input precedes existence.
  expectError(await ann.delete(`/subscriptions/${newGuid()}`, key('a')), 405);
  expectError(await ann.post('/subscriptions', entry(3), key('a')), 405);
  expectError(await ann.post('/episodes', { episodes: [episode(guid, 1)] }, key('a')), 405);
  expect((await ann.subscriptions()).sync).toBe(sync);
  expectSame(await send(), first);
});

describe('an Idempotency-Key', () => {
  test('belongs to its user, and is case-sensitive', async () => {
    const [ann, bob] = [await User.fresh(), await User.fresh()];
    await ann.post('/subscriptions', entry(1), key('a'));
    await ann.post('/subscriptions', entry(2), key('A'));
    await bob.post('/subscriptions', entry(2), key('a'));
    expect([(await ann.subscriptions()).total, (await bob.subscriptions()).total]).toEqual([2, 1]);
  });

  test('that is too long is 405; keys of a rejected request or a GET are unused', async () => {
    const ann = await User.fresh();
    expectError(await ann.post('/subscriptions', entry(1), key('~'.repeat(256))), 405);
    expectError(await ann.post('/subscriptions', { subscriptions: 1 }, key('~'.repeat(255))), 405);
    await ann.get('/subscriptions', key('~'.repeat(255)));
    expect((await ann.post('/subscriptions', entry(1), key('~'.repeat(255)))).status).toBe(200);
  });
});
