import { type Attack, bodyBytes, same, subscribed } from './attack.js';

const space = bodyBytes - 200;
const documentOf = (outlines: string) => `<opml version="2.0"><body>${outlines}</body></opml>`;
const many = (unit: (n: number) => string, most: number) => {
  const units: string[] = [];
  for (let [n, bytes] = [0, 0]; n < most; n++) {
    const next = unit(n);
    if ((bytes += next.length) > space) break;
    units.push(next);
  }
  return documentOf(`${units.join('')}<outline xmlUrl="a"/>`);
};
const attributes = (first: number, count: number) =>
  Array.from({ length: count }, (_, n) => ` a${(first + n).toString(36)}=""`).join('');

const entities = Array.from(
  { length: 20 },
  (_, n) => `<!ENTITY e${n + 1} "&e${n};&e${n};&e${n};">`,
).join('');
const bomb =
  `<!DOCTYPE opml [<!ENTITY e0 "lol">${entities}]>` +
  documentOf('<outline text="&e20;" xmlUrl="&e20;"/>');

/** Documents that each stress another part of the reader. */
const documents: readonly (readonly [name: string, document: string])[] = [
  [
    '5,000 feeds',
    many((n) => `<outline xmlUrl="https://f.example/${n}/${'x'.repeat(340)}"/>`, 4_999),
  ],
  ['outlines in each other', documentOf('<outline>'.repeat(space / 9))],
  ['outlines that are empty', documentOf('<outline/>'.repeat(space / 10))],
  ['short feeds', documentOf('<outline xmlUrl="a"/>'.repeat(space / 21))],
  [
    'attributes with names of their own',
    many((n) => `<outline xmlUrl="a"${attributes(n * 20, 18)}/>`, 4_999),
  ],
  [
    'elements with names of their own',
    many((n) => `<a${n.toString(36)}${attributes(n * 6, 6)}/>`, 14_900),
  ],
  ['end tags', `<opml>${'</a>'.repeat(space / 4)}`],
  ['ampersands', many(() => `<outline xmlUrl="${'&'.repeat(65_000)};"/>`, 100)],
  ['entities', many(() => `<outline xmlUrl="${'&amp;'.repeat(13_000)}"/>`, 100)],
  ['comments', documentOf('<!---->'.repeat(space / 7))],
  ['CDATA', documentOf('<![CDATA[]]>'.repeat(space / 12))],
  ['tags that never end', '<'.repeat(bodyBytes)],
  ['white space in a tag', documentOf(`<outline${' '.repeat(space)}xmlUrl="a"/>`)],
];

const send = (body: string) => ({
  method: 'POST',
  target: '/subscriptions/opml',
  headers: ['Content-Type: text/x-opml'],
  body,
});

/** Attacks by OPML documents. */
export const opmlAttacks: readonly Attack[] = [
  ...documents.map(([name, document]) => same(`OPML of 2 MB of ${name}`, 8, send(document))),
  same('OPML with entities of entities', 30, send(bomb)),
  {
    name: '30 x an export of 10,000 feeds, unread',
    prepare: async (attacker) => {
      await subscribed(attacker, 10_000);
      const bytes = attacker.bytes({ target: '/subscriptions.opml' });
      return () => attacker.hold(30, () => bytes, 3_000);
    },
  },
];
