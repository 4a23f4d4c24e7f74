import { gzipSync } from 'node:zlib';
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { errorBody, httpAnswers } from '#http';
import { writeOpml } from '#opml';
import { type AppProcess, type Device, SharedStack } from '#testing';
import { feed, feeds, OpmlClient, urlsOf } from '../../testing/opml-client.js';

let stack: SharedStack;
let gateway: Pick<AppProcess, 'facts'>;
beforeAll(async () => {
  stack = await SharedStack.open();
  gateway = stack.app('gateway');
});

const path = '/subscriptions/opml';
const { ask, send, exported } = new OpmlClient(() => gateway);

async function expectNothingApplied(device: Device): Promise<void> {
  expect((await device.send('GET', '/subscriptions')).body).toMatchObject({ total: 0 });
}

describe('an import', () => {
  it('is exported in its order: 5,000 feeds in twenty writes, also below /v1/', async () => {
    const device = await stack.device(gateway);
    const sent = [...feeds(4_998), 'nonsense', feed(0)];
    const answer = await ask(device, 'POST', `/v1${path}`, { body: writeOpml(sent) });
    expect(answer.status).toBe(200);
    const { success, failure } = answer.verdicts();
    expect(failure).toMatchObject([{ feed_url: 'nonsense', code: 'invalid_url' }]);
    expect(success.map(({ feed_url: url }) => url)).toEqual(
      sent.filter((url) => url !== 'nonsense'),
    );
    expect(new Set(success.map(({ subscription_changed: stamp }) => stamp)).size).toBe(20);
    const { text } = await ask(device, 'GET', '/v1/subscriptions.opml');
    expect(await urlsOf(text)).toEqual(feeds(4_998));
  }, 60_000);

  it('can have an encoding that differs from the declared one', async () => {
    const device = await stack.device(gateway);
    const text = writeOpml([`${feed(1)}?é`]);
    for (const body of [Buffer.from(`\ufeff${text}`, 'utf16le'), Buffer.from(text, 'latin1')])
      expect((await send(device, new Uint8Array(body))).verdicts().failure).toEqual([]);
    expect(await exported(device)).toEqual([`${feed(1)}?é`]);
  });

  it('has titles, which the export contains', async () => {
    const device = await stack.device(gateway);
    const titles = ['Mind & <Matter>', undefined, ''];
    await send(device, writeOpml(feeds(3), titles));
    const { text } = await ask(device, 'GET', '/subscriptions.opml');
    expect(text).toContain(
      'text="Mind &#38; &#60;Matter&#62;" title="Mind &#38; &#60;Matter&#62;"',
    );
    expect(text).toBe(writeOpml(feeds(3), [titles[0]]));
  });

  it('can be empty, like the export of a user without subscriptions', async () => {
    const device = await stack.device(gateway);
    const { text } = await ask(device, 'GET', '/subscriptions.opml');
    expect((await send(device, text)).verdicts()).toEqual({ success: [], failure: [], skipped: 0 });
  });

  it.each([
    'text/x-opml',
    'application/opml+xml; charset=UTF-8',
    'text/xml; charset=utf-16',
    'application/xml',
  ])('can have the type %s', async (type) => {
    const device = await stack.device(gateway);
    expect((await send(device, writeOpml([feed(1)]), { 'content-type': type })).status).toBe(200);
  });
});

const invalid = { status: 405, message: 'Input could not be validated' };

describe('an invalid import is 405 without effect:', () => {
  const good = writeOpml([feed(1)]);
  it.each<[string, string | Uint8Array<ArrayBuffer>, Record<string, string>]>([
    ['broken XML', good.replace('</body>', ''), {}],
    ['an empty body', '', {}],
    ['outlines without a feed URL', '<opml><body><outline text="g"/></body></opml>', {}],
    ['another type', good, { 'content-type': 'text/html' }],
    ['a compressed body', new Uint8Array(gzipSync(good)), { 'content-encoding': 'gzip' }],
  ])('%s', async (_, body, headers) => {
    const device = await stack.device(gateway);
    const answer = await send(device, body, headers);
    expect([answer.status, answer.verdicts()]).toEqual([405, errorBody(invalid)]);
    await expectNothingApplied(device);
  });

  it('OPML sent to POST /subscriptions', async () => {
    const device = await stack.device(gateway);
    expect((await ask(device, 'POST', '/subscriptions', { body: good })).status).toBe(405);
  });

  it('another method, with Allow in the answer', async () => {
    const device = await stack.device(gateway);
    const put = await ask(device, 'PUT', path, { body: good });
    const post = await ask(device, 'POST', '/subscriptions.opml', { body: good });
    expect([put, post].map(({ status, headers }) => [status, headers.get('allow')])).toEqual([
      [405, 'POST'],
      [405, 'GET, HEAD'],
    ]);
  });
});

