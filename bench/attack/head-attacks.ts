import { createHash } from 'node:crypto';
import { makeAppPassword } from '#identity';
import { type Attack, same } from './attack.js';

/** Slightly below the limit of a head, in bytes. */
const headBytes = 15_500;

const repeated = (unit: string, bytes = headBytes) => unit.repeat(Math.floor(bytes / unit.length));

/** Unauthenticated requests. Each costs the work before the check of its credential. */
const strangers: readonly Attack[] = [
  same('a path of 16 kB of dots, no token', 60, { target: `/${repeated('a.')}`, token: null }),
  same('a path of user:password@, no token', 60, { target: `/${repeated('a://a')}`, token: null }),
  same('a path of percent signs, no token', 200, { target: `/${repeated('%41')}`, token: null }),
  same('a path of slashes, no token', 200, { target: repeated('/'), token: null }),
  same('many headers, no token', 300, {
    target: '/subscriptions',
    headers: lines(1_900),
    token: null,
  }),
  same('the words Bearer, no token', 200, { target: `/${repeated('Bearer%20')}`, token: null }),
  same('Bearer and 15 kB of letters', 300, { target: '/subscriptions', token: repeated('a') }),
  same('Bearer and 15 kB of dots', 300, { target: '/subscriptions', token: repeated('a.') }),
  same('Bearer and 15 kB of spaces', 300, { target: '/subscriptions', token: `${repeated(' ')}a` }),
  same('a token of 15 kB', 300, { target: '/subscriptions', token: token(repeated('a', 11_000)) }),
  same('forwarded addresses, no token', 300, {
    target: '/subscriptions',
    headers: [`X-Forwarded-For: ${repeated('1.2.3.4,')}1`],
    token: null,
  }),
  same('a traceparent of 15 kB, no token', 300, {
    target: '/subscriptions',
    headers: [`traceparent: 00-${repeated('0')}`, 'tracestate: a=b'],
    token: null,
  }),
  {
    name: '5,000 different tokens with signatures to check',
    prepare: (attacker) => () =>
      attacker.flood(5_000, 64, (n) =>
        attacker.bytes({ target: '/episodes', token: resigned(attacker.device.token, n) }),
      ),
  },
  same(
    'an app password with a wrong letter',
    5_000,
    { target: '/episodes', token: `pst_${repeated('A', 28)}` },
    64,
  ),
  {
    name: '5,000 x an app password that there is not',
    prepare: (attacker) => () =>
      attacker.flood(5_000, 64, () =>
        attacker.bytes({ target: '/episodes', token: makeAppPassword().secret }),
      ),
  },
  same(
    'the description of the API, compressed, no token',
    1_000,
    {
      target: '/openapi.json',
      headers: ['Accept-Encoding: br'],
      token: null,
    },
    64,
  ),
  same(
    'the page about the API, no token',
    1_000,
    { target: '/docs', headers: ['Accept-Encoding: br'], token: null },
    64,
  ),
];

/** Authenticated requests that stress the parsing of a list's head. */
const users: readonly Attack[] = [
  same('5,000 parameters', 300, { target: `/episodes?${repeated('a&')}` }),
  same('since 1,000 times', 300, { target: `/episodes?${repeated('since=2020&')}` }),
  same('a since of 15 kB of digits', 300, {
    target: `/episodes?since=2020-01-01T00:00:00.${repeated('1')}`,
  }),
  same('parameters in percent-encoding', 300, {
    target: `/episodes?${repeated('%25%32%35=%00&')}`,
  }),
  same('plus signs', 300, { target: `/episodes?${repeated('+')}` }),
  same('a cursor of 15 kB', 300, { target: `/episodes?cursor=${repeated('A')}` }),
  same('a cursor of dots', 300, { target: `/episodes?cursor=${repeated('.')}` }),
  same('a forged cursor', 300, { target: `/episodes?cursor=${'A'.repeat(86)}` }),
  same('page 9,007,199,254,740,991', 300, {
    target: '/episodes?page=9007199254740991&per_page=1000',
  }),
  same('an If-None-Match of 15 kB', 300, {
    target: '/episodes',
    headers: [`If-None-Match: ${repeated('W/"a-a",')}`],
  }),
  same('an If-None-Match of quotes', 300, {
    target: '/episodes',
    headers: [`If-None-Match: ${repeated('"0')}`],
  }),
  same('an Accept-Encoding of 15 kB', 300, {
    target: '/episodes',
    headers: [`Accept-Encoding: ${repeated('br;q=0.001,')}`],
  }),
  same('an Accept-Encoding of semicolons', 300, {
    target: '/episodes',
    headers: [`Accept-Encoding: ${repeated(';')}`],
  }),
  same('an Accept-Encoding of spaces', 300, {
    target: '/episodes',
    headers: [`Accept-Encoding: a${repeated(' ')}b`],
  }),
  same('a Content-Type of 15 kB', 300, {
    method: 'POST',
    target: '/episodes',
    headers: [`Content-Type: application/json;${repeated(' ')}a`],
    body: '{}',
  }),
  same('a Content-Type of parameters', 300, {
    method: 'POST',
    target: '/episodes',
    headers: [`Content-Type: application/json${repeated(';a="b"')}`],
    body: '{}',
  }),
  same('an id of 15 kB of digits', 300, { target: `/deletions/${repeated('9')}` }),
  same('a guid of 15 kB', 300, { target: `/subscriptions/${repeated('0-')}` }),
];

/** Attacks by request heads. */
export const headAttacks: readonly Attack[] = [...strangers, ...users];

function lines(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${n.toString(36)}: `);
}

function token(payload: string): string {
  const head = Buffer.from(JSON.stringify({ alg: 'EdDSA', kid: 'x' })).toString('base64url');
  return `${head}.${payload}.${'A'.repeat(86)}`;
}

/** Returns a token with a different signature for each number. */
function resigned(good: string, n: number): string {
  const signature = createHash('sha512').update(String(n)).digest('base64url');
  return `${good.slice(0, good.lastIndexOf('.'))}.${signature}`;
}
