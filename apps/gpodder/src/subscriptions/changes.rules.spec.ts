import { describe, expect, it } from 'vitest';
import { splitIntoMessages, parseChanges, parseWholeList, toUrlUpdates } from './changes.rules.js';

const many = (count: number) => Array.from({ length: count }, (_, at) => `https://a.example/${at}`);
const feed = (feedUrl: string) => ({ feedUrl, guid: '9b024349-ccf0-5f69-a609-6b82873eab3c' });

describe('the changes of an upload', () => {
  it('contain each feed once, with its sent URLs', async () => {
    const { add, remove, unusable } = await parseChanges(
      {
        add: ['https://a.example/x', ' https://a.example/x', 'content:7'],
        remove: ['pcast://b.example'],
      },
      10,
    );
    expect([...add]).toEqual([
      ['https://a.example/x', ['https://a.example/x', ' https://a.example/x']],
    ]);
    expect([...remove.keys()]).toEqual(['http://b.example']);
    expect(unusable).toEqual(['content:7']);
  });

  it.each([
    [{ add: 'x' }],
    [{ remove: {} }],
    [{ add: null }],
    [{ add: ['https://a.example/x', { url: 'https://a.example/y' }] }],
    [{ remove: [['https://a.example/x']] }],
    [{ add: ['https://a.example/x'], remove: ['https://a.example/x'] }],
  ])('are rejected: %j', async (body) => expect(parseChanges(body, 10)).rejects.toThrow('invalid'));

  it('are rejected above a limit, also with invalid entries', async () => {
    await expect(parseChanges({ add: ['x', 'y'], remove: ['z'] }, 2)).rejects.toThrow('too large');
    await expect(parseChanges({ add: many(10_001) }, 30_000)).rejects.toThrow('too large');
    await expect(parseWholeList(many(5_001), 30_000)).rejects.toThrow('too large');
    await expect(parseChanges({ add: [null, 1], remove: [{}] }, 2)).rejects.toThrow('too large');
    await expect(parseWholeList([null, 1, {}], 2)).rejects.toThrow('too large');
  });

  it('are one message up to 250 each, else several with removals first', async () => {
    const sizesFor = async (added: number, removed: number) => {
      const remove = many(removed).map((url) => `${url}/removed`);
      const changes = await parseChanges({ add: many(added), remove }, 30_000);
      const messages = splitIntoMessages(changes, false);
      expect(messages.flatMap(({ add }) => add)).toEqual(many(added));
      expect(messages.flatMap((message) => message.remove)).toEqual(remove);
      return messages.map((message) => [message.add.length, message.remove.length]);
    };
    expect(await sizesFor(0, 0)).toEqual([[0, 0]]);
    expect(await sizesFor(250, 250)).toEqual([[250, 250]]);
    expect(await sizesFor(500, 1)).toEqual([
      [0, 1],
      [250, 0],
      [250, 0],
    ]);
    expect(await sizesFor(1, 251)).toEqual([
      [0, 250],
      [0, 1],
      [1, 0],
    ]);
  });

  it('are read in linear time, also with one feed in many forms', async () => {
    const timeOf = async (count: number) => {
      const spaces = (at: number) => at.toString(2).replaceAll('0', ' ').replaceAll('1', '\t');
      const urls = Array.from({ length: count }, (_, at) => `${spaces(at)}https://a.example/x`);
      let ticks = 0;
      const ticking = setInterval(() => (ticks += 1), 0);
      const started = performance.now();
      const { add } = await parseChanges({ add: urls }, count);
      clearInterval(ticking);
      expect(add.get('https://a.example/x')).toHaveLength(count);
      expect(ticks).toBeGreaterThan(2);
      return performance.now() - started;
    };
    // The fastest of three, because other processes can interrupt one.
    const fastestOf = async (count: number) =>
      Math.min(await timeOf(count), await timeOf(count), await timeOf(count));
    const short = await fastestOf(10_000);
    // Ten times the entries would take a hundred times as long with quadratic complexity.
    expect(await fastestOf(100_000)).toBeLessThan(40 * Math.max(short, 5));
  });

  it('of a whole list are rejected without a usable entry, but not if it is empty', async () => {
    for (const entries of [['nothing'], [null], [1, {}], ['nothing', null]])
      await expect(parseWholeList(entries, 10)).rejects.toThrow('invalid');
    expect((await parseWholeList([], 10)).add.size).toBe(0);
    expect((await parseWholeList(['nothing', 'https://a.example/x'], 10)).add.size).toBe(1);
  });

  it.each([[{ feed: 'https://a.example/y' }], [{ url: ['https://a.example/y'] }], [[]]])(
    'of a whole list are rejected with %j, as its feed would be removed',
    async (entry) => {
      const entries = ['https://a.example/x', entry];
      await expect(parseWholeList(entries, 10)).rejects.toThrow('invalid');
    },
  );

  it('of a whole list can have titles, except the URL itself', async () => {
    const [x, y, z] = ['x', 'y', 'z'].map((name) => `https://a.example/${name}`);
    const entries = [
      { url: ` ${x}`, title: 'X' },
      { url: y, title: y },
      { url: z, title: 5 },
    ];
    expect(splitIntoMessages(await parseWholeList(entries, 10), true)).toEqual([
      { add: [x, y, z], titles: ['X', null, null], remove: [] },
    ]);
    expect(splitIntoMessages(await parseWholeList(entries.slice(1), 10), true)).toEqual([
      { add: [y, z], remove: [] },
    ]);
  });
});

describe('update_urls', () => {
  it('has repaired, moved and unusable URLs, but no mere change of scheme or slashes', async () => {
    const changes = await parseChanges(
      {
        add: [
          'https://a.example/old',
          'http://a.example/same',
          ' https://a.example/moved too',
          'antennapod_local:x',
        ],
        remove: ['itpc://a.example/gone', 'https://a.example/unknown'],
      },
      10,
    );
    const add = [
      feed('https://a.example/new'),
      feed('https://a.example/same/'),
      feed('https://b.example/'),
    ];
    expect(toUrlUpdates(changes, { add, remove: [feed('http://a.example/gone'), null] })).toEqual([
      ['antennapod_local:x', ''],
      ['https://a.example/old', 'https://a.example/new'],
      [' https://a.example/moved too', 'https://b.example/'],
      ['itpc://a.example/gone', 'http://a.example/gone'],
    ]);
  });
});
