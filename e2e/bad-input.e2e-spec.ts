import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Answer, errorBody } from './http.js';
import type { UploadAnswer } from './interface.js';
import { episode, feed, newGuid } from './samples.js';
import { User } from './user.js';

const full = Boolean(process.env.TEST_FULL);

const numRuns = full ? 2_000 : 100;

let ann: User;
let podcast: string;
beforeAll(async () => {
  ann = await User.fresh();
  podcast = await ann.subscribed();
});

/** Expects success or a client error with its exact body; never 5xx, HTML or a stack. */
function expectSuccessOrError({ status, headers, body, text }: Answer): void {
  expect(status).toBeLessThan(500);
  expect(headers.get('content-type') ?? 'application/json').toMatch(/^application\/json/);
  expect(status < 400 ? undefined : (body ?? text)).toEqual(
    status < 400 ? undefined : errorBody(status),
  );
}

/** Texts that programs often handle wrongly. */
const nasty = fc.constantFrom(
  '',
  ' ',
  '\u0000',
  '\ud800',
  '\udc00x',
  '\u{1f399}',
  '%00',
  "'",
  '"',
  '\\',
  '--',
  '${x}',
  '{{x}}',
  '../..',
  'null',
  '__proto__',
  'constructor',
  'toString',
  'NaN',
  '1e999',
  '-0',
  '٣',
  '\u202e',
  '\ufeff',
  'x'.repeat(10_000),
  'http://',
  'https://\u0000',
  'https://a b',
  'http://[::1',
  'http://[::1]/',
  'https://ä.example/',
  'javascript:1',
  '0000-00-00T00:00:00Z',
  '2023-02-23T14:00:00+99:99',
  '+275760-09-13T00:00:00Z',
  '2023-02-23T14:00',
  newGuid(),
);
const text = fc.oneof(nasty, fc.string({ unit: 'binary' }), fc.webUrl(), fc.uuid());
const number = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(-0, 1e308, 2 ** 53 + 2));
const value: fc.Arbitrary<unknown> = fc.oneof(
  text,
  number,
  fc.boolean(),
  fc.constant(null),
  fc.jsonValue({ maxDepth: 3 }),
);
/** A plausible value, none, or anything else. */
const field = (right: unknown) => fc.oneof(fc.constant(right), fc.constant(undefined), value);

const subscribeEntry = fc.record({
  feed_url: field(feed(1)),
  guid: field(newGuid()),
  title: field('t'),
  x: field(1),
});
const patch = fc.record({
  new_feed_url: field(feed(2)),
  new_guid: field(newGuid()),
  is_subscribed: field(true),
  title: field('t'),
  ['__proto__x']: field(1),
});
const anyStatus = fc.oneof(
  value,
  fc.record({ value: field(1), timestamp: field('2023-02-23T14:00') }),
);
const uploadEntry = fc
  .record({
    podcast_guid: fc.constant('known'),
    sync_id: field(undefined),
    episode_guid: field('e'),
    title: field('t'),
    publish_date: field('2023-02-23T14:00:00Z'),
    enclosure_url: field(feed('m')),
    episode_url: field(feed('e')),
    duration: field(90),
    temporary_id: field(1),
    playback_position: anyStatus,
    played_status: anyStatus,
  })
  .map((entry) => ({ ...entry, podcast_guid: podcast }));

const pushEntry = fc.record({
  feed_url: field(feed('pushed')),
  guid: field(newGuid()),
  new_feed_url: field(feed('moved')),
  title: field('t'),
  language: field('en'),
  image_url: field(feed('i')),
  episodes: fc.oneof(
    value,
    fc.array(fc.record({ episode_guid: field('e'), publish_date: field('2023-02-23T14:00:00Z') }), {
      maxLength: 3,
    }),
  ),
});

async function holds<Input>(
  arbitrary: fc.Arbitrary<Input>,
  ask: (input: Input) => Promise<Answer>,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(arbitrary, async (input) => expectSuccessOrError(await ask(input))),
    { numRuns },
  );
}

