import { randomUUID } from 'node:crypto';
import {
  type Attack,
  bodyBytes,
  day,
  episode,
  filled,
  same,
  subscribed,
  uploaded,
} from './attack.js';

const control = '\u0001';

const numbers = filled('{"subscriptions":[', '0', ']}');
const slashes = filled(
  '{"subscriptions":[',
  `{"feed_url":"http://a.example${'/'.repeat(4_000)}x"}`,
  ']}',
);
const nested = filled('{"episodes":[{"title":[', '[]', ']}]}');

/** Bodies of the largest accepted size. Each stresses another part of the processing. */
const bodies: readonly (readonly [name: string, target: string, body: string])[] = [
  ['elements that are numbers', '/subscriptions', numbers],
  ['entries that are numbers', '/episodes', filled('{"episodes":[', '0', ']}')],
  ['entries that are empty', '/episodes', filled('{"episodes":[', '{}', ']}')],
  ['empty objects', '/subscriptions', filled('{"subscriptions":[', '{}', ']}')],
  [
    'arrays 31 levels deep',
    '/episodes',
    filled('{"episodes":[', '['.repeat(29) + ']'.repeat(29), ']}'),
  ],
  ['unclosed arrays', '/episodes', '['.repeat(bodyBytes)],
  ['numbers out of range', '/episodes', filled('{"episodes":[{"duration":[', '1e308', ']}]}')],
  ['a number of 2 MB', '/episodes', `{"episodes":[{"duration":${'9'.repeat(bodyBytes - 40)}}]}`],
  [
    'escaped NULs',
    '/episodes',
    `{"episodes":[{"title":"${'\\u0000'.repeat(bodyBytes / 6 - 20)}"}]}`,
  ],
  [
    'lone surrogates',
    '/episodes',
    `{"episodes":[{"title":"${'\\ud800'.repeat(bodyBytes / 6 - 20)}"}]}`,
  ],
  ['a key many times', '/episodes', filled('{"episodes":[{', '"title":1', '}]}')],
  ['many keys', '/episodes', `{"episodes":[{${unlike(130_000, (n) => `"k${n}":0`)}}]}`],
  ['keys __proto__', '/episodes', filled('{"episodes":[{', '"__proto__":{}', '}]}')],
  [
    'keys at the top',
    '/subscriptions',
    `{${unlike(130_000, (n) => `"k${n}":0`)},"subscriptions":[]}`,
  ],
  ['a feed URL of 2 MB', '/subscriptions', one('http://a.example/')],
  ['a feed URL of slashes', '/subscriptions', one('http://a.example', '/')],
  ['a feed URL of white space', '/subscriptions', one('http://a.example', ' ')],
  ['a feed URL of dots', '/subscriptions', one('', 'a.')],
  [
    'a title of white space',
    '/episodes',
    `{"episodes":[{"title":"x${' '.repeat(bodyBytes - 40)}x"}]}`,
  ],
  ['a time of digits', '/episodes', time('publish_date', '2025-01-01T00:00:00.', '1')],
  ['a guid of dashes', '/episodes', time('podcast_guid', '', '-')],
  [
    'links to nothing',
    '/episodes',
    filled('{"episodes":[', `{"enclosure_url":"${'h'.repeat(8_000)}"}`, ']}'),
  ],
];

/** Attacks by request bodies. */
export const bodyAttacks: readonly Attack[] = [
  ...bodies.map(([name, target, body]) =>
    same(`2 MB of ${name}`, 8, { method: 'POST', target, body }),
  ),
  same('500 feed URLs of 4,000 slashes and an x', 4, {
    method: 'POST',
    target: '/subscriptions',
    body: slashes,
  }),
  same('2 MB of a title of arrays', 30, { method: 'POST', target: '/episodes', body: nested }),
  same('a PATCH of 2 MB', 8, {
    method: 'PATCH',
    target: `/subscriptions/${randomUUID()}`,
    body: patch(),
  }),
  same('a DELETE with 2 MB', 8, {
    method: 'DELETE',
    target: `/subscriptions/${randomUUID()}`,
    body: numbers,
  }),
  same('2 MB of another type', 30, {
    method: 'POST',
    target: '/episodes',
    headers: ['Content-Type: text/plain'],
    body: nested,
  }),
  same('a compressed body', 30, {
    method: 'POST',
    target: '/episodes',
    headers: ['Content-Type: application/json', 'Content-Encoding: gzip'],
    body: Buffer.alloc(bodyBytes, 0x1f),
  }),
  echo(1_000),
  echo(250),
  degenerate('of one date, title and link', {
    publish_date: day(0),
    title: 't',
    episode_url: 'https://a.example/1',
  }),
  degenerate('with one enclosure', { enclosure_url: 'https://a.example/1' }),
];

/** Requests one row of control characters many times in one upload: six bytes each in JSON. */
function echo(times: number): Attack {
  return {
    name: `${times} x one stored row of control characters, in each of 4 uploads`,
    prepare: async (attacker) => {
      const [guid = ''] = await subscribed(attacker, 1);
      const sync_id = randomUUID();
      const url = `http://a.example/${control.repeat(4_000)}`;
      const texts = { sync_id, episode_guid: control.repeat(2_000), title: control.repeat(2_000) };
      const row = { ...episode(guid, 1), ...texts };
      // The fallback if the service rejects URLs with control characters.
      await uploaded(attacker, [{ ...row, enclosure_url: url, episode_url: url }]).catch(() =>
        uploaded(attacker, [row]),
      );
      const entry = { podcast_guid: guid, sync_id };
      const body = JSON.stringify({ episodes: Array.from({ length: times }, () => entry) });
      const bytes = attacker.bytes({ method: 'POST', target: '/episodes', body });
      return () => attacker.flood(4, 4, () => bytes);
    },
  };
}

/** Uploads to a feed of very similar episodes: each entry has many candidates and matches none. */
function degenerate(name: string, alike: object): Attack {
  const [stored, entries] = [2_000, 250];
  return {
    name: `4 x ${entries} episodes ${name}, among ${stored}`,
    prepare: async (attacker) => {
      const [guid = ''] = await subscribed(attacker, 1);
      const episodes = (count: number, from: number) =>
        Array.from({ length: count }, (_, n) => ({ ...episode(guid, from + n), ...alike }));
      await uploaded(attacker, episodes(stored, 0));
      return () =>
        attacker.flood(4, 4, (n) => {
          const body = JSON.stringify({ episodes: episodes(entries, stored + n * entries) });
          return attacker.bytes({ method: 'POST', target: '/episodes', body });
        });
    },
  };
}

function one(start: string, unit = 'a'): string {
  const text = unit.repeat((bodyBytes - 60 - start.length) / unit.length);
  return JSON.stringify({ subscriptions: [{ feed_url: `${start}${text}x` }] });
}

function time(field: string, start: string, unit: string): string {
  return JSON.stringify({ episodes: [{ [field]: start + unit.repeat(bodyBytes - 80) }] });
}

function patch(): string {
  return JSON.stringify({ new_feed_url: `http://a.example${'/'.repeat(bodyBytes - 60)}x` });
}

function unlike(count: number, member: (n: number) => string): string {
  return Array.from({ length: count }, (_, n) => member(n)).join(',');
}
