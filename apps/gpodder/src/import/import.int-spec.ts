import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProgram } from '#testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GpodderWorld, type Person } from '../../testing/gpodder.world.js';

let world: GpodderWorld;
let folder: string;
beforeAll(async () => {
  world = await GpodderWorld.open();
  folder = mkdtempSync(join(tmpdir(), 'import-'));
});
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true, force: true });
});

const here = () => `http://127.0.0.1:${String(world.gpodder[0]?.facts['port'])}`;

async function run(
  from: string,
  to: Person,
  login: string,
  password: string,
  progress = join(folder, randomUUID()),
) {
  const file = join(folder, randomUUID());
  writeFileSync(file, `${password}\n`, { mode: 0o600 });
  const names = [
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
  const env = { REDIS_URL: world.stack.redis.url };
  const { code, stdout, stderr } = await startProgram(
    'podcast-sync',
    ['import', ...names, '--insecure'],
    env,
  );
  const output = stdout + stderr;
  expect(output).not.toContain(password);
  return { code, output, progress };
}

const episodes = '/api/2/episodes/{u}.json';
interface Listed {
  actions: { episode: string; action: string }[];
  timestamp: number;
}
const listed = async (person: Person, query = '') =>
  (await person.ask(episodes + query)).json<Listed>();
const subscribed = async (person: Person) =>
  (await person.ask('/subscriptions/{u}.txt')).text.trim().split('\n').toSorted();
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

describe('an account of another server of the gpodder API', () => {
  it('is here, with subscriptions, actions and favourites, however often it is imported', async () => {
    const [there, ann] = [await world.person(), await world.person()];
    await there.ask('/api/2/subscriptions/{u}/phone.json', {
      body: { add: [feed(0), feed(1)], remove: [] },
    });
    const whole = [{ url: feed(0), title: 'Zero' }, feed(1)];
    await there.ask('/subscriptions/{u}/phone.json', { method: 'PUT', body: whole });
    await there.ask(episodes, {
      body: Array.from({ length: 600 }, (_, number) => play(number, { device: 'phone' })),
    });
    const favorite = `?podcast=${encodeURIComponent(feed(1))}&episode=${encodeURIComponent('https://a.example/1.mp3')}`;
    await there.ask(`/api/2/settings/{u}/episode.json${favorite}`, {
      body: { set: { is_favorite: true } },
    });
    const first = await run(here(), ann, there.name, there.secret);
    expect([first.code, first.output]).toEqual([
      0,
      expect.stringContaining('2 subscriptions, 600 actions, 1 favourites'),
    ]);
    expect(await subscribed(ann)).toEqual([feed(0), feed(1)]);
    expect((await ann.ask('/subscriptions/{u}.json')).json()).toMatchObject([
      { url: feed(0), title: 'Zero' },
      { url: feed(1), title: feed(1) },
    ]);
    const names = ({ actions }: Listed) =>
      actions.map((action) => JSON.stringify(action)).toSorted();
    const after = await listed(ann);
    expect(names(after)).toEqual(names(await listed(there)));
    expect((await ann.ask('/api/2/favorites/{u}.json')).json()).toMatchObject([
      { url: 'https://a.example/1.mp3' },
    ]);
    const feeds = '/api/2/subscriptions/{u}/phone.json?since=';
    const { timestamp } = (await ann.ask(`${feeds}0`)).json<{ timestamp: number }>();
    expect((await run(here(), ann, there.name, there.secret)).code).toBe(0);
    expect((await ann.ask(`${feeds}${timestamp}`)).json()).toMatchObject({ add: [], remove: [] });
    expect((await listed(ann, `?since=${after.timestamp}`)).actions).toEqual([]);
  });

  it('never wins over what was done here', async () => {
    const [there, ann] = [await world.person(), await world.person()];
    const phone = '/api/2/subscriptions/{u}/phone.json';
    await there.ask(phone, { body: { add: [feed(0), feed(1)], remove: [] } });
    await there.ask(episodes, { body: [play(0)] });
    await ann.ask(phone, { body: { add: [feed(0)], remove: [] } });
    await ann.ask(phone, { body: { add: [], remove: [feed(0)] } });
    const newer = play(0, { timestamp: '2024-03-01T12:00:06', started: 90, position: 90 });
    await ann.ask(episodes, { body: [newer] });
    expect((await run(here(), ann, there.name, there.secret)).code).toBe(0);
    expect(await subscribed(ann)).toEqual([feed(1)]);
    expect((await listed(ann)).actions).toEqual([newer]);
  });

  it.each([
    ['a wrong password', here, 'wrong', 'refuses the name or the password'],
    ['nobody there', () => 'http://127.0.0.1:1', undefined, 'broke off'],
  ])('with %s is not done, and says why', async (_, from, password, why) => {
    const [there, ann] = [await world.person(), await world.person()];
    const { code, output } = await run(from(), ann, there.name, password ?? there.secret);
    expect([code, output]).toEqual([1, expect.stringContaining(why)]);
  });

  it('is imported for nobody where nobody has the name', async () => {
    const there = await world.person();
    const { code, output } = await run(
      here(),
      { name: 'nobody' } as Person,
      there.name,
      there.secret,
    );
    expect([code, output]).toEqual([1, expect.stringContaining('nobody is called nobody')]);
  });
});

/** Starts another server with the given handler. Returns its URL too. */
async function serving(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<[string, Server]> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return [`http://127.0.0.1:${(server.address() as { port: number }).port}`, server];
}
const subscriptions = '/cloud/index.php/apps/gpoddersync/subscriptions?since=0';
const actions = (since: number) =>
  `/cloud/index.php/apps/gpoddersync/episode_action?since=${since}`;

it('of a server that speaks something else nothing is imported', async () => {
  const [from, server] = await serving((_request, response) => void response.writeHead(404).end());
  const { code, output } = await run(from, await world.person(), 'ann', 'secret!');
  server.close();
  expect([code, output]).toEqual([
    1,
    expect.stringContaining('neither the gpodder API nor gpoddersync is there'),
  ]);
});

it('odd values of a gpodder server are skipped one by one, and listed with their reasons', async () => {
  const ann = await world.person();
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
    '/api/2/episodes/ann.json?since=0': `{"actions":[${JSON.stringify(play(0))},{"position":NaN},null,{"podcast":"x"}],"timestamp":"later"}`,
    '/api/2/favorites/ann.json': JSON.stringify([
      { url: 'https://a.example/1.mp3', podcast_url: feed(0) },
      { url: 'https://a.example/2.mp3', podcast_url: null },
      { url: 'local', podcast_url: feed(0) },
    ]),
  };
  const [from, server] = await serving(({ url = '' }, response) => {
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
    'skipped device gone: it has no list of subscriptions',
    'skipped device {"name":"x"}: it has no id',
    'skipped device null: it has no id',
    'skipped feed null: it has no usable address',
    'skipped feed nonsense: it has no usable address',
    'skipped action {"position":NaN}: no_object',
    'skipped action {"podcast":"x"}: missing_key',
    'skipped favourite {"url":"https://a.example/2.mp3","podcast_url":null}: it names no episode',
    'skipped favourite {"url":"local","podcast_url":"https://0.example/feed"}: it has no usable address of its episode',
  ])
    expect(output).toContain(`import: ${line}\n`);
  expect(await subscribed(ann)).toEqual([feed(0), feed(1)]);
  expect((await ann.ask('/api/2/favorites/{u}.json')).json()).toMatchObject([
    { url: 'https://a.example/1.mp3' },
  ]);
});

