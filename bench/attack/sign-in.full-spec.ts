import { once } from 'node:events';
import { connect } from 'node:net';
import pg from 'pg';
import { AppStack, callProgram } from '#testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { podcastSync } from '../../apps/cli/src/podcast-sync.js';
import { Person } from '../../tests/system/testing/person.js';

const [name, password] = ['ann', 'a sentence that nobody guesses'];

/** Duration of an attack in ms, its concurrency, and the longest sign-in of a person in ms. */
const [attackMs, atOnce, maxSignInMs] = [3_000, 64, 10_000];

let stack: AppStack;
let owner: pg.Client;
let origin: string;
/** A person with a trusted browser, at {@link herNetwork}. */
let ann: Person;

beforeAll(async () => {
  stack = await AppStack.open();
  const [account] = await stack.start(['account'], {
    TRUSTED_PROXIES: '127.0.0.1',
    REGISTRATION: 'open',
  });
  origin = `http://127.0.0.1:${String(account?.facts['port'])}`;
  owner = new pg.Client({ connectionString: stack.postgres.url });
  await owner.connect();
  const environment = {
    DATABASE_URL: stack.postgres.urls.account,
    REDIS_URL: stack.redis.url,
    PUBLIC_URL: origin,
  };
  const { stdout } = await callProgram(podcastSync, ['accounts', 'create', name], environment);
  ann = new Person(origin);
  await ann.submit(new URL(stdout.trim()).pathname, { password });
  await ann.submit('/sign-in', { name, password });
});
afterAll(async () => {
  await owner.end();
  await stack.close();
});

const network = (n: number) => `10.${(n >> 8) & 255}.${n & 255}.1`;
/** The person's network, which attackers can share. */
const herNetwork = '127.0.0.1';

interface Try {
  readonly path: string;
  readonly form: object;
  readonly from: string;
  /** Sends the form as JSON. */
  readonly json?: boolean;
}
const guess = (of: string, n: number, from: string): Try => ({
  path: '/sign-in',
  form: { name: of, password: `a guess that is wrong ${n}` },
  from,
});

const attacks: [string, (n: number) => Try][] = [
  ['her password is guessed from everywhere', (n) => guess(name, n, network(n))],
  ['her password is guessed from her own network', (n) => guess(name, n, herNetwork)],
  [
    'names that there are not are tried from everywhere',
    (n) => guess(`nobody-${n}`, n, network(n)),
  ],
  [
    'names that there are not are tried from her own network',
    (n) => guess(`nobody-${n}`, n, herNetwork),
  ],
  [
    'links are tried from everywhere',
    (n) => ({
      path: `/links/${'x'.repeat(39)}${1_000 + (n % 9_000)}`,
      form: { password },
      from: network(n),
    }),
  ],
  [
    'accounts are made from everywhere',
    (n) => ({
      path: '/register',
      form: { name: `flood-${n}`, password: `${password} ${n}` },
      from: network(n),
    }),
  ],
  [
    'new passwords are asked for, of her',
    (n) => ({ path: '/forgot', form: { name }, from: network(n) }),
  ],
  [
    'devices ask to be let in, from everywhere',
    (n) => ({ path: '/device/auth', form: { client_id: 'podcast-sync-cli' }, from: network(n) }),
  ],
  [
    'apps register from each /64 of a /48',
    (n) => ({
      path: '/reg',
      form: { redirect_uris: ['https://phish.example/'] },
      from: `2001:db8:1:${n.toString(16)}::1`,
      json: true,
    }),
  ],
  [
    'tokens are guessed from everywhere',
    (n) => ({
      path: '/token',
      form: {
        grant_type: 'refresh_token',
        client_id: 'podcast-sync-cli',
        refresh_token: `guess-${n}`,
      },
      from: network(n),
    }),
  ],
];

