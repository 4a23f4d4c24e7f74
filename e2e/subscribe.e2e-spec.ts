import { describe, expect, test } from 'vitest';
import { stampForm } from './http.js';
import type { SubscribeAnswer } from './interface.js';
import { feed, newGuid } from './samples.js';
import { User } from './user.js';

// subscribe.rules.spec.ts of the subscription app owns the rules. These tests cover HTTP.

const [urlA, urlB, urlC] = [feed('a'), feed('b'), feed('c')];

async function post(ann: User, ...subscriptions: unknown[]): Promise<SubscribeAnswer> {
  return (await ann.post<SubscribeAnswer>('/subscriptions', { subscriptions })).body;
}

describe('POST /subscriptions', () => {
  test('answers an entry with feed_url, guid, is_subscribed and its stamp', async () => {
    const ann = await User.fresh();
    const guid = newGuid();
    const { success, failure } = await post(ann, { feed_url: urlA, guid: guid.toUpperCase() });
    expect(failure).toEqual([]);
    const stamp = expect.stringMatching(stampForm) as string;
    expect(success).toEqual([
      { feed_url: urlA, guid, is_subscribed: true, subscription_changed: stamp },
    ]);
    expect(await ann.subscription(guid)).toEqual(success[0]);
  });

  test('judges each entry separately and keeps the order of the request', async () => {
    const ann = await User.fresh();
    const wrong = ' Nonsense\u0000 ☂';
    const entries: object[] = [urlB, wrong, urlA, 'ftp://a.example/', urlC].map((feed_url) => ({
      feed_url,
    }));
    const { success, failure } = await post(ann, ...entries, { feed_url: urlC, guid: 7 });
    expect(success.map((entry) => entry.feed_url)).toEqual([urlB, urlA, urlC]);
    expect(failure).toEqual([
      { feed_url: wrong, code: 'invalid_url', message: 'The URL contains a NUL character' },
      {
        feed_url: 'ftp://a.example/',
        code: 'invalid_url',
        message: 'The URL is neither http nor https',
      },
      { feed_url: urlC, code: 'invalid_guid', message: 'The guid is not a valid UUID' },
    ]);
    expect((await ann.subscriptions()).total).toBe(3);
  });
});
