import 'reflect-metadata';
import { once } from 'node:events';
import { connect } from 'node:net';
import { APP_FILTER } from '@nestjs/core';
import { Body, Controller, Get, Module, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pino } from 'pino';
import { register } from 'prom-client';
import { RateLimited } from '#identity';
import { redisConfig } from '#redis';
import type { RunningProcess } from '#runtime';
import { eventually } from '#testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createHttpAdapter, type HttpOptions } from './http-adapter.js';
import { httpConfig } from './http.config.js';
import { toErrorAnswer, type ErrorFormat, FailureFilter, send } from './errors.js';
import { RateLimits } from './rate-limits.js';
import { serveHttp } from './serve-http.js';
import { UserLimiter } from './user-limiter.js';

@Controller()
class PageController {
  @Post('form')
  form(@Body() body: Record<string, string>) {
    return { proto: Object.getPrototypeOf(body) as unknown, ...body };
  }

  @Get('cookie')
  cookie(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    void reply.setCookie('session', 'new', { httpOnly: true, sameSite: 'lax', path: '/' });
    return request.cookies;
  }

  @Get('texts/:bytes')
  text(@Param('bytes') bytes: string) {
    // Each character has two bytes.
    return { text: 'ä'.repeat(Number(bytes) / 2) };
  }

  @Get('parts/:bytes')
  parts(@Res() reply: FastifyReply, @Param('bytes') bytes: string) {
    reply.raw.write('first ');
    void Promise.resolve(waiting).then(() => reply.raw.end('a'.repeat(Number(bytes))));
  }

  @Get('links/:secret')
  link(@Param('secret') secret: string) {
    return { length: secret.length };
  }
}

const invalid = { status: 422, message: 'Check what you entered' };
const failures = {
  invalid,
  unauthorized: invalid,
  not_found: invalid,
  gone: invalid,
  unavailable: invalid,
  internal: invalid,
};

const log = pino(
  { level: 'debug' },
  { write: (line: string) => void logged.push(JSON.parse(line) as object as never) },
);
const errors: ErrorFormat = {
  answerTo: (error, _request, to) => toErrorAnswer(error, to, failures),
  send,
  wrongMethod: { status: 405, message: 'Another method' },
  badPath: { status: 400, message: 'Bad request' },
};
const filter = { provide: APP_FILTER, useValue: new FailureFilter(errors, log) };

@Module({ controllers: [PageController], providers: [filter] })
class PageModule {}

const secret = 'zY3_secret-of-a-link-that-nobody-may-read01';
// Enough bytes for 100 bodies of one network, which holds at most a quarter of them.
const limiter = new UserLimiter({ requests: 100, bytes: 16_777_216 });
let logged: Record<string, unknown>[] = [];
let app: RunningProcess;
let base: string;
/** Delays the answer of the listener of Node. */
let waiting: Promise<void> | undefined;

/** Options of an app with pages and a listener of Node, like the account app. */
const options: HttpOptions = {
  config: httpConfig.parse({ PORT: '0', MAX_BODY_BYTES: '4096' }),
  log,
  limits: new RateLimits(redisConfig.parse({ REDIS_URL: 'redis://127.0.0.1:1' }), log),
  limiter,
  errors,
  authenticate: async ({ headers }) => {
    if (headers['x-refuse']) throw new RateLimited(1);
    return undefined;
  },
  sessionUser: async ({ headers }) => headers['x-session'] as string | undefined,
  headers: () => ({ 'content-security-policy': "default-src 'none'" }),
  bodies: ['form'],
  cookies: true,
  nodeHandlerFor: ({ url }) =>
    url.startsWith('/issuer/')
      ? {
          route: '/issuer/:part',
          listen: (request, response) => {
            let body = '';
            request.on('data', (chunk: Buffer) => (body += chunk.toString()));
            request.on('end', () => {
              response.setHeader('cache-control', 'no-store');
              void Promise.resolve(waiting).then(() => response.end(`read ${body}`));
            });
          },
        }
      : undefined,
};

/** Serves the pages on a separate port. */
async function serve(served: HttpOptions, answersMs?: number): Promise<RunningProcess> {
  const { config } = served;
  const connections = { opened: Promise.resolve(), close: async () => {} };
  const adapter = await createHttpAdapter(served);
  const pages = {
    module: { module: PageModule },
    adapter,
    configure: async () => ({ close: async () => {} }),
  };
  return serveHttp(pages, { config, log, connections, answersMs });
}
const urlOf = ({ facts }: RunningProcess) => `http://127.0.0.1:${String(facts?.['port'])}`;

