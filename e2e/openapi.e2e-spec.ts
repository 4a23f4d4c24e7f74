import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Answer, send } from './http.js';
import type { DeletionAccepted } from './interface.js';
import { episode, feed, newGuid, numbers } from './samples.js';
import { User } from './user.js';

interface Described {
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
  requestBody?: { content: Record<string, { schema: object }> };
  security?: unknown[];
}
interface Document {
  openapi: string;
  components: { schemas: Record<string, object> };
  paths: Record<string, Record<string, Described>>;
}

let document: Document;
const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);

beforeAll(async () => {
  document = (await send<Document>('GET', '/openapi.json')).body;
  ajv.addSchema(document, 'openapi.json');
});

/** Returns a validator of the schema at a place in the document. */
function validator(...place: string[]): ValidateFunction {
  const pointer = place
    .map((name) => name.replaceAll('~', '~0').replaceAll('/', '~1'))
    .map(encodeURIComponent);
  return ajv.compile({ $ref: `openapi.json#/${pointer.join('/')}` });
}

const json = ['content', 'application/json', 'schema'];

/** Expects an answer to match the document exactly, without `null`. */
function expectDescribed(method: string, path: string, { status, body, text }: Answer): void {
  const described = document.paths[path]?.[method]?.responses;
  expect(Object.keys(described ?? {})).toContain(String(status));
  const matches = validator('paths', path, method, 'responses', String(status), ...json);
  expect([matches(body), matches.errors]).toEqual([true, null]);
  expect(text).not.toMatch(/[:[,]null[,}\]]/);
}

/** A user with all fields that an answer can have. */
async function userWithAll() {
  const ann = await User.fresh();
  const [guid, deleted] = [await ann.subscribed(feed(1)), await ann.subscribed(feed(2))];
  await ann.subscribe(...numbers(5).map((n) => feed(`more-${n}`)));
  await ann.update(await ann.subscribed(feed(3), newGuid()), { new_feed_url: feed('more-1') });
  const status = <Value>(value: Value) => ({ value, timestamp: '2023-02-23T14:00' });
  await ann.uploaded(
    episode(guid, 1, {
      playback_position: status(1.5),
      played_status: status(true),
      new_status: status(false),
      download_status: status(true),
      favorite_status: status(false),
    }),
  );
  await ann.update(guid, { new_guid: newGuid() });
  await ann.deleted(deleted);
  return { ann, guid, deleted };
}

