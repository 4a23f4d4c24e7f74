import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callProgram } from '#testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { podcastSync } from '../../../cli/src/podcast-sync.js';
import { GpodderFixture, type GpodderUser } from '../../testing/gpodder.fixture.js';

let fixture: GpodderFixture;
let folder: string;
beforeAll(async () => {
  fixture = await GpodderFixture.open();
  folder = mkdtempSync(join(tmpdir(), 'import-'));
});
afterAll(async () => {
  await fixture.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Returns the URL of this server, which tests also use as the other server. */
const ownUrl = () => `http://127.0.0.1:${String(fixture.replicas[0]?.facts['port'])}`;

/** Runs an import. @param progress path of the progress file. */
async function run(
  from: string,
  to: GpodderUser,
  login: string,
  password: string,
  progress = join(folder, randomUUID()),
) {
  const file = join(folder, randomUUID());
  writeFileSync(file, `${password}\n`, { mode: 0o600 });
  const options = [
    '--from',
    from,
    '--user',
    to.name,
    '--login',
    login,
    '--password-file',
    file,
    '--progress',
    progress,
  ];
  const env = { REDIS_URL: fixture.stack.redis.url };
  const args = ['import', ...options, '--insecure'];
  const { code, stdout, stderr } = await callProgram(podcastSync, args, env);
  const output = stdout + stderr;
  expect(output).not.toContain(password);
  return { code, output, progress };
}

const episodes = '/api/2/episodes/{u}.json';
interface Download {
  actions: { episode: string; action: string }[];
  timestamp: number;
}
const download = async (user: GpodderUser, query = '') =>
  (await user.request(episodes + query)).json<Download>();
const subscribed = async (user: GpodderUser) =>
  (await user.request('/subscriptions/{u}.txt')).text.trim().split('\n').toSorted();
const feed = (number: number) => `https://${number}.example/feed`;
const play = (number: number, more: object = {}) => ({
  podcast: feed(number % 3),
  episode: `https://a.example/${number}.mp3`,
  guid: `g-${number}`,
  action: 'play',
  timestamp: '2024-03-01T12:00:05',
  started: 0,
  position: 60,
  total: 600,
  ...more,
});

describe('an import from a server of the gpodder API', () => {
  it('writes subscriptions, actions and favourites; a repetition changes nothing', async () => {
    const [other, ann] = [await fixture.user(), await fixture.user()];
    await other.request('/api/2/subscriptions/{u}/phone.json', {
      body: { add: [feed(0), feed(1)], remove: [] },
    });
    await other.request('/subscriptions/{u}/phone.json', {
      method: 'PUT',
      body: [{ url: feed(0), title: 'Zero' }, feed(1)],
    });
    await other.request(episodes, {
      body: Array.from({ length: 600 }, (_, number) => play(number, { device: 'phone' })),
    });
    const favorite = new URLSearchParams({
      podcast: feed(1),
      episode: 'https://a.example/1.mp3',
    });
    await other.request(`/api/2/settings/{u}/episode.json?${favorite}`, {
      body: { set: { is_favorite: true } },
    });
    const first = await run(ownUrl(), ann, other.name, other.secret);
    expect([first.code, first.output]).toEqual([
      0,
      expect.stringContaining('2 subscriptions, 600 actions, 1 favourites'),
    ]);
    expect(await subscribed(ann)).toEqual([feed(0), feed(1)]);
    expect((await ann.request('/subscriptions/{u}.json')).json()).toMatchObject([
      { url: feed(0), title: 'Zero' },
      { url: feed(1), title: feed(1) },
    ]);
    const textsOf = ({ actions }: Download) =>
      actions.map((action) => JSON.stringify(action)).toSorted();
    const after = await download(ann);
    expect(textsOf(after)).toEqual(textsOf(await download(other)));
    expect((await ann.request('/api/2/favorites/{u}.json')).json()).toMatchObject([
      { url: 'https://a.example/1.mp3' },
    ]);
    const feeds = '/api/2/subscriptions/{u}/phone.json?since=';
    const { timestamp } = (await ann.request(`${feeds}0`)).json<{ timestamp: number }>();
    expect((await run(ownUrl(), ann, other.name, other.secret)).code).toBe(0);
    expect((await ann.request(`${feeds}${timestamp}`)).json()).toMatchObject({
      add: [],
      remove: [],
    });
    expect((await download(ann, `?since=${after.timestamp}`)).actions).toEqual([]);
  });

  it('does not overwrite newer changes', async () => {
    const [other, ann] = [await fixture.user(), await fixture.user()];
    const phone = '/api/2/subscriptions/{u}/phone.json';
    await other.request(phone, { body: { add: [feed(0), feed(1)], remove: [] } });
    await other.request(episodes, { body: [play(0)] });
    await ann.request(phone, { body: { add: [feed(0)], remove: [] } });
    await ann.request(phone, { body: { add: [], remove: [feed(0)] } });
    const newer = play(0, { timestamp: '2024-03-01T12:00:06', started: 90, position: 90 });
    await ann.request(episodes, { body: [newer] });
    expect((await run(ownUrl(), ann, other.name, other.secret)).code).toBe(0);
    expect(await subscribed(ann)).toEqual([feed(1)]);
    expect((await download(ann)).actions).toEqual([newer]);
  });

  it.each([
    ['a wrong password', ownUrl, 'wrong', 'rejects the name or the password'],
    ['an unreachable server', () => 'http://127.0.0.1:1', undefined, 'connection failed'],
  ])('with %s fails, and prints the reason', async (_, from, password, reason) => {
    const [other, ann] = [await fixture.user(), await fixture.user()];
    const { code, output } = await run(from(), ann, other.name, password ?? other.secret);
    expect([code, output]).toEqual([1, expect.stringContaining(reason)]);
  });

  it('without an account of the name fails', async () => {
    const other = await fixture.user();
    const { code, output } = await run(
      ownUrl(),
      { name: 'nobody' } as GpodderUser,
      other.name,
      other.secret,
    );
    expect([code, output]).toEqual([1, expect.stringContaining('no account has the name nobody')]);
  });
});

/** Starts a server with a handler. Returns its URL and the server. */
async function startServer(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<[string, Server]> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return [`http://127.0.0.1:${(server.address() as { port: number }).port}`, server];
}
const subscriptions = '/cloud/index.php/apps/gpoddersync/subscriptions?since=0';
const actions = (since: number) =>
  `/cloud/index.php/apps/gpoddersync/episode_action?since=${since}`;

it('an import from a server of another protocol fails', async () => {
  const [from, server] = await startServer(
    (_request, response) => void response.writeHead(404).end(),
  );
  const { code, output } = await run(from, await fixture.user(), 'ann', 'secret!');
  server.close();
  expect([code, output]).toEqual([
    1,
    expect.stringContaining(`no gpodder API or gpoddersync at ${from}/`),
  ]);
});

it('an import skips invalid entries, and lists them with their reasons', async () => {
  const ann = await fixture.user();
  const answers: Record<string, string> = {
    '/api/2/devices/ann.json': JSON.stringify([
      { id: 'phone' },
      { id: 'tv' },
      { id: 'gone' },
      { name: 'x' },
      null,
    ]),
    '/api/2/subscriptions/ann/phone.json?since=0': JSON.stringify({
      add: [feed(0), null, 7, { url: feed(1) }, 'nonsense'],
    }),
    '/api/2/subscriptions/ann/tv.json?since=0': '{"add":null,"remove":null,"timestamp":1}',
    '/api/2/episodes/ann.json?since=0':
      `{"actions":[${JSON.stringify(play(0))},{"position":NaN},null,{"podcast":"x"}],` +
      '"timestamp":"later"}',
    '/api/2/favorites/ann.json': JSON.stringify([
      { url: 'https://a.example/1.mp3', podcast_url: feed(0) },
      { url: 'https://a.example/2.mp3', podcast_url: null },
      { url: 'local', podcast_url: feed(0) },
    ]),
  };
  const [from, server] = await startServer(({ url = '' }, response) => {
    const answer = answers[url];
    response.writeHead(answer === undefined ? 404 : 200).end(answer);
  });
  const { code, output } = await run(from, ann, 'ann', 'secret!');
  server.close();
  expect([code, output]).toEqual([
    0,
    expect.stringContaining('2 subscriptions, 1 actions, 1 favourites; 11 skipped'),
  ]);
  for (const line of [
    'skipped device gone: no_list',
    'skipped device {"name":"x"}: no_id',
    'skipped device null: no_id',
    'skipped feed null: unusable_podcast',
    'skipped feed nonsense: unusable_podcast',
    'skipped action {"position":NaN}: not_an_object',
    'skipped action {"podcast":"x"}: missing_key',
    'skipped favourite {"url":"https://a.example/2.mp3","podcast_url":null}: missing_key',
    'skipped favourite {"url":"local","podcast_url":"https://0.example/feed"}: unusable_episode',
  ])
    expect(output).toContain(`import: ${line}\n`);
  expect(await subscribed(ann)).toEqual([feed(0), feed(1)]);
  expect((await ann.request('/api/2/favorites/{u}.json')).json()).toMatchObject([
    { url: 'https://a.example/1.mp3' },
  ]);
});

it('an import reports an answer that is not a list', async () => {
  const ann = await fixture.user();
  const answers: Record<string, string> = {
    '/api/2/devices/ann.json': '[]',
    '/subscriptions/ann.json': JSON.stringify({ feeds: [feed(0)] }),
    '/api/2/episodes/ann.json?since=0': '{"actions":[],"timestamp":1}',
    '/api/2/favorites/ann.json': '{"favorites":[]}',
  };
  const [from, server] = await startServer(({ url = '' }, response) => {
    response.writeHead(url in answers ? 200 : 404).end(answers[url]);
  });
  const { code, output } = await run(from, ann, 'ann', 'secret!');
  server.close();
  expect([code, output]).toEqual([0, expect.stringContaining('0 favourites; 2 skipped')]);
  for (const line of [
    `skipped answer {"feeds":["${feed(0)}"]}: not_a_list`,
    'skipped answer {"favorites":[]}: not_a_list',
  ])
    expect(output).toContain(`import: ${line}\n`);
});

describe('an import from Nextcloud', () => {
  it('reads paths below a folder, and continues after a broken answer', async () => {
    const ann = await fixture.user();
    const requested: string[] = [];
    let isBroken = true;
    const many = Array.from({ length: 600 }, (_, number) =>
      JSON.stringify(play(number, { action: 'PLAY', device: 'x' })),
    );
    const [from, server] = await startServer(({ url = '', headers }, response) => {
      if (headers.authorization !== `Basic ${btoa('ann:secret!')}`)
        return response.writeHead(401).end();
      requested.push(url);
      if (url === subscriptions)
        response.end(JSON.stringify({ add: [feed(0)], remove: [feed(1)], timestamp: 5 }));
      else if (url === actions(0) && isBroken) {
        isBroken = false;
        response.write(`{"actions":[${many.slice(0, 550).join(',')},{"podcast":`, () =>
          response.destroy(),
        );
      } else if (url === actions(0)) response.end(`{"actions":[${many.join(',')}],"timestamp":7}`);
      else if (url === actions(7)) response.end('{"actions":[],"timestamp":7}');
      else response.writeHead(404).end();
      return undefined;
    });
    const first = await run(`${from}/cloud`, ann, 'ann', 'secret!');
    expect([first.code, first.output]).toEqual([1, expect.stringContaining('connection failed')]);
    const progress = readFileSync(first.progress, 'utf8');
    const { since, actions: written } = JSON.parse(progress) as Record<string, number>;
    expect(since).toBe(0);
    // A connection that breaks discards the chunks that were not yet read.
    expect([250, 500]).toContain(written);
    expect(progress).not.toContain('secret!');
    const second = await run(`${from}/cloud`, ann, 'ann', 'secret!', first.progress);
    server.close();
    expect([second.code, second.output]).toEqual([
      0,
      expect.stringContaining(`continues after ${written} actions`),
    ]);
    expect(second.output).toContain(`${600 - Number(written)} actions`);
    expect(existsSync(first.progress)).toBe(false);
    expect(requested.filter((url) => url.includes('episode_action'))).toEqual([
      actions(0),
      actions(0),
      actions(7),
    ]);
    expect((await download(ann)).actions).toHaveLength(600);
    expect(await subscribed(ann)).toEqual([feed(0)]);
  });

  it('continues if it cannot save its progress, and counts each entry once', async () => {
    const ann = await fixture.user();
    const one = { podcast: feed(0) };
    await ann.request(episodes, {
      body: [
        play(0, { ...one, guid: 'named', episode: '' }),
        ...Array.from({ length: 10 }, (_, n) => play(n + 1, { ...one, guid: undefined })),
      ],
    });
    // The episode service rejects an action that alone matches too many episodes.
    const same = 'https://a.example/same.mp3';
    await fixture.owner.query(
      "UPDATE episode.episodes SET enclosure_url = $2 WHERE user_id = $1 AND episode_guid = ''",
      [ann.userId, same],
    );
    const later = { position: 70, timestamp: '2024-03-01T12:00:06' };
    const sent = [play(20), play(1, { ...one, ...later, guid: 'named', episode: same })];
    const [from, server] = await startServer(({ url = '' }, response) => {
      if (url === subscriptions) response.end('{"add":[],"remove":[],"timestamp":5}');
      else if (url === actions(0)) response.end(JSON.stringify({ actions: sent, timestamp: 7 }));
      else if (url === actions(7)) response.end('{"actions":[],"timestamp":7}');
      else response.writeHead(404).end();
    });
    const { code, output } = await run(
      `${from}/cloud`,
      ann,
      'ann',
      'secret!',
      join(folder, 'missing', 'x'),
    );
    server.close();
    expect([code, output]).toEqual([
      0,
      expect.stringContaining('1 actions, 0 favourites; 1 skipped'),
    ]);
    expect(output).toMatch(
      /the progress is not saved \(ENOENT.*--progress FILE names another file/,
    );
  });

  it('sends no password to the origin of a redirect', async () => {
    const ann = await fixture.user();
    let reached = 0;
    const [target, targetServer] = await startServer((_request, response) => {
      reached += 1;
      response.end('{}');
    });
    const [from, server] = await startServer((_request, response) => {
      response.writeHead(302, { location: `${target}/` }).end();
    });
    const { code, output } = await run(from, ann, 'ann', 'secret!');
    for (const one of [server, targetServer]) one.close();
    expect([code, output, reached]).toEqual([
      1,
      expect.stringContaining(`redirects to ${target}: use that address`),
      0,
    ]);
  });
});
