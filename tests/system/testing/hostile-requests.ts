import fc from 'fast-check';
import { corrupted, hostileValue, reservedNames } from './hostile-json.js';
import type { RawRequest } from './raw-http.js';

/** Values for requests: a valid credential and an existing subscription. */
export interface HostileContext {
  readonly token: string;
  /** A credential that can push feeds. */
  readonly platform: string;
  readonly guid: string;
}

/** A request with its kind, for the counts. */
export type HostileRequest = RawRequest & { readonly kind: string };

const methods = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'M-SEARCH',
  'LOCK',
];

/** Requests of every kind by unauthenticated or faulty clients. */
export function hostileRequests(context: HostileContext): fc.Arbitrary<HostileRequest> {
  const kinds = {
    'a body': { weight: 8, arbitrary: bodies(context) },
    'a body of any bytes': { weight: 2, arbitrary: anyBodies(context) },
    OPML: { weight: 2, arbitrary: lists(context) },
    'a path': { weight: 5, arbitrary: paths(context) },
    'a header': { weight: 3, arbitrary: headers(context) },
    'a credential': { weight: 2, arbitrary: credentials() },
    'no HTTP': { weight: 2, arbitrary: noHttp() },
  };
  return fc.oneof(
    ...Object.entries(kinds).map(([kind, { weight, arbitrary }]) => ({
      weight,
      arbitrary: arbitrary.map((made) => ({ ...made, kind })),
    })),
  );
}

function request(
  method: string,
  target: string | Buffer,
  fields: readonly string[],
  body?: Buffer,
): RawRequest {
  const length = body === undefined ? [] : [`Content-Length: ${body.length}`];
  const lines = ['Host: sync.example', 'Connection: close', ...fields, ...length];
  const bytes = Buffer.concat([
    Buffer.from(`${method} `, 'latin1'),
    typeof target === 'string' ? Buffer.from(target, 'latin1') : target,
    Buffer.from(` HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`, 'latin1'),
    body ?? Buffer.alloc(0),
  ]);
  return { bytes, mayEndEarly: false, head: method === 'HEAD' };
}

const json = 'Content-Type: application/json';
const bearer = ({ token }: Pick<HostileContext, 'token'>) => `Authorization: Bearer ${token}`;

const status = { value: true, timestamp: '2023-02-23T14:00:00Z' };
/** A valid body of each write. */
function documents(guid: string): [method: string, path: string, document: unknown][] {
  const feed_url = 'https://feeds.example/1.xml';
  const episode = {
    podcast_guid: guid,
    sync_id: '5c1f0a4e-6c0f-4d5e-9b6e-2f1f8c3f7a10',
    episode_guid: 'e',
    title: 't',
    publish_date: '2023-02-23T14:00:00Z',
    enclosure_url: 'https://m.example/1',
    episode_url: 'https://e.example/1',
    playback_position: { value: 1, timestamp: '2023-02-23T14:00' },
    played_status: status,
    new_status: status,
    download_status: status,
    favorite_status: status,
    temporary_id: 'x',
  };
  return [
    ['POST', '/subscriptions', { subscriptions: [{ feed_url }, { feed_url, guid }] }],
    [
      'PATCH',
      `/subscriptions/${guid}`,
      { new_feed_url: feed_url, new_guid: guid, is_subscribed: true },
    ],
    [
      'POST',
      '/v1/episodes',
      { episodes: [episode, { podcast_guid: guid, sync_id: episode.sync_id }] },
    ],
    ['POST', '/feeds/refresh', { guids: [guid] }],
  ];
}

const pushed = {
  feeds: [
    {
      feed_url: 'https://feeds.example/pushed.xml',
      guid: '8d6ba0a2-6a3e-5a0c-9a9e-6c1d7c6c2c11',
      new_feed_url: 'https://feeds.example/moved.xml',
      title: 't',
      language: 'en',
      image_url: 'https://m.example/i.png',
      episodes: [{ episode_guid: 'e', publish_date: '2023-02-23T14:00:00Z' }],
    },
  ],
};

function bodies(context: HostileContext): fc.Arbitrary<RawRequest> {
  const writes = documents(context.guid).map(([method, path, document]) =>
    corrupted(document).map((body) => request(method, path, [bearer(context), json], body)),
  );
  const platform = bearer({ token: context.platform });
  const pushes = corrupted(pushed).map((body) => request('POST', '/feeds', [platform, json], body));
  return fc.oneof(...writes, pushes);
}

const opml =
  '<?xml version="1.0" encoding="UTF-8"?><opml version="2.0"><head/><body><outline text="a"><outline xmlUrl="https://feeds.example/1.xml"/></outline></body></opml>';

