import { beforeAll, describe, expect, it } from 'vitest';
import { writeOpml } from '#opml';
import { type AppProcess, SharedStack } from '#testing';
import { feeds, OpmlClient, urlsOf } from '../../testing/opml-client.js';

/** Enough feeds for a streamed document; with TEST_FULL the maximum of a user. */
const count = process.env.TEST_FULL ? 10_000 : 5_000;

let stack: SharedStack;
let gateway: Pick<AppProcess, 'facts'>;
beforeAll(async () => {
  stack = await SharedStack.open();
  gateway = stack.app('gateway');
});

const { ask, send, exported } = new OpmlClient(() => gateway);

describe('an export', () => {
  it('has type and name, a length if short, compression, and no body for HEAD', async () => {
    const device = await stack.device(gateway);
    await send(device, writeOpml(feeds(20)));
    const answer = await ask(device, 'GET', '/subscriptions.opml', {
      headers: { 'accept-encoding': 'gzip' },
    });
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/x-opml; charset=utf-8',
      'content-disposition': 'attachment; filename="subscriptions.opml"',
      'content-encoding': 'gzip',
      'cache-control': 'no-store',
    });
    const plain = await ask(device, 'GET', '/subscriptions.opml', {
      headers: { 'accept-encoding': 'identity' },
    });
    expect(plain.text).toBe(answer.text);
    const head = await ask(device, 'HEAD', '/subscriptions.opml');
    expect([head.status, head.text, head.headers.get('content-type')]).toEqual([
      200,
      '',
      'text/x-opml; charset=utf-8',
    ]);
  });

  it('omits unsubscribed feeds and contains merged ones once', async () => {
    const device = await stack.device(gateway);
    const { success } = (await send(device, writeOpml(feeds(4)))).verdicts();
    const guids = success.map(({ guid }) => guid);
    await device.send('PATCH', `/subscriptions/${guids[0]}`, { body: { is_subscribed: false } });
    await device.send('PATCH', `/subscriptions/${guids[1]}`, { body: { new_guid: guids[2] } });
    expect(await exported(device)).toHaveLength(2);
  });

  it(`contains all of ${count} feeds as a stream, and ends immediately for HEAD`, async () => {
    const device = await stack.device(gateway);
    for (let n = 0; n < count; n += 5_000)
      expect((await send(device, writeOpml(feeds(count).slice(n, n + 5_000)))).status).toBe(200);
    const start = performance.now();
    const answer = await ask(device, 'GET', '/subscriptions.opml', {
      headers: { 'accept-encoding': 'gzip' },
    });
    const tookMs = Math.round(performance.now() - start);
    console.log(`${count} feeds exported in ${tookMs} ms, ${answer.text.length} bytes`);
    expect(await urlsOf(answer.text)).toEqual(feeds(count));
    expect(['content-length', 'content-encoding'].map((name) => answer.headers.get(name))).toEqual([
      null,
      null,
    ]);
    const head = await ask(device, 'HEAD', '/subscriptions.opml');
    expect([head.status, head.text]).toEqual([200, '']);
  }, 60_000);
});