describe('a person signs in with a trusted browser, while', () => {
  it.each(attacks)('%s', { timeout: 60_000 }, async (_name, attempt) => {
    const statuses: Record<number, number> = {};
    const took: number[] = [];
    const until = performance.now() + attackMs;
    let sent = 0;
    const attacking = async (): Promise<void> => {
      while (performance.now() < until) {
        const { path, form, from, json } = attempt(sent++);
        const headers = {
          'sec-fetch-site': 'same-origin',
          'x-forwarded-for': from,
          ...(json && { 'content-type': 'application/json' }),
        };
        const body = json
          ? JSON.stringify(form)
          : new URLSearchParams(form as Record<string, string>);
        const answer = await fetch(origin + path, {
          method: 'POST',
          headers,
          body,
          redirect: 'manual',
        });
        await answer.body?.cancel();
        statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      }
    };
    const signingIn = async (): Promise<void> => {
      while (performance.now() < until) {
        const started = performance.now();
        await ann.submit('/sign-in', { name, password }, [303]);
        took.push(Math.round(performance.now() - started));
      }
    };
    await Promise.all([...Array.from({ length: atOnce }, attacking), signingIn()]);
    console.log(
      `${sent} tries: ${JSON.stringify(statuses)}; ` +
        `she signed in ${took.length} times in ${took.join(', ')} ms`,
    );
    expect(statuses).not.toHaveProperty('500');
    expect(took.length).toBeGreaterThan(0);
    expect(Math.max(...took)).toBeLessThan(maxSignInMs);
  });
});

it('a newcomer registers an app while the limit is full of those of one /48', async () => {
  await owner.query(
    `INSERT INTO account.clients (id, payload, network)
     SELECT gen_random_uuid(), '{}', '2001:db8:1:' || to_hex(n) || '::/64'
     FROM generate_series(1, 10000) n`,
  );
  const start = performance.now();
  const answer = await fetch(`${origin}/reg`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': network(1) },
    body: JSON.stringify({ redirect_uris: ['https://app.example/'] }),
  });
  console.log(`a newcomer registered in ${Math.round(performance.now() - start)} ms`);
  expect(answer.status).toBe(201);
  const { client_id: id } = (await answer.json()) as { client_id: string };
  const { rowCount } = await owner.query('SELECT FROM account.clients WHERE id = $1', [id]);
  expect(rowCount).toBe(1);
});

it('a person signs in while 300 clients of her network send one byte of a form', async () => {
  const head =
    `POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: ${herNetwork}\r\n` +
    'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 99\r\n\r\nn';
  const sockets = await Promise.all(
    Array.from({ length: 300 }, async () => {
      const socket = connect(Number(new URL(origin).port), '127.0.0.1');
      socket.on('error', () => {}).resume();
      await once(socket, 'connect');
      socket.write(head);
      return socket;
    }),
  );
  const took: number[] = [];
  for (let n = 0; n < 10; n += 1) {
    const start = performance.now();
    expect((await fetch(`${origin}/sign-in`)).status).toBe(200);
    await ann.submit('/sign-in', { name, password }, [303]);
    took.push(Math.round(performance.now() - start));
  }
  for (const socket of sockets) socket.destroy();
  console.log(`she signed in ${took.length} times in ${took.join(', ')} ms`);
  expect(Math.max(...took)).toBeLessThan(maxSignInMs);
});

it('the attackers were rate-limited and never signed in', async () => {
  const headers = { 'sec-fetch-site': 'same-origin', 'x-forwarded-for': network(1) };
  const body = new URLSearchParams({ name, password: 'a guess that is wrong' });
  const answers = [];
  for (let n = 0; n < 12; n += 1)
    answers.push(
      await fetch(`${origin}/sign-in`, { method: 'POST', headers, body, redirect: 'manual' }),
    );
  expect(answers.at(-1)?.status).toBe(429);
  expect(
    answers
      .flatMap((answer) => answer.headers.getSetCookie())
      .filter((cookie) => /session=[^;]/.test(cookie)),
  ).toEqual([]);
});
