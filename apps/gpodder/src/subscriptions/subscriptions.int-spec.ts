import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { normalizedUrl } from '#contracts';
import type { ServedApp } from '#testing';
import { GpodderFixture, type GpodderUser } from '../../testing/gpodder.fixture.js';

let fixture: GpodderFixture;
let ann: GpodderUser;
beforeAll(async () => {
  fixture = await GpodderFixture.open();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  ann = await fixture.user();
});

interface Delta {
  readonly add: string[];
  readonly remove: string[];
  readonly timestamp: number;
}
interface Changed {
  readonly timestamp: number;
  readonly update_urls: [string, string][];
}
const [one, two, three] = [
  'https://a.example/one',
  'https://a.example/two',
  'https://a.example/three?x=1&y="<',
];
const phone = '/api/2/subscriptions/{u}/phone.json';
const since = async (second: number, path = phone) =>
  (await ann.request(`${path}?since=${second}`)).json<Delta>();
const change = async (body: unknown, path = phone) =>
  (await ann.request(path, { body })).json<Changed>();
const sorted = (urls: readonly string[]) => [...urls].sort();

describe('a delta', () => {
  it('has the changes since a timestamp, the same for every device', async () => {
    await change({ add: [one, two], remove: [] });
    const first = await since(0, '/api/2/subscriptions/{u}/laptop.json');
    expect([sorted(first.add), first.remove]).toEqual([sorted([one, two]), []]);
    expect(first.timestamp).toBeGreaterThan(1);
    await change({ add: [three], remove: [one] });
    const next = await since(first.timestamp, '/api/1/subscriptions/{u}/laptop.json');
    expect([next.add, next.remove]).toEqual([[three], [one]]);
    expect(await since(next.timestamp)).toEqual({ add: [], remove: [], timestamp: next.timestamp });
  });

  it('is the same without a device and on the paths of Nextcloud, below any folder', async () => {
    await change({ add: [one] }, '/index.php/apps/gpoddersync/subscription_change/create');
    for (const path of [
      '/api/2/subscriptions/{u}.json',
      '/index.php/apps/gpoddersync/subscriptions',
      '/cloud/own/index.php/apps/gpoddersync/subscriptions',
    ])
      expect((await since(0, path)).add).toEqual([one]);
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const folder = '/cloud/index.php/apps/gpoddersync/subscription_change/create';
    expect((await ann.request(folder, { body: { remove: [one] }, headers: form })).status).toBe(
      200,
    );
    expect((await since(0)).add).toEqual([]);
  });

  it.each(['-1', 'x', '1.5', ''])('since %j is 400', async (text) => {
    expect((await ann.request(`${phone}?since=${text}`)).status).toBe(400);
  });

  it('since any whole number is 200', async () => {
    expect((await ann.request(`${phone}?since=999999999999999999999`)).status).toBe(200);
    expect((await ann.request(phone)).status).toBe(200);
  });

  it('is JSON with an integer timestamp, and is not cached', async () => {
    const { headers, text } = await ann.request(phone);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(text).toMatch(/"timestamp":\d+[,}]/);
  });
});