beforeAll(async () => {
  // Metrics are per process, and the tests run several servers in one.
  register.clear();
  app = await serve(options);
  base = urlOf(app);
});
beforeEach(() => {
  logged = [];
  waiting = undefined;
});
afterAll(async () => {
  await app.stop();
  register.clear();
});

const form = (body: string, headers: Record<string, string> = {}) =>
  fetch(`${base}/form`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });

describe('a form', () => {
  it('is read as texts, the last of each name, in an object that inherits nothing', async () => {
    const answer = await form('name=ann&code=1+2%263&name=%C3%A4&__proto__=x&empty=');
    const expected = { proto: null, name: 'ä', code: '1 2&3', empty: '' };
    expect(await answer.json()).toMatchObject(expected);
  });

  it.each([
    ['is too large beyond the limit', 'a'.repeat(5_000), 413],
    ['has no more fields than a page has', '&a=1'.repeat(100), 422],
  ])('%s', async (_, body, status) => {
    expect((await form(body)).status).toBe(status);
  });

  it.each(['application/json', 'text/plain', 'multipart/form-data; boundary=a'])(
    'with another content type is rejected: %s',
    async (type) => expect((await form('{}', { 'content-type': type })).status).toBe(422),
  );

  it('holds no bytes after its answer', async () => {
    await form('a=1');
    await eventually(() => expect(limiter.heldBytes).toBe(0));
  });

  it('is not read before its request is admitted', async () => {
    expect((await form('a'.repeat(5_000), { 'x-refuse': 'yes' })).status).toBe(429);
  });
});

it('cookies are read and set', async () => {
  const answer = await fetch(`${base}/cookie`, { headers: { cookie: 'session=old; other=%20' } });
  expect(await answer.json()).toEqual({ session: 'old', other: ' ' });
  expect(answer.headers.getSetCookie()).toEqual(['session=new; Path=/; HttpOnly; SameSite=Lax']);
});

describe('a request that is handed over', () => {
  const ask = (headers: Record<string, string> = {}) =>
    fetch(`${base}/issuer/token`, { method: 'POST', body: '{"a":1}', headers });

  it('passes its body of any type to the listener', async () => {
    expect(await (await ask({ 'content-type': 'application/json' })).text()).toBe('read {"a":1}');
  });

  it('is answered with the headers of the edge, and those that the listener sets', async () => {
    const { headers } = await ask({ 'x-request-id': 'r1' });
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-request-id': 'r1',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'content-security-policy': "default-src 'none'",
      'cache-control': 'no-store',
    });
  });

  it('is admitted first', async () => {
    expect((await ask({ 'x-refuse': 'yes' })).status).toBe(429);
  });

  it('is logged and counted by its route', async () => {
    await (await fetch(`${base}/issuer/auth?code=1`)).text();
    await eventually(() =>
      expect(logged).toContainEqual(expect.objectContaining({ route: '/issuer/:part' })),
    );
    expect(await register.metrics()).toContain('route="/issuer/:part"');
  });
});

it.each([
  [524_000, 'gzip'],
  [525_000, null],
])(
  'an answer is compressed up to 512 KiB, in bytes and not in characters: %i',
  async (bytes, coding) => {
    const answer = await fetch(`${base}/texts/${bytes}`, {
      headers: { 'accept-encoding': 'gzip' },
    });
    expect(answer.headers.get('content-encoding')).toBe(coding);
    expect(Buffer.byteLength(await answer.text())).toBe(bytes + '{"text":""}'.length);
  },
);

describe('a request is logged and counted by its route, without', () => {
  const feed = 'https%3A%2F%2Fann%3Aword%40feeds.example%2Fone';
  it.each([
    ['a parameter', `/links/${secret}`, '/links/:secret', secret],
    ['a feed URL with a password', `/links/${feed}`, '/links/:secret', 'word'],
    ['the path of no route', '/devices/ann/phone', 'none', 'ann'],
    ['the query', `/links/a?secret=${secret}`, '/links/:secret', secret],
    ['a part of a path for a listener of Node', '/issuer/ann', '/issuer/:part', 'ann'],
  ])('%s', async (_, path, route, text) => {
    await (await fetch(`${base}${path}`)).text();
    await eventually(() => expect(logged).toContainEqual(expect.objectContaining({ route })));
    expect(JSON.stringify(logged)).not.toContain(text);
    expect(await register.metrics()).not.toContain(text);
  });
});

it('rejects a path that cannot be decoded, with the headers of all answers', async () => {
  const answer = await fetch(`${base}/links/%ff`);
  expect([answer.status, answer.headers.get('x-content-type-options')]).toEqual([400, 'nosniff']);
});

