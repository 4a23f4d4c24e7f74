import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { errorBody } from './http.js';
import { baseUrl, token } from './stack.js';

/** The public URL of the system under test, if set (`PUBLIC_URL`). */
const publicUrl = process.env['PUBLIC_URL'];

interface RawAnswer {
  status: number;
  headers: string;
  body: string;
}

/** Sends bytes unchanged and reads until the server closes the connection. */
async function exchange(bytes: string | Buffer): Promise<RawAnswer> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => socket.destroy());
  socket.write(bytes);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  const [headers = '', body = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n');
  // The first chunk of a chunked body: these answers have no others.
  const whole = /^transfer-encoding: chunked/im.test(headers)
    ? (body.split('\r\n')[1] ?? '')
    : body;
  return { status: Number(headers.split(' ')[1]), headers, body: whole };
}

/** Returns a raw request whose connection closes after its answer. */
function request(line: string, ...headers: string[]): string {
  return [line, 'Host: sync.local', 'Connection: close', ...headers, '', ''].join('\r\n');
}

function expectRaw({ status, headers, body }: RawAnswer, expected: number): void {
  expect([status, JSON.parse(body)]).toEqual([expected, errorBody(expected)]);
  expect(headers).toMatch(/^content-type: application\/json/im);
}

describe('invalid HTTP is 400, and the connection closes:', () => {
  test.each([
    ['nonsense', 'hello\r\n\r\n'],
    ['bytes of TLS', Buffer.from('160301020001000001fc0303', 'hex')],
    ['a version that does not exist', 'GET / HTTP/9.9\r\n\r\n'],
    ['a method that does not exist', 'FETCH / HTTP/1.1\r\nHost: sync.local\r\n\r\n'],
    ['a header without a colon', 'GET / HTTP/1.1\r\nHost sync.local\r\n\r\n'],
    ['a NUL in a header', 'GET / HTTP/1.1\r\nHost: sync.local\r\nX: \u0000\r\n\r\n'],
    [
      'a length other than a number',
      'POST / HTTP/1.1\r\nHost: sync.local\r\nContent-Length: x\r\n\r\n',
    ],
    [
      'both a length and chunks',
      request('POST / HTTP/1.1', 'Content-Length: 1', 'Transfer-Encoding: chunked'),
    ],
    [
      'bytes that are no path',
      Buffer.from('GET /\xff\xfe HTTP/1.1\r\nHost: sync.local\r\n\r\n', 'latin1'),
    ],
    ['no host', 'GET /subscriptions HTTP/1.1\r\n\r\n'],
    ['an unknown expectation', request('GET /subscriptions HTTP/1.1', 'Expect: miracles')],
    ['a tunnel', request('CONNECT a.example:443 HTTP/1.1')],
  ])('%s', async (_, bytes) => expectRaw(await exchange(bytes), 400));

  test('an invalid chunk', async () => {
    const head = request('POST /subscriptions HTTP/1.1', `Authorization: Bearer ${await token()}`);
    const bytes = head.replace(
      /\r\n$/,
      'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n',
    );
    expectRaw(await exchange(bytes), 400);
  });
});

describe('a too large request head is 431', () => {
  test('because of its headers', async () => {
    expectRaw(await exchange(request('GET / HTTP/1.1', `X-Large: ${'x'.repeat(40_000)}`)), 431);
  });

  test('because of its path', async () => {
    expectRaw(await exchange(request(`GET /subscriptions?x=${'x'.repeat(40_000)} HTTP/1.1`)), 431);
  });
});

