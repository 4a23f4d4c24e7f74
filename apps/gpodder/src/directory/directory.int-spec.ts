import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GpodderFixture, type GpodderUser } from '../../testing/gpodder.fixture.js';

let fixture: GpodderFixture;
let ann: GpodderUser;
beforeAll(async () => {
  fixture = await GpodderFixture.open({ PUBLIC_URL: 'https://sync.example/gpodder/' });
  ann = await fixture.user();
});
afterAll(() => fixture.close());

describe('a path without a credential', () => {
  it.each([
    ['/toplist.json', '[]'],
    ['/toplist/50.json', '[]'],
    ['/toplist/50.txt', ''],
    ['/toplist.jsonp?jsonp=f', 'f([])'],
    ['/toplist.xml', '<?xml version="1.0" encoding="UTF-8"?>\n<podcasts></podcasts>\n'],
    ['/search.json?q=x', '[]'],
    ['/gpodder-examples.json', '[]'],
    ['/api/2/tags/50.json', '[]'],
    ['/api/2/tag/news/50.json', '[]'],
  ])('returns an empty list: %s', async (path, text) => {
    const answer = await fixture.request(path);
    expect([answer.status, answer.text]).toEqual([200, text]);
  });

  it('returns an empty list as OPML', async () => {
    const { text } = await fixture.request('/toplist/9.opml');
    expect(text).toMatch(/<opml version="2.0">/);
    expect(text).not.toMatch(/<outline/);
  });

  it.each([
    ['/search.json', 400],
    ['/toplist.csv', 400],
    ['/api/2/data/podcast.json?url=https://a.example/x', 401],
    ['/api/2/data/episode.json?podcast=x&url=y', 404],
    ['/api/2/podcasts/create', 404],
    ['/api/2/task/1234', 404],
    ['/upload', 404],
    ['/getlist', 404],
  ])('without data is an error: %s with %d', async (path, status) => {
    expect((await fixture.request(path)).status).toBe(status);
  });

  it.each(['/api/2/podcasts/create', '/upload'])(
    'without data is an error with POST: %s',
    async (path) => {
      expect((await fixture.request(path, { body: { a: 1 } })).status).toBe(404);
    },
  );

  it('returns the client configuration with the public URL', async () => {
    const baseurl = 'https://sync.example/gpodder/';
    expect((await fixture.request('/clientconfig.json')).json()).toEqual({
      mygpo: { baseurl },
      'mygpo-feedservice': { baseurl },
      update_timeout: 604_800,
    });
  });
});

describe('a path with a credential', () => {
  it.each([
    ['/suggestions/10.json', '[]'],
    ['/api/2/lists/{u}.json', '[]'],
  ])('returns an empty list: %s', async (path, text) => {
    expect((await fixture.request(path)).status).toBe(401);
    expect((await ann.request(path)).text).toBe(text);
  });

  it.each(['/api/2/chapters/{u}.json', '/api/2/lists/{u}/list/x.json'])(
    'is 404 if it does not exist: %s',
    async (path) => expect((await ann.request(path)).status).toBe(404),
  );

  it.each([
    ['PUT', '/api/2/subscriptions/{u}/phone.json', 'GET, HEAD, POST'],
    ['DELETE', '/api/2/devices/{u}.json', 'GET, HEAD'],
    ['GET', '/api/2/auth/{u}/login.json', 'POST'],
    ['POST', '/subscriptions/{u}.opml', 'GET, HEAD'],
    ['OPTIONS', '/subscriptions/{u}/x.opml', 'GET, HEAD, PUT, POST'],
  ])('is 405 with the allowed methods: %s %s', async (method, path, allow) => {
    const answer = await ann.request(path, { method });
    expect(answer.status).toBe(405);
    expect(sorted(answer.headers.get('allow'))).toEqual(sorted(allow));
  });

  it('sets a Secure cookie if the public URL is https', async () => {
    const { headers } = await ann.request('/api/2/auth/{u}/login.json', { method: 'POST' });
    expect(headers.get('set-cookie')).toMatch(/; Secure$/);
  });

  it('supports HEAD', async () => {
    const answer = await ann.request('/api/2/devices/{u}.json', { method: 'HEAD' });
    expect([answer.status, answer.text]).toEqual([200, '']);
  });

  it('is 404 if it cannot be decoded', async () => {
    expect((await ann.request('/api/2/devices/%ff.json')).status).toBe(404);
    expect((await fixture.request('/api/2/devices/%ff.json')).status).toBe(401);
  });
});

describe('the login flow of Nextcloud', () => {
  it.each(['/index.php/login/v2', '/cloud/index.php/login/v2'])(
    'starts at %s, and continues at the account app',
    async (path) => {
      const answer = await fixture.request(path, {
        method: 'POST',
        headers: { 'user-agent': 'AntennaPod/3' },
      });
      expect(answer.status).toBe(200);
      const { poll, login } = answer.json<{
        poll: { token: string; endpoint: string };
        login: string;
      }>();
      expect(poll.token).toMatch(/^[\w-]{43}$/);
      expect(poll.endpoint).toBe('http://127.0.0.1:3002/login/v2/poll');
      expect(login).toMatch(/^http:\/\/127\.0\.0\.1:3002\/login\/v2\/.*[\w-]{43}$/);
      expect(login).not.toContain(poll.token);
    },
  );

  it('gives no further app password to a client with one', async () => {
    expect((await ann.request('/ocs/v2.php/core/getapppassword')).status).toBe(403);
    expect((await fixture.request('/cloud/ocs/v2.php/core/getapppassword')).status).toBe(401);
  });
});

function sorted(list: string | null): string[] {
  return (list ?? '').split(', ').sort();
}