/** OPML documents: valid, with inserted text, truncated, and of random parts. */
function lists(context: HostileContext): fc.Arbitrary<RawRequest> {
  const piece = fc.oneof(
    fc.constantFrom(
      '<',
      '>',
      '"',
      '&',
      '&#0;',
      '&copy;',
      '<!--',
      '<![CDATA[',
      '<!DOCTYPE a>',
      '<outline>',
      '</body>',
      '\0',
    ),
    fc.string({ unit: 'grapheme', maxLength: 10 }),
  );
  const document = fc.oneof(
    fc
      .tuple(fc.nat(opml.length), piece)
      .map(([at, added]) => opml.slice(0, at) + added + opml.slice(at)),
    fc.nat(opml.length).map((end) => opml.slice(0, end)),
    fc
      .array(piece, { maxLength: 30 })
      .map((pieces) => `<opml><body>${pieces.join('')}</body></opml>`),
  );
  const encoding = fc.constantFrom<BufferEncoding>('utf8', 'utf8', 'latin1', 'utf16le');
  const types = [
    'text/x-opml',
    'text/xml',
    'application/xml; charset=utf-8',
    'application/opml+xml',
    'text/xml; charset=',
  ];
  const type = fc.constantFrom(...types.map((name) => `Content-Type: ${name}`));
  const path = fc.constantFrom(
    '/subscriptions/opml',
    '/subscriptions/opml',
    '/v1/subscriptions/opml',
    '/subscriptions.opml',
  );
  return fc
    .tuple(path, type, document, encoding)
    .map(([target, contentType, text, of]) =>
      request('POST', target, [bearer(context), contentType], Buffer.from(text, of)),
    );
}

/** Any bytes as a body, on every operation, also on those that take none. */
function anyBodies(context: HostileContext): fc.Arbitrary<RawRequest> {
  const operation = fc.constantFrom(
    ...documents(context.guid),
    ['GET', '/subscriptions'] as const,
    ['GET', '/episodes'] as const,
    ['GET', '/deletions/1'] as const,
    ['GET', `/subscriptions/${context.guid}`] as const,
    ['DELETE', '/subscriptions/x'] as const,
  );
  const types = ['application/json', 'text/plain', 'application/json; charset=utf-16', ''];
  const type = fc.constantFrom(...types.map((name) => `Content-Type: ${name}`));
  const coding = fc.constantFrom(
    'X-Coding: none',
    'Content-Encoding: gzip',
    'Content-Encoding: br',
    'X: 1',
  );
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 300 }).map((raw) => Buffer.from(raw)),
    hostileValue,
  );
  return fc
    .tuple(operation, type, coding, body)
    .map(([[method, path], contentType, encoding, raw]) =>
      request(method, path, [bearer(context), contentType, encoding], raw),
    );
}

const escapes = '% %z %zz %00 %0 %ff%fe %c0%af %c3%28 %ed%a0%80 %2f %5c %2e%2e %25 %3f'.split(' ');
const oddSegments = [
  '',
  'a'.repeat(9_000),
  ...'.. . \\ ;x : * \xff \x80 ~ | ^ " <> ` {} %F0%9F%8E%99'.split(' '),
];
const knownSegments =
  'subscriptions subscriptions.opml opml episodes deletions v1 1 openapi.json .well-known'.split(
    ' ',
  );
const ids = '1e9 -1 0x1 9007199254740992 00 1.0'.split(' ');
const starts = [
  '',
  '/',
  '/v1/',
  '//',
  '/subscriptions/',
  '/v1/subscriptions/',
  '/deletions/',
  'http://x.example/',
];
const parameters = ['', ...'since page per_page cursor since[] page[a] __proto__ %zz'.split(' ')];
const parameterValues = [
  '',
  '9'.repeat(300),
  ...'-1 0 1e9 NaN 2023-02-23T14:00:00+01:00 null 1,2'.split(' '),
];

/** Every method on every path, and on invalid ones. */
function paths(context: HostileContext): fc.Arbitrary<RawRequest> {
  const segment = fc.oneof(
    fc.constantFrom(...knownSegments, context.guid),
    fc.constantFrom(...escapes, ...oddSegments),
    fc.constantFrom(...ids, context.guid.toUpperCase(), `${context.guid}%20`),
    fc.constantFrom(...reservedNames.slice(0, 8)),
  );
  const value = fc.oneof(
    fc.constantFrom(...escapes, ...parameterValues),
    fc.base64String({ maxLength: 60 }),
  );
  const pair = fc
    .tuple(fc.constantFrom(...parameters), value)
    .map(([name, sent]) => `${name}=${sent}`);
  const query = fc.array(pair, { maxLength: 5 });
  return fc
    .tuple(
      fc.constantFrom(...methods),
      fc.constantFrom(...starts),
      fc.array(segment, { maxLength: 3 }),
      query,
    )
    .filter(([, start, segments]) => start !== '' || segments.length > 0)
    .map(([method, start, segments, pairs]) => {
      const search = pairs.length > 0 ? `?${pairs.join('&')}` : '';
      return request(method, `${start}${segments.join('/')}${search}`, [bearer(context)]);
    });
}