describe('the OpenAPI document', () => {
  test('is OpenAPI 3.1 and describes the operations of the interface, and POST /episodes', () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    const operations = Object.entries(document.paths).map(([path, item]) => [
      path,
      Object.keys(item).sort(),
    ]);
    expect(Object.fromEntries(operations)).toEqual({
      '/subscriptions': ['get', 'post'],
      '/subscriptions.opml': ['get'],
      '/subscriptions/opml': ['post'],
      '/subscriptions/{guid}': ['delete', 'get', 'patch'],
      '/deletions/{id}': ['get'],
      '/episodes': ['get', 'post'],
      '/feeds': ['get', 'post'],
      '/feeds/artwork/{id}': ['get'],
      '/feeds/episodes': ['get'],
      '/feeds/import': ['delete', 'get', 'post'],
      '/feeds/preview': ['post'],
      '/feeds/refresh': ['post'],
      '/changes': ['get'],
      '/capabilities': ['get'],
    });
  });

  test('names the credential and errors of every operation, and 304 for lists', () => {
    const errors: [string, string, string[]][] = [
      ['/subscriptions', 'post', ['401', '405']],
      ['/subscriptions', 'get', ['304', '401']],
      ['/subscriptions.opml', 'get', ['401']],
      ['/subscriptions/opml', 'post', ['401', '405']],
      ['/subscriptions/{guid}', 'patch', ['401', '404', '405']],
      ['/subscriptions/{guid}', 'get', ['401', '404', '405', '410']],
      ['/subscriptions/{guid}', 'delete', ['401', '404', '405']],
      ['/deletions/{id}', 'get', ['401', '404', '405']],
      ['/episodes', 'get', ['304', '401']],
      ['/episodes', 'post', ['401', '405']],
      ['/feeds', 'get', ['304', '401']],
      ['/feeds', 'post', ['401', '405']],
      ['/feeds/episodes', 'get', ['304', '401', '404', '405']],
      ['/feeds/import', 'post', ['401', '404', '405']],
      ['/feeds/import', 'get', ['401', '404']],
      ['/feeds/import', 'delete', ['401', '404']],
      ['/feeds/preview', 'post', ['401', '404', '405']],
      ['/feeds/refresh', 'post', ['401', '405']],
      ['/changes', 'get', ['401', '503']],
    ];
    for (const [path, method, statuses] of errors) {
      const operation = document.paths[path]?.[method];
      expect(operation?.security).toHaveLength(1);
      expect(Object.keys(operation?.responses ?? {})).toEqual(expect.arrayContaining(statuses));
    }
  });

  test('allows empty URLs only for episodes, and describes unknown dates', () => {
    const { properties, required } = document.components.schemas.Episode as {
      properties: Record<
        string,
        { format?: string; description?: string; exclusiveMinimum?: number }
      >;
      required: string[];
    };
    for (const name of ['enclosure_url', 'episode_url']) {
      expect(properties[name]?.format).toBeUndefined();
      expect(properties[name]?.description).toMatch(/empty/);
    }
    expect(properties.publish_date).toMatchObject({
      format: 'date-time',
      description: expect.stringContaining('1970'),
    });
    expect(properties.duration).toMatchObject({ exclusiveMinimum: 0 });
    const always = [
      'podcast_guid',
      'sync_id',
      'episode_guid',
      'title',
      'publish_date',
      'enclosure_url',
      'episode_url',
    ];
    expect(required.toSorted()).toEqual(always.toSorted());
  });

  test.each([
    ['/subscriptions', { feed_url: 'x' }],
    ['/episodes', {}],
  ])('requires a code in failures of POST %s, and names all codes', (path, echo) => {
    const matches = validator('paths', path, 'post', 'responses', '200', ...json);
    const answer = (item: object) =>
      matches({ success: [], failure: [{ ...echo, message: 'x', ...item }] });
    const codes = [
      'invalid_url',
      'invalid_guid',
      'invalid_value',
      'missing_identifier',
      'unknown_subscription',
      'wrong_subscription',
      'feed_url_taken',
      'superseded',
      'limit_reached',
    ];
    for (const code of codes) expect([code, answer({ code })]).toEqual([code, true]);
    expect([answer({}), answer({ code: 'another' })]).toEqual([false, false]);
  });

  test('has only valid schemas', () => {
    for (const [path, item] of Object.entries(document.paths))
      for (const [method, { responses, requestBody }] of Object.entries(item)) {
        const schema = (type: string) => ['content', type, 'schema'];
        for (const type of Object.keys(requestBody?.content ?? {}))
          validator('paths', path, method, 'requestBody', ...schema(type));
        for (const [status, { content = {} }] of Object.entries(responses))
          for (const type of Object.keys(content))
            validator('paths', path, method, 'responses', status, ...schema(type));
      }
  });
});