describe('an upload', () => {
  it('returns a timestamp and changed URLs', async () => {
    const answer = await change({ add: [one, 'a.example/four', 'antennapod_local:x', 7, null] });
    expect(answer.timestamp).toBeGreaterThan(0);
    const updates = [
      ['antennapod_local:x', ''],
      ['a.example/four', 'http://a.example/four'],
    ];
    expect(answer.update_urls).toEqual(updates);
    expect(sorted((await since(0)).add)).toEqual(sorted([one, 'http://a.example/four']));
  });

  it.each([
    ['the same URL in both lists', { add: [one, two], remove: [two] }],
    ['an array', [one]],
    ['no JSON', 'add=x'],
    ['an empty body', ''],
  ])('is 400 with %s, and has no effect', async (_, body) => {
    expect((await ann.request(phone, { body, method: 'POST' })).status).toBe(400);
    expect((await since(0)).add).toEqual([]);
  });

  it('adds a feed that is in both lists after the repair of URLs', async () => {
    await change({ add: ['feed://a.example/x'], remove: ['http://a.example/x'] });
    expect((await since(0)).add).toEqual(['http://a.example/x']);
  });

  it('without changes writes nothing, so that other devices receive nothing', async () => {
    await change({ add: [one], remove: [] });
    const before = await since(0);
    expect(await change({ add: [one], remove: ['https://a.example/unknown'] })).toMatchObject({
      update_urls: [],
    });
    expect(await since(before.timestamp)).toEqual({
      add: [],
      remove: [],
      timestamp: before.timestamp,
    });
  });

  it.each([
    ['entries', phone, { add: [one, two], remove: [`${one}/x`, `${one}/y`] }],
    [
      'entries of a whole list',
      '/subscriptions/{u}/phone.json',
      [one, two, `${one}/x`, `${one}/y`],
    ],
    ['values', phone, { add: [Array(70).fill(0)] }],
    ['values of a whole list', '/subscriptions/{u}/phone.json', [Array(70).fill(0)]],
  ])('above the limit of %s is 413', async (_, path, body) => {
    small ??= await fixture.startReplica({ MAX_ENTRIES: '3' });
    const sent = {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { authorization: ann.basic },
    };
    expect((await fetch(small.url + path.replace('{u}', ann.name), sent)).status).toBe(413);
  });
  let small: ServedApp | undefined;
});

it('a long upload is applied in several messages; a long whole list is 413', async () => {
  const many = Array.from({ length: 5_001 }, (_, index) => `https://many.example/${index}`);
  // Three messages of 250, and one of the last URL.
  const urls = many.slice(0, 751);
  const decoded = 'https://many.example/caf\u00e9';
  await change({ add: [encodeURI(decoded)], remove: [] });
  const answer = await change({ add: [...urls, decoded], remove: [encodeURI(decoded)] });
  expect(answer.update_urls).toEqual([[decoded, encodeURI(decoded)]]);
  expect(sorted((await since(0)).add)).toEqual(sorted([...urls, encodeURI(decoded)]));
  expect(
    (await ann.request('/subscriptions/{u}/phone.json', { method: 'PUT', body: many })).status,
  ).toBe(413);
  await change({ add: [], remove: urls });
  expect((await since(0)).add).toEqual([encodeURI(decoded)]);
});

it('a whole list of many feeds replaces all subscriptions by all of its feeds', async () => {
  const list = Array.from({ length: 5_000 }, (_, index) => `https://many.example/${index}`);
  await change({ add: [one, list[0]], remove: [] });
  const put = await ann.request('/subscriptions/{u}/phone.json', { method: 'PUT', body: list });
  expect(put.status).toBe(200);
  expect(sorted((await since(0)).add)).toEqual(sorted(list));
});