describe('a too large body is 413', () => {
  test('by its length, before it is sent', async () => {
    const head = request(
      'POST /subscriptions HTTP/1.1',
      `Authorization: Bearer ${await token()}`,
      'Content-Type: application/json',
      'Content-Length: 2097153',
    );
    expectRaw(await exchange(head), 413);
  });

  test('in chunks of unknown total length', async () => {
    const chunk = `80000\r\n${' '.repeat(0x80000)}\r\n`;
    const head = request(
      'POST /subscriptions HTTP/1.1',
      `Authorization: Bearer ${await token()}`,
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
    );
    expectRaw(await exchange(head + chunk.repeat(5)), 413);
  });

  test('but only with a valid credential', async () => {
    const head = request(
      'POST /subscriptions HTTP/1.1',
      'Content-Type: application/json',
      'Content-Length: 2097153',
    );
    expectRaw(await exchange(head), 401);
  });
});

describe('unusual valid HTTP is served:', () => {
  test('pipelined requests', async () => {
    const authorization = `Authorization: Bearer ${await token()}`;
    const head = `GET /subscriptions HTTP/1.1\r\nHost: sync.local\r\n${authorization}\r\n`;
    const { headers, body } = await exchange(`${head}\r\n${head}Connection: close\r\n\r\n`);
    expect(headers).toMatch(/^HTTP\/1\.1 200 /);
    expect(body).toMatch(/HTTP\/1\.1 200 /);
  });

  test('a whole URL as the target, with its path and query', async () => {
    const authorization = `Authorization: Bearer ${await token()}`;
    const ask = (method: string, path: string, ...headers: string[]) =>
      exchange(request(`${method} HTTP://B.example${path} HTTP/1.1`, ...headers));
    const list = await ask('GET', '/subscriptions?page=x', authorization);
    expect([list.status, list.headers]).toEqual([
      200,
      expect.stringMatching(/^ignored-parameters: page$/im),
    ]);
    expect((await ask('GET', '/openapi.json')).status).toBe(200);
    const refused = await ask('PUT', '/subscriptions', authorization);
    expectRaw(refused, 405);
    expect(refused.headers).toMatch(/^allow: GET, HEAD, POST$/im);
    for (const path of ['/nothing', '/%zz']) expectRaw(await ask('GET', path), 401);
    for (const path of ['', '?x', '/']) expect((await ask('GET', path)).status).toBe(200);
    expectRaw(await ask('GET', '/nothing', authorization), 404);
  });

  test('links have the public URL, or else the requested host', async () => {
    const authorization = `Authorization: Bearer ${await token()}`;
    const entries = JSON.stringify({
      subscriptions: [1, 2].map((n) => ({ feed_url: `https://a.example/${n}` })),
    });
    await exchange(
      request(
        'POST /subscriptions HTTP/1.1',
        authorization,
        'Content-Type: application/json',
        `Content-Length: ${entries.length}`,
      ) + entries,
    );
    const { body } = await exchange(
      request('GET /v1/subscriptions?per_page=1 HTTP/1.1', authorization),
    );
    const { next } = JSON.parse(body) as { next: string };
    expect(next.split('?')[0]).toBe(`${publicUrl ?? 'http://sync.local'}/v1/subscriptions`);
  });
});

test('the ETag of a list depends on the host of its links', async () => {
  const authorization = `Authorization: Bearer ${await token()}`;
  const ask = (host: string, etag: string) =>
    exchange(
      request('GET /subscriptions HTTP/1.1', authorization, `If-None-Match: ${etag}`).replace(
        'sync.local',
        host,
      ),
    );
  const etag = /^etag: (.+)$/im.exec((await ask('sync.local', '"x"')).headers)?.[1] ?? '';
  expect((await ask('sync.local', etag)).status).toBe(304);
  expect((await ask('b.local', etag)).status).toBe(publicUrl === undefined ? 200 : 304);
});

test('pipelined requests are answered in order', async () => {
  const line = 'GET /openapi.json HTTP/1.1\r\nHost: sync.local\r\n';
  const { headers } = await exchange(`${`${line}\r\n`.repeat(3)}${line}Connection: close\r\n\r\n`);
  expect(headers).toMatch(/^HTTP\/1\.1 200 /);
});
