import fc from 'fast-check';
import { corrupted, hostileValue } from './hostile-json.js';
import type { RawRequest } from './raw-http.js';

const action = {
  podcast: 'https://feeds.example/1.xml',
  episode: 'https://media.example/1.mp3',
  action: 'play',
  guid: 'one',
  device: 'phone',
  timestamp: '2023-02-23T14:00:00',
  started: 1,
  position: 2,
  total: 3,
};
const feeds = { add: ['https://feeds.example/1.xml'], remove: ['https://feeds.example/2.xml'] };
const opml =
  '<?xml version="1.0"?><opml version="2.0"><body><outline xmlUrl="https://feeds.example/1.xml"/></body></opml>';

/** A valid body of each write. */
function documents(name: string): [method: string, path: string, document: unknown][] {
  return [
    ['POST', `/api/2/episodes/${name}.json`, [action, { ...action, action: 'new' }]],
    ['POST', '/index.php/apps/gpoddersync/episode_action/create', [action]],
    ['POST', `/api/2/subscriptions/${name}/phone.json`, feeds],
    ['POST', '/index.php/apps/gpoddersync/subscription_change/create', feeds],
    [
      'PUT',
      `/subscriptions/${name}/phone.json`,
      ['https://feeds.example/1.xml', { url: 'https://feeds.example/3.xml' }],
    ],
    ['POST', `/api/2/devices/${name}/phone.json`, { caption: 'Phone', type: 'mobile' }],
    [
      'POST',
      `/api/2/sync-devices/${name}.json`,
      { synchronize: [['phone', 'laptop']], 'stop-synchronize': ['car'] },
    ],
    [
      'POST',
      `/api/2/settings/${name}/account.json`,
      { set: { key: { a: [1] } }, remove: ['other'] },
    ],
  ];
}

/** The paths of all reads. */
function readPaths(name: string): string[] {
  return [
    `/api/2/episodes/${name}.json`,
    '/index.php/apps/gpoddersync/episode_action',
    `/api/2/subscriptions/${name}.json`,
    `/api/2/subscriptions/${name}/phone.json`,
    '/index.php/apps/gpoddersync/subscriptions',
    ...['json', 'jsonp', 'opml', 'txt', 'xml'].map((format) => `/subscriptions/${name}.${format}`),
    `/subscriptions/${name}/phone.jsonp`,
    `/api/2/devices/${name}.json`,
    `/api/2/updates/${name}/phone.json`,
    `/api/2/favorites/${name}.json`,
    ...['account', 'device', 'podcast', 'episode'].map(
      (scope) => `/api/2/settings/${name}/${scope}.json`,
    ),
    '/toplist.jsonp',
  ];
}

/** Any text of a query; lone surrogates are replaced. */
function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** Requests of a faulty client to the gpodder API: nearly valid bodies, any texts, any paths. */
export function hostileGpodderRequests({
  name,
  password,
}: {
  readonly name: string;
  readonly password: string;
}): fc.Arbitrary<RawRequest & { kind: string }> {
  const basic = `Authorization: Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
  const request = (method: string, target: string, body?: Buffer): RawRequest => {
    const length = body === undefined ? [] : [`Content-Length: ${body.length}`];
    const lines = [
      `${method} ${target} HTTP/1.1`,
      'Host: sync.example',
      'Connection: close',
      basic,
      ...length,
    ];
    const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
    return {
      bytes: Buffer.concat([head, body ?? Buffer.alloc(0)]),
      mayEndEarly: false,
      head: method === 'HEAD',
    };
  };
  const writes = documents(name);
  const bodies = fc.oneof(
    ...writes.map(([method, path, document]) =>
      corrupted(document).map((body) => request(method, path, body)),
    ),
  );
  const others = fc
    .tuple(fc.constantFrom(...writes), hostileValue)
    .map(([[method, path], body]) => request(method, path, body));
  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc
      .tuple(fc.nat(opml.length), fc.string({ unit: 'grapheme-ascii', maxLength: 20 }))
      .map(([at, added]) => {
        return `${opml.slice(0, at)}${added}${opml.slice(at)}`;
      }),
    fc.constantFrom(
      '',
      '[]',
      '\ufeff',
      '<',
      '<!DOCTYPE a [<!ENTITY b "c">]><opml>&b;</opml>',
      '<opml/>',
      '\n\n',
    ),
  );
  const lists = fc
    .tuple(fc.constantFrom('opml', 'txt', 'json', 'xml', 'jsonp'), texts)
    .map(([format, text]) =>
      request('PUT', `/subscriptions/${name}/phone.${format}`, Buffer.from(text)),
    );
  const segments = [
    name,
    `${name}.json`,
    'phone.json',
    'api',
    '2',
    '1',
    '%00',
    '%ff',
    '%2e',
    '..',
    'episodes',
    'subscriptions',
  ];
  const more = [
    'settings',
    'devices',
    'updates',
    'lists',
    'index.php',
    'apps',
    'gpoddersync',
    'x'.repeat(3_000),
    '%F0%9F%8E%99.json',
  ];
  const values = ['', '-1', '1e9', '9'.repeat(400), 'NaN', '%00', '%zz', '1.5', '0', '99999999999'];
  const paths = fc
    .tuple(
      fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'),
      fc.array(fc.constantFrom(...segments, ...more), { maxLength: 5 }),
      fc.constantFrom('since', 'podcast', 'device', 'aggregated', 'jsonp', 'q', 'url'),
      fc.constantFrom(...values),
    )
    .map(([method, parts, parameter, value]) =>
      request(method, `/${parts.join('/')}?${parameter}=${value}`),
    );
  const hostile = [
    ...values,
    'x',
    '-0',
    '%2500',
    '%ed%a0%80',
    'https://a.example/%00',
    '%u0041',
    'x'.repeat(3_000),
  ];
  const reads = fc
    .tuple(
      fc.constantFrom('GET', 'HEAD'),
      fc.constantFrom(...readPaths(name)),
      fc.array(
        fc.tuple(
          fc.constantFrom('since', 'podcast', 'episode', 'jsonp', 'device', 'aggregated'),
          fc.oneof(
            fc.constantFrom(...hostile),
            fc.string({ unit: 'binary', maxLength: 40 }).map(encoded),
          ),
        ),
        { maxLength: 4 },
      ),
    )
    .map(([method, path, query]) =>
      request(method, `${path}?${query.map((pair) => pair.join('=')).join('&')}`),
    );
  const kinds = {
    'a read': [4, reads],
    'a body': [6, bodies],
    'any JSON': [2, others],
    'a list': [3, lists],
    'a path': [4, paths],
  } as const;
  return fc.oneof(
    ...Object.entries(kinds).map(([kind, [weight, arbitrary]]) => ({
      weight,
      arbitrary: (arbitrary as fc.Arbitrary<RawRequest>).map((made) => ({ ...made, kind })),
    })),
  );
}
