import { AppStack, callProgram } from '#testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { podcastSync } from '../../apps/cli/src/podcast-sync.js';
import { Person } from '../../tests/system/testing/person.js';

const [name, password] = ['ann', 'a sentence that nobody guesses'];

/** Duration of an attack in ms, its concurrency, and the longest sign-in of a person in ms. */
const [attackMs, atOnce, maxSignInMs] = [3_000, 64, 10_000];

let stack: AppStack;
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
afterAll(() => stack.close());

const network = (n: number) => `10.${(n >> 8) & 255}.${n & 255}.1`;
/** The person's network, which attackers can share. */
const herNetwork = '127.0.0.1';

interface Try {
  readonly path: string;
  readonly form: Record<string, string>;
  readonly from: string;
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
        const { path, form, from } = attempt(sent++);
        const headers = { 'sec-fetch-site': 'same-origin', 'x-forwarded-for': from };
        const body = new URLSearchParams(form);
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
