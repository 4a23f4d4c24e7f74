import { assert, describe, expect, test } from 'vitest';
import { expectError, send } from './http.js';
import type { SubscribeAnswer, SubscriptionPage } from './interface.js';
import { token } from './stack.js';
import { User } from './user.js';

const type = { 'content-type': 'text/x-opml' };

/** The export of a podcast app: groups, titles, other attributes. */
const fromAnApp = `<?xml version="1.0" encoding="utf-8" standalone="no"?>
<opml version="1.1">
  <head>
    <title>My podcasts &amp; more</title>
    <dateCreated>Tue, 24 Nov 2026 22:00:00 GMT</dateCreated>
  </head>
  <body>
    <outline text="News">
      <outline text="A &quot;daily&quot;" type="rss"
        xmlUrl="https://feeds.example/daily?a=1&amp;b=2" htmlUrl="https://example.org/"/>
      <outline type="rss" xmlUrl="ftp://feeds.example/old"/>
      <outline type="link" url="https://example.org/"/>
    </outline>
    <outline title="🎙" type="rss" xmlURL="https://feeds.example/%F0%9F%8E%99"></outline>
  </body>
</opml>`;

const feeds = ['https://feeds.example/daily?a=1&b=2', 'https://feeds.example/%F0%9F%8E%99'];

describe('OPML', () => {
  test('of another app is imported with verdicts; the export can be imported', async () => {
    const [ann, bob] = [await User.fresh(), await User.fresh()];
    const imported = await ann.send<SubscribeAnswer & { skipped: number }>(
      'POST',
      '/subscriptions/opml',
      {
        raw: fromAnApp,
        headers: type,
      },
    );
    expect(imported.status).toBe(200);
    expect(imported.body.success.map(({ feed_url: url }) => url)).toEqual(feeds);
    expect(imported.body.failure).toMatchObject([
      { feed_url: 'ftp://feeds.example/old', code: 'invalid_url' },
    ]);
    expect(imported.body.skipped).toBe(1);

    const { text, headers } = await ann.get('/subscriptions.opml');
    assert.equal(headers.get('content-type'), 'text/x-opml; charset=utf-8');
    const again = await bob.send('POST', '/v1/subscriptions/opml', { raw: text, headers: type });
    assert.equal(again.status, 200);
    const { body } = await bob.get<SubscriptionPage>('/subscriptions');
    expect(body.subscriptions.map(({ feed_url: url }) => url)).toEqual(feeds);
  });

  test('that is invalid is rejected with an error', async () => {
    const ann = await User.fresh();
    const broken = fromAnApp.replace('</body>', '');
    expectError(await ann.send('POST', '/subscriptions/opml', { raw: broken, headers: type }), 405);
    expect((await ann.get<SubscriptionPage>('/subscriptions')).body.total).toBe(0);
  });

  test('is exported with the scope to read, and imported with the scope to write', async () => {
    const [reader, writer] = [
      await token({ scope: 'read:subscriptions' }),
      await token({ scope: 'write:subscriptions' }),
    ];
    const get = (credential: string) => send('GET', '/subscriptions.opml', { token: credential });
    const post = (credential: string) =>
      send('POST', '/subscriptions/opml', { token: credential, raw: fromAnApp, headers: type });
    expectError(await get(writer), 401);
    expectError(await post(reader), 401);
    assert.deepEqual([(await get(reader)).status, (await post(writer)).status], [200, 200]);
  });
});