describe(
  'any input gets success or an error with its body, never 5xx:',
  { timeout: full ? 300_000 : 30_000 },
  () => {
    test('any JSON as a body', async () => {
      const routes = fc.constantFrom(
        ['POST', '/subscriptions'] as const,
        ['POST', '/episodes'] as const,
        ['POST', '/feeds/preview'] as const,
        ['POST', '/feeds/refresh'] as const,
        ['PATCH', '/subscriptions/'] as const,
      );
      await holds(fc.tuple(routes, value), ([[method, path], body]) =>
        ann.send(method, path.endsWith('/') ? path + podcast : path, { body: body ?? null }),
      );
    });

    test('any bytes as a body', async () => {
      const bytes = fc.uint8Array({ maxLength: 200 }).map((raw) => new Uint8Array(raw));
      await holds(bytes, (raw) => ann.send('POST', '/subscriptions', { raw }));
    });

    test('entries of POST /subscriptions', async () => {
      await holds(fc.array(subscribeEntry, { maxLength: 5 }), (subscriptions) =>
        ann.post('/subscriptions', { subscriptions }),
      );
    });

    test('entries of POST /episodes', async () => {
      await holds(
        fc.array(fc.oneof(uploadEntry, uploadEntry, value), { maxLength: 5 }),
        (episodes) => ann.post('/episodes', { episodes }),
      );
    });

    test('entries of POST /feeds', async () => {
      const platform = await User.fresh({ scope: 'write:feeds' });
      await holds(fc.array(fc.oneof(pushEntry, value), { maxLength: 5 }), (feeds) =>
        platform.post('/feeds', { feeds }),
      );
    });

    test('fields of PATCH', async () => {
      await holds(patch, (body) => ann.patch(`/subscriptions/${podcast}`, body));
    });

    test('any path', async () => {
      const segment = fc.oneof(
        fc.constantFrom(
          'subscriptions',
          'episodes',
          'deletions',
          'feeds',
          'v1',
          '',
          '%zz',
          '%00',
          newGuid(),
          '1',
        ),
        text
          .map((name) => encodeURIComponent(name.replace(/\p{Surrogate}/gu, '')))
          .map((name) => name.slice(0, 3_000)),
      );
      const method = fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS');
      // The root is a page if the account app has the same address.
      const paths = fc
        .array(segment, { minLength: 1, maxLength: 4 })
        .map((segments) => `/${segments.join('/')}`);
      const path = paths.filter((where) => /[^/]/.test(where));
      await fc.assert(
        fc.asyncProperty(method, path, async (verb, where) => {
          const answer = await ann.send(verb, where);
          // HEAD has no body, and the reference page is HTML.
          if (verb === 'HEAD' || where.startsWith('/docs')) return answer.status < 500;
          expectSuccessOrError(answer);
          return true;
        }),
        { numRuns },
      );
    });

    test('any query of a list, without an error', async () => {
      const name = fc.oneof(fc.constantFrom('since', 'page', 'per_page', 'cursor'), text);
      // Shortened, so that five pairs stay below the limit of a head; above it the answer is 431.
      const pair = fc
        .tuple(name, text)
        .map(([key, sent]): [string, string] => [key.slice(0, 500), sent.slice(0, 500)]);
      const query = fc
        .array(pair, { maxLength: 5 })
        .map((pairs) => new URLSearchParams(pairs).toString());
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom('/subscriptions', '/episodes', '/feeds'),
          query,
          async (list, search) => {
            expect((await ann.get(`${list}?${search}`)).status).toBe(200);
          },
        ),
        { numRuns },
      );
    });

    test('any header value that HTTP allows', async () => {
      const header = fc
        .string({ unit: 'grapheme-ascii', maxLength: 100 })
        .map((sent) => sent.trim());
      const names = fc.constantFrom(
        'if-none-match',
        'idempotency-key',
        'content-type',
        'accept',
        'accept-encoding',
      );
      await holds(fc.tuple(names, header), ([name, sent]) =>
        ann.post('/subscriptions', { subscriptions: [] }, { [name]: sent }),
      );
    });

    test('after which all operations still work', async () => {
      const bob = await User.fresh();
      const guid = await bob.subscribed();
      await bob.uploaded(episode(guid, 1));
      expect((await bob.episodes()).total).toBe(1);
      expect((await ann.subscriptions({ per_page: 1_000 })).total).toBeGreaterThan(0);
    });
  },
);

describe('names that are special to JavaScript have no special effect:', () => {
  test.each(['__proto__', 'constructor', 'prototype'])('%s', async (name) => {
    const entry = `{"feed_url":"${feed(1)}","${name}":{"guid":"x"}}`;
    const raw = `{"subscriptions":[${entry}],"${name}":{"subscriptions":1}}`;
    const answer = await (
      await User.fresh()
    ).send<{ success: unknown[] }>('POST', '/subscriptions', { raw });
    expect([answer.status, answer.body.success.length]).toEqual([200, 1]);
  });

  test.each(['__proto__', 'constructor', 'prototype'])(
    '%s, in an entry of POST /episodes and its statuses',
    async (name) => {
      const status = '{"value":true,"timestamp":"2023-02-23T14:00"}';
      const more = `"${name}":{"title":"x","played_status":${status}}`;
      const valueless = `"new_status":{"${name}":{"value":true},"timestamp":"2023-02-23T14:00"}`;
      const bob = await User.fresh();
      const guid = await bob.subscribed();
      const entry = `{"podcast_guid":"${guid}","episode_guid":"${name}",${valueless},${more}}`;
      const answer = await bob.send<UploadAnswer>('POST', '/episodes', {
        raw: `{"episodes":[${entry}]}`,
      });
      const { podcast_guid, episode_guid, title, new_status, played_status } =
        answer.body.success[0] ?? {};
      const shown = { podcast_guid, episode_guid, title, new_status, played_status };
      expect(shown).toEqual({ podcast_guid: guid, episode_guid: name, title: '' });
    },
  );

  test('a deeply nested JSON is 405', async () => {
    const raw = `{"subscriptions":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expectSuccessOrError(await ann.send('POST', '/subscriptions', { raw }));
    expectSuccessOrError(
      await ann.send('POST', '/episodes', { raw: raw.replace('subscriptions', 'episodes') }),
    );
  });
});