describe('a Nextcloud', () => {
  it('is imported from below a folder, answer by answer, and goes on where one broke off', async () => {
    const ann = await world.person();
    const asked: string[] = [];
    let broken = true;
    const many = Array.from({ length: 600 }, (_, number) =>
      JSON.stringify(play(number, { action: 'PLAY', device: 'x' })),
    );
    const [from, server] = await serving(({ url = '', headers }, response) => {
      if (headers.authorization !== `Basic ${btoa('ann:secret!')}`)
        return response.writeHead(401).end();
      asked.push(url);
      if (url === subscriptions)
        response.end(JSON.stringify({ add: [feed(0)], remove: [feed(1)], timestamp: 5 }));
      else if (url === actions(0) && broken) {
        broken = false;
        response.write(`{"actions":[${many.slice(0, 550).join(',')},{"podcast":`, () =>
          response.destroy(),
        );
      } else if (url === actions(0)) response.end(`{"actions":[${many.join(',')}],"timestamp":7}`);
      else if (url === actions(7)) response.end('{"actions":[],"timestamp":7}');
      else response.writeHead(404).end();
      return undefined;
    });
    const first = await run(`${from}/cloud`, ann, 'ann', 'secret!');
    expect([first.code, first.output]).toEqual([1, expect.stringContaining('broke off')]);
    const note = readFileSync(first.progress, 'utf8');
    expect(JSON.parse(note)).toMatchObject({ since: 0, actions: 500 });
    expect(note).not.toContain('secret!');
    const second = await run(`${from}/cloud`, ann, 'ann', 'secret!', first.progress);
    server.close();
    expect([second.code, second.output]).toEqual([
      0,
      expect.stringContaining('going on behind 500 actions'),
    ]);
    expect(second.output).toContain('100 actions');
    expect(existsSync(first.progress)).toBe(false);
    expect(asked.filter((url) => url.includes('episode_action'))).toEqual([
      actions(0),
      actions(0),
      actions(7),
    ]);
    expect((await listed(ann)).actions).toHaveLength(600);
    expect(await subscribed(ann)).toEqual([feed(0)]);
  });

  it('that sends us to another place never gets the password there', async () => {
    const ann = await world.person();
    let reached = 0;
    const [other, elsewhere] = await serving((_request, response) => {
      reached += 1;
      response.end('{}');
    });
    const [from, server] = await serving((_request, response) => {
      response.writeHead(302, { location: `${other}/` }).end();
    });
    const { code, output } = await run(from, ann, 'ann', 'secret!');
    for (const one of [server, elsewhere]) one.close();
    expect([code, output, reached]).toEqual([1, expect.stringContaining(`say --from ${other}`), 0]);
  });
});