/** Sends bytes on a connection. Resolves to its socket and to all it received until its end. */
async function connection(bytes: string) {
  const socket = connect(Number(new URL(base).port), '127.0.0.1');
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  socket.on('error', () => {});
  const closed = once(socket, 'close').then(() => received);
  await once(socket, 'connect');
  socket.write(bytes);
  return { socket, closed };
}
const unfinished = (headers = '') =>
  `POST /form HTTP/1.1\r\nHost: a.example\r\nContent-Length: 9\r\n${headers}` +
  'Content-Type: application/x-www-form-urlencoded\r\n\r\na';

it('new requests replace stalled bodies, which delay no other request', async () => {
  const signedIn = await connection(unfinished('X-Session: ann\r\n'));
  const silent = [];
  for (let n = 0; n < 110; n += 1) silent.push(await connection(unfinished()));
  // New requests replace the first stalled bodies before any timeout.
  const [first] = silent;
  // A body with a session counts for its user, so it is not replaced.
  const ended = await Promise.race([first?.closed, signedIn.closed.then(() => 'signed in')]);
  expect(ended).toMatch(/^HTTP\/1\.1 408 /);
  expect((await fetch(`${base}/cookie`)).status).toBe(200);
  expect((await form('name=ann')).status).toBe(201);
  for (const { socket } of [signedIn, ...silent]) socket.destroy();
});

it(
  'a stalled body of an unauthenticated client gets 408 after some seconds',
  { timeout: 15_000 },
  async () => {
    const { closed } = await connection(unfinished());
    expect(await closed).toMatch(/^HTTP\/1\.1 408 /);
  },
);

it('errors of the framework are answered with the texts of the app', async () => {
  const adapter = await createHttpAdapter(options);
  const fastify = adapter.getInstance();
  await fastify.register(async (plugin) => {
    plugin.get('/plain', async () => {
      throw Object.assign(new Error('a text of a library'), { code: 'FST_ERR', statusCode: 416 });
    });
  });
  const { statusCode, body } = await fastify.inject({ url: '/plain', headers: { host: 'a' } });
  expect([statusCode, body]).toEqual([
    422,
    JSON.stringify({ code: '422', message: invalid.message }),
  ]);
  await fastify.close();
});

it.each([
  ['two', 'Host: a.example\r\nHost: b.example\r\n'],
  ['no', ''],
  ['an invalid', 'Host: a b\r\n'],
])('a request with %s Host is a bad request', async (_, hosts) => {
  const { closed } = await connection(`GET /cookie HTTP/1.1\r\n${hosts}\r\n`);
  expect(await closed).toMatch(/^HTTP\/1\.1 400 /);
});

it('stops in order: started requests are answered, and their connections end', async () => {
  register.clear();
  let go!: () => void;
  waiting = new Promise((resolve) => (go = resolve));
  let handed = 0;
  const one = await serve({
    ...options,
    nodeHandlerFor: (request) => {
      handed += 1;
      return options.nodeHandlerFor?.(request);
    },
  });
  const url = `${urlOf(one)}/issuer/token`;
  const asked = fetch(url, { method: 'POST', body: 'a' });
  await eventually(() => expect(handed).toBe(1));
  const closed = one.stop();
  await eventually(() => expect(fetch(urlOf(one))).rejects.toThrow('fetch failed'));
  go();
  const answer = await asked;
  expect([await answer.text(), answer.headers.get('connection')]).toEqual(['read a', 'close']);
  await closed;
});

describe('a stop during an answer whose head is sent', () => {
  /** Starts an answer of some bytes, which end after `waiting`, and then the stop. */
  async function stopDuring(bytes: number, answersMs?: number) {
    register.clear();
    const one = await serve(options, answersMs);
    const answer = await fetch(`${urlOf(one)}/parts/${bytes}`);
    return { answer, stopped: one.stop() };
  }

  it('closes the connection after the answer', async () => {
    let end!: () => void;
    waiting = new Promise((resolve) => (end = resolve));
    const { answer, stopped } = await stopDuring(1);
    end();
    expect(await answer.text()).toBe('first a');
    await stopped;
  });

  it('sends all of it to a client that reads slowly', async () => {
    const { answer, stopped } = await stopDuring(20_000_000);
    expect(await answer.text()).toHaveLength(20_000_006);
    await stopped;
  });

  it('closes the connection of a client that does not read', async () => {
    const { answer, stopped } = await stopDuring(20_000_000, 500);
    await stopped;
    await expect(answer.text()).rejects.toThrow('terminated');
  });
});