describe('limits', () => {
  it('allow 2 MiB; one byte more is 413', async () => {
    const device = await stack.device(gateway);
    const padded = (length: number) => writeOpml([feed(1)]).padEnd(length, ' ');
    const answer = await send(device, padded(2_097_153));
    expect([answer.status, answer.verdicts()]).toEqual([413, errorBody(httpAnswers[413])]);
    await expectNothingApplied(device);
    expect((await send(device, padded(2_097_152))).status).toBe(200);
  });

  it.each([
    ['more than 5000 feeds', writeOpml(feeds(5_001))],
    [
      'more than 100000 attributes',
      `<opml><body>${'<outline a="" b="" c="" d="" e="" f="" g=""/>'.repeat(16_000)}</body></opml>`,
    ],
  ])('reject %s with 413, and name the limit', async (limit, body) => {
    const device = await stack.device(gateway);
    const answer = await send(device, body);
    expect([answer.status, answer.verdicts()]).toEqual([
      413,
      { code: '413', message: `Request is too large: ${limit}` },
    ]);
    await expectNothingApplied(device);
  });

  it('reject a too large answer with 413 before any effect', async () => {
    const device = await stack.device(gateway);
    // Each quotation mark is two bytes of JSON.
    const outlines = feeds(4_700).map((url) => `<outline xmlUrl='${url}/${'"'.repeat(385)}'/>`);
    const answer = await send(device, `<opml><body>${outlines.join('')}</body></opml>`);
    expect([answer.status, answer.verdicts()]).toMatchObject([413, { code: '413' }]);
    await expectNothingApplied(device);
  });

  it('apply after the credential: 401 without one', async () => {
    const answers = [
      await ask(undefined, 'POST', path, { body: 'x'.repeat(3_000_000) }),
      await ask(undefined, 'GET', '/subscriptions.opml'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 401]);
  });
});

describe('an idempotency key', () => {
  it('lets an import take effect once, with the same answer after later writes', async () => {
    const device = await stack.device(gateway);
    const body = writeOpml(feeds(1_500));
    const first = await send(device, body, { 'idempotency-key': 'k1' });
    expect(first.status).toBe(200);
    const [{ guid }] = (
      await device.send<{ subscriptions: [{ guid: string }] }>('GET', '/subscriptions')
    ).body.subscriptions;
    await device.send('PATCH', `/subscriptions/${guid}`, { body: { is_subscribed: false } });
    const again = await send(device, body, { 'idempotency-key': 'k1' });
    expect([again.status, again.text]).toEqual([200, first.text]);
    expect(await exported(device)).toHaveLength(1_499);
  });

  it('is 405 with another document or operation', async () => {
    const device = await stack.device(gateway);
    await send(device, writeOpml([]), { 'idempotency-key': 'k1' });
    expect((await send(device, writeOpml([feed(1)]), { 'idempotency-key': 'k1' })).status).toBe(
      405,
    );
    const entries = { subscriptions: [{ feed_url: feed(2) }] };
    expect((await device.send('POST', '/subscriptions', { body: entries, key: 'k1' })).status).toBe(
      405,
    );
    await expectNothingApplied(device);
  });
});

describe('an import whose later write fails', () => {
  it('is 503 with partial effect, and complete when it is repeated with its key', async () => {
    const device = await stack.device(gateway);
    const sent = [
      ...feeds(1_500),
      'https://feeds.example/unwilling.xml',
      ...feeds(2_500).slice(1_500),
    ];
    const database = new pg.Client({ connectionString: stack.postgres.url });
    await database.connect();
    await database.query(
      `CREATE FUNCTION subscription.unwilling() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = 'admin_shutdown'; END $$;
       CREATE TRIGGER unwilling BEFORE INSERT ON subscription.subscriptions FOR EACH ROW
         WHEN (NEW.feed_url LIKE '%unwilling%') EXECUTE FUNCTION subscription.unwilling()`,
    );
    const headers = { 'idempotency-key': 'k1' };
    const failed = await send(device, writeOpml(sent), headers);
    expect([failed.status, failed.verdicts()]).toEqual([503, errorBody(httpAnswers[503])]);
    expect(Number(failed.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await exported(device)).toEqual(feeds(1_500));

    await database.query('DROP FUNCTION subscription.unwilling() CASCADE');
    await database.end();
    const answer = await send(device, writeOpml(sent), headers);
    expect([answer.status, answer.verdicts().failure]).toEqual([200, []]);
    expect(answer.verdicts().success.map(({ feed_url: url }) => url)).toEqual(sent);
    expect(await exported(device)).toEqual(sent);
  });
});
