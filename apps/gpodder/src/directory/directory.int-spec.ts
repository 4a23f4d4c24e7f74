import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GpodderWorld, type Person } from '../../testing/gpodder.world.js';

let world: GpodderWorld;
let ann: Person;
beforeAll(async () => {
  world = await GpodderWorld.open({ PUBLIC_URL: 'https://sync.example/gpodder/' });
  ann = await world.person();
});
afterAll(() => world.close());

describe('what needs no login', () => {
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
  ])('is an empty list: %s', async (path, text) => {
    const answer = await world.ask(path);
    expect([answer.status, answer.text]).toEqual([200, text]);
  });

  it('is an empty document of OPML, too', async () => {
    const { text } = await world.ask('/toplist/9.opml');
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
  ])('is refused where it can not be answered: %s with %d', async (path, status) => {
    expect((await world.ask(path)).status).toBe(status);
  });

  it.each(['/api/2/podcasts/create', '/upload'])(
    'is not there to be written, either: %s',
    async (path) => {
      expect((await world.ask(path, { body: { a: 1 } })).status).toBe(404);
    },
  );

  it('is the configuration of clients, by the public URL', async () => {
    const baseurl = 'https://sync.example/gpodder/';
    expect((await world.ask('/clientconfig.json')).json()).toEqual({
      mygpo: { baseurl },
      'mygpo-feedservice': { baseurl },
      update_timeout: 604_800,
    });
  });
});

describe('what needs a login', () => {
  it.each([
    ['/suggestions/10.json', '[]'],
    ['/api/2/lists/{u}.json', '[]'],
  ])('is an empty list: %s', async (path, text) => {
    expect((await world.ask(path)).status).toBe(401);
    expect((await ann.ask(path)).text).toBe(text);
  });

  it.each(['/api/2/chapters/{u}.json', '/api/2/lists/{u}/list/x.json'])(
    'is not there: %s',
    async (path) => expect((await ann.ask(path)).status).toBe(404),
  );

  it.each([
    ['PUT', '/api/2/subscriptions/{u}/phone.json', 'GET, HEAD, POST'],
    ['DELETE', '/api/2/devices/{u}.json', 'GET, HEAD'],
    ['GET', '/api/2/auth/{u}/login.json', 'POST'],
    ['POST', '/subscriptions/{u}.opml', 'GET, HEAD'],
    ['OPTIONS', '/subscriptions/{u}/x.opml', 'GET, HEAD, PUT, POST'],
  ])('says which methods there are: %s %s', async (method, path, allow) => {
    const answer = await ann.ask(path, { method });
    expect(answer.status).toBe(405);
    expect(sorted(answer.headers.get('allow'))).toEqual(sorted(allow));
  });

  it('sets a cookie for TLS alone where the public URL is https', async () => {
    const { headers } = await ann.ask('/api/2/auth/{u}/login.json', { method: 'POST' });
    expect(headers.get('set-cookie')).toMatch(/; Secure$/);
  });

  it('is answered to HEAD without a body', async () => {
    const answer = await ann.ask('/api/2/devices/{u}.json', { method: 'HEAD' });
    expect([answer.status, answer.text]).toEqual([200, '']);
  });

  it('is not there for a path that can not be decoded', async () => {
    expect((await ann.ask('/api/2/devices/%ff.json')).status).toBe(404);
    expect((await world.ask('/api/2/devices/%ff.json')).status).toBe(401);
  });
});

describe('the login flow of Nextcloud', () => {
  it.each(['/index.php/login/v2', '/cloud/index.php/login/v2'])(
    'begins at %s, and goes on with accounts',
    async (path) => {
      const answer = await world.ask(path, {
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

  it('has no other app password for whoever has one', async () => {
    expect((await ann.ask('/ocs/v2.php/core/getapppassword')).status).toBe(403);
    expect((await world.ask('/cloud/ocs/v2.php/core/getapppassword')).status).toBe(401);
  });
});

function sorted(list: string | null): string[] {
  return (list ?? '').split(', ').sort();
}