const fieldNames = [
  ...'If-None-Match Idempotency-Key Accept Accept-Encoding Content-Type Content-Encoding'.split(
    ' ',
  ),
  ...'Expect Range Origin Access-Control-Request-Method Forwarded X-Forwarded-For'.split(' '),
  ...'X-Forwarded-Host X-Forwarded-Proto Host Cookie Upgrade Connection Authorization'.split(' '),
  ...'Content-Length Transfer-Encoding TE __proto__ traceparent tracestate'.split(' '),
  ...'X-Request-Id X-HTTP-Method-Override'.split(' '),
];
const fieldValues = [
  '',
  'a b',
  'a\tb',
  'x'.repeat(3_000),
  ...'* W/"x" " ,,, gzip;q=x br identity;q=0 \xff 00-0-0-00'.split(' '),
  ...'chunked h2c application/json {} bytes=0- ['.split(' '),
  ...'::1 256.1.1.1 evil.example:99999'.split(' '),
];
const asked = [
  ['GET', '/subscriptions'],
  ['GET', '/v1/episodes?per_page=1'],
  ['HEAD', '/episodes'],
  ['OPTIONS', '/subscriptions'],
  ['DELETE', '/subscriptions/x'],
  ['GET', '/openapi.json'],
] as const;
/** Headers that can keep a request open: a missing body, another protocol, keep-alive. */
const endless = /^(transfer-encoding|content-length|upgrade|expect|connection)/i;

function headers(context: HostileContext): fc.Arbitrary<RawRequest> {
  const value = fc.oneof(
    fc.constantFrom(...fieldValues),
    fc.string({ unit: 'grapheme-ascii', maxLength: 50 }),
  );
  const field = fc
    .tuple(fc.constantFrom(...fieldNames), value)
    .map(([name, sent]) => `${name}: ${sent}`);
  const fields = fc.array(field, { minLength: 1, maxLength: 4 });
  return fc.tuple(fc.constantFrom(...asked), fields).map(([[method, path], sent]) => {
    const mayEndEarly = sent.some((one) => endless.test(one));
    return { ...request(method, path, [bearer(context), ...sent]), mayEndEarly };
  });
}

function credentials(): fc.Arbitrary<RawRequest> {
  const part = fc.oneof(
    fc.base64String({ maxLength: 80 }).map((value) => value.replace(/=/g, '')),
    fc
      .jsonValue({ maxDepth: 2 })
      .map((value) => Buffer.from(JSON.stringify(value)).toString('base64url')),
    fc
      .record({
        alg: fc.constantFrom('none', 'HS256', 'EdDSA', 'RS256', 'x', null, 1),
        kid: fc.jsonValue({ maxDepth: 1 }),
      })
      .map((value) => Buffer.from(JSON.stringify(value)).toString('base64url')),
    fc.constantFrom(
      '',
      'e30',
      Buffer.from('{"iss":"urn:podcast-sync:tests"}').toString('base64url'),
    ),
  );
  const credential = fc.oneof(
    fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => `Bearer ${parts.join('.')}`),
    fc.constantFrom(
      'Bearer',
      'bearer  ',
      'Basic YTpi',
      'Bearer a b',
      'Bearer \xff',
      `Bearer ${'a'.repeat(12_000)}`,
      '',
    ),
  );
  return fc.tuple(fc.constantFrom(...methods), credential).map(([method, sent]) => {
    return request(method, '/subscriptions', [`Authorization: ${sent}`]);
  });
}

function noHttp(): fc.Arbitrary<RawRequest> {
  const line = fc.constantFrom(
    'GET / HTTP/1.1\r\n',
    'POST /subscriptions HTTP/1.1\r\nHost: a\r\n',
    'PRI * HTTP/2.0\r\n\r\n',
  );
  return fc
    .tuple(fc.option(line, { nil: '' }), fc.uint8Array({ maxLength: 400 }))
    .map(([first, raw]) => ({
      bytes: Buffer.concat([Buffer.from(first), Buffer.from(raw)]),
      mayEndEarly: true,
      head: false,
    }));
}