describe('real answers match the OpenAPI document and contain no null:', () => {
  test('of subscriptions', async () => {
    const { ann, guid, deleted } = await userWithAll();
    const one = '/subscriptions/{guid}';
    expectDescribed('get', '/subscriptions', await ann.get('/subscriptions?per_page=2&page=2'));
    expectDescribed('get', '/subscriptions', await ann.get('/subscriptions'));
    expectDescribed('get', one, await ann.get(`/subscriptions/${guid}`));
    expectDescribed('get', one, await ann.get(`/subscriptions/${deleted}`));
    expectDescribed('get', one, await ann.get(`/subscriptions/${newGuid()}`));
    expectDescribed('get', one, await ann.get('/subscriptions/x'));
    const subscriptions = [{ feed_url: feed(1), title: 'One' }, { feed_url: 'x' }];
    expectDescribed('post', '/subscriptions', await ann.post('/subscriptions', { subscriptions }));
    expectDescribed('post', '/subscriptions', await ann.post('/subscriptions', {}));
    const title = 'Nine';
    const patch = { new_feed_url: feed(9), new_guid: newGuid(), is_subscribed: false, title };
    expectDescribed('patch', one, await ann.patch(`/subscriptions/${guid}`, patch));
    expectDescribed('patch', one, await ann.patch(`/subscriptions/${guid}`, {}));
    expectDescribed('patch', one, await ann.patch(`/subscriptions/${newGuid()}`, patch));
  });

  test('of deletions', async () => {
    const { ann, guid } = await userWithAll();
    const accepted = await ann.delete<DeletionAccepted>(`/subscriptions/${guid}`);
    expectDescribed('delete', '/subscriptions/{guid}', accepted);
    expectDescribed(
      'get',
      '/deletions/{id}',
      await ann.get(`/deletions/${accepted.body.deletion_id}`),
    );
    await ann.ended(accepted.body.deletion_id);
    expectDescribed(
      'get',
      '/deletions/{id}',
      await ann.get(`/deletions/${accepted.body.deletion_id}`),
    );
    expectDescribed('get', '/deletions/{id}', await ann.get('/deletions/9007199254740991'));
    expectDescribed('get', '/deletions/{id}', await ann.get('/deletions/x'));
    expectDescribed('delete', '/subscriptions/{guid}', await ann.delete(`/subscriptions/${guid}`));
  });

  test('of episodes', async () => {
    const { ann, guid } = await userWithAll();
    expectDescribed('get', '/episodes', await ann.get('/episodes'));
    expectDescribed('get', '/episodes', await ann.get('/episodes?per_page=1&page=2'));
    const episodes = [
      episode(guid, 1, { temporary_id: 1, duration: 90.5 }),
      { podcast_guid: guid, episode_guid: 'nothing else' },
      { podcast_guid: guid, enclosure_url: 'https://media.example/nothing-else.mp3' },
      episode(guid, 2, { temporary_id: 'x' }),
      { sync_id: 'x' },
      null,
    ];
    expectDescribed('post', '/episodes', await ann.post('/episodes', { episodes }));
    expectDescribed('post', '/episodes', await ann.post('/episodes', {}));
  });

  test('without a credential', async () => {
    for (const [path, item] of Object.entries(document.paths))
      for (const method of Object.keys(item)) {
        const url = path.replace('{guid}', newGuid()).replace('{id}', '1');
        expectDescribed(method, path, await send(method.toUpperCase(), url));
      }
  });
});

describe('real requests match the OpenAPI document:', () => {
  test.each([
    [
      '/subscriptions',
      'post',
      {
        subscriptions: [
          { feed_url: feed(1), guid: newGuid() },
          { feed_url: feed(2), title: 'B' },
        ],
      },
    ],
    [
      '/subscriptions/{guid}',
      'patch',
      { new_feed_url: feed(1), new_guid: newGuid(), is_subscribed: true, title: 'A' },
    ],
    [
      '/episodes',
      'post',
      {
        episodes: [
          episode(newGuid(), 1, { temporary_id: 1, duration: 90 }),
          { podcast_guid: newGuid(), sync_id: newGuid() },
          episode(newGuid(), 2, {
            enclosure_url: '',
            episode_url: '',
            publish_date: '1970-01-01T00:00:00.000Z',
          }),
        ],
      },
    ],
  ])('of %s %s', (path, method, body) => {
    const matches = validator('paths', path, method, 'requestBody', ...json);
    expect([matches(body), matches.errors]).toEqual([true, null]);
  });
});