describe('a list of the simple API', () => {
  const read = (path: string) => ann.request(`/subscriptions/${path}`);
  beforeEach(async () => {
    await change({ add: [three, one], remove: [] });
    await change({ add: [], remove: [one] });
  });

  it.each([
    ['txt', 'text/plain', `${three}\n`],
    ['json', 'application/json', JSON.stringify([three])],
    ['jsonp?jsonp=call_1', 'application/json-p', `call_1(${JSON.stringify([three])})`],
  ])('of a device has URLs as %s', async (format, type, body) => {
    const answer = await read(`{u}/phone.${format}`);
    expect([answer.status, answer.headers.get('content-type')?.split(';')[0], answer.text]).toEqual(
      [200, type, body],
    );
  });

  it('as OPML has escaped URLs', async () => {
    const answer = await read('{u}.opml');
    expect(answer.headers.get('content-type')).toMatch(/^text\/xml/);
    expect(answer.text).toContain('xmlUrl="https://a.example/three?x=1&#38;y=&#34;&#60;"');
    expect(answer.text.match(/<outline /g)).toHaveLength(1);
  });

  it('of all devices has podcasts with all required fields', async () => {
    const [podcast] = (await read('{u}.json')).json<Record<string, unknown>[]>();
    expect(podcast).toEqual({
      url: three,
      title: three,
      author: '',
      description: '',
      website: '',
      logo_url: '',
      scaled_logo_url: '',
      mygpo_link: '',
      subscribers: 0,
      subscribers_last_week: 0,
    });
    expect((await read('{u}.xml')).text).toContain(
      '<podcasts><podcast><url>https://a.example/three?x=1&#38;',
    );
    expect((await read('{u}.txt')).text).toBe(`${three}\n`);
  });

  it('has the titles that an uploaded list had', async () => {
    const body = [
      { url: three, title: 'Three' },
      { url: two, title: two },
    ];
    await ann.request('/subscriptions/{u}/phone.json', { method: 'PUT', body });
    const titles = { [three]: 'Three', [two]: two };
    const podcasts = (await read('{u}.json')).json<{ url: string; title: string }[]>();
    expect(Object.fromEntries(podcasts.map(({ url, title }) => [url, title]))).toEqual(titles);
    expect((await read('{u}.opml')).text).toContain('text="Three" title="Three"');
    expect((await read('{u}.xml')).text).toContain('<title>Three</title>');
    const updates = await ann.request('/api/2/updates/{u}/phone.json?since=0');
    expect(updates.json<{ add: object[] }>().add).toEqual(podcasts);
  });

  it.each([
    '{u}/phone.xml',
    '{u}/phone.csv',
    '{u}/phone.jsonp',
    '{u}/phone.jsonp?jsonp=a.b',
    '{u}/my%20phone.txt',
  ])('is 400 for %s', async (path) => expect((await read(path)).status).toBe(400));

  it('is 404 for an unknown device', async () =>
    expect((await read('{u}/nobody.txt')).status).toBe(404));

  it.each([
    ['json', JSON.stringify([one, { url: two }, 3])],
    ['txt', `${one}\n\r\n ${two} \n`],
    [
      'opml',
      `<?xml version="1.0"?><!-- x --><opml version='2.0'><body>
        <outline text="a"><outline type="rss" xmlUrl="${one}"/></outline>
        <outline type="rss" xmlUrl='${two}'></outline></body></opml>`,
    ],
  ])('is replaced by %s, with an empty answer', async (format, body) => {
    const before = await since(0);
    const answer = await ann.request(`/subscriptions/{u}/tablet.${format}`, {
      method: 'PUT',
      body,
    });
    expect([answer.status, answer.text]).toEqual([200, '']);
    expect(sorted((await since(0)).add)).toEqual(sorted([one, two]));
    const delta = await since(before.timestamp, '/api/2/subscriptions/{u}/other.json');
    const removed = [three, normalizedUrl(three)];
    expect([sorted(delta.add), delta.remove]).toEqual([sorted([one, two]), removed]);
  });

  it.each([
    ['json', '[]'],
    ['txt', '\n\n'],
    ['opml', '<opml version="2.0"><head/><body></body></opml>'],
  ])('is emptied by an empty list as %s, also by POST', async (format, body) => {
    expect(
      (await ann.request(`/subscriptions/{u}/phone.${format}`, { method: 'POST', body })).status,
    ).toBe(200);
    expect((await since(0)).add).toEqual([]);
  });

  it.each([
    ['json', ''],
    ['txt', ''],
    ['opml', ''],
    ['json', '{}'],
    ['json', '[{"feed": "https://a.example/x"}]'],
    ['txt', 'nothing'],
    ['opml', '<opml><body><outline text="x"/></body></opml>'],
    ['opml', '<html></html>'],
    ['xml', '<podcasts/>'],
  ])('is not changed by an invalid list: %s %j is 400', async (format, body) => {
    expect(
      (await ann.request(`/subscriptions/{u}/phone.${format}`, { method: 'PUT', body })).status,
    ).toBe(400);
    expect((await since(0)).add).toEqual([three]);
  });

  it('of more than 5,000 outlines is 413', async () => {
    const body = `<opml><body>${'<outline xmlUrl="https://a.example/x"/>'.repeat(5_001)}</body></opml>`;
    expect(
      (await ann.request('/subscriptions/{u}/phone.opml', { method: 'PUT', body })).status,
    ).toBe(413);
  });
});
