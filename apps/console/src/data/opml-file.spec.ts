import { describe, expect, it } from 'vitest';
import { readOpmlFile } from './opml-file.js';

const read = (text: string) => readOpmlFile(new File([text], 'a.opml'));
const body = (outlines: string) => `<opml><body>${outlines}</body></opml>`;

describe('readOpmlFile', () => {
  it('returns each feed once, with its title', async () =>
    expect(
      await read(
        body('<outline text="A" xmlUrl="a"/><outline xmlurl="b"/><outline text="A" xmlUrl="a"/>'),
      ),
    ).toEqual({
      feeds: [
        { feedUrl: 'a', title: 'A' },
        { feedUrl: 'b', title: '' },
      ],
      skipped: 1,
    }));

  it('counts entries without a feed', async () =>
    expect(await read(body('<outline text="g"/><outline xmlUrl="a"/>'))).toMatchObject({
      skipped: 1,
    }));

  it('reads a large file in slices', async () => {
    const outlines = Array.from(
      { length: 20_000 },
      (_, n) => `<outline xmlUrl="https://a.example/${n}"/>`,
    );
    expect(await read(body(outlines.join('')))).toMatchObject({
      feeds: { length: 20_000 },
      skipped: 0,
    });
  });

  it.each([
    ['a file that is not OPML', '<rss/>', 'invalidFile'],
    ['a list without podcasts', body('<outline text="g"/>'), 'noFeeds'],
    ['more than 10 MB', ' '.repeat(10_000_001), 'tooLarge'],
    [
      'folders that are nested too deep',
      body(`${'<outline>'.repeat(100)}${'</outline>'.repeat(100)}`),
      'tooLarge',
    ],
  ])('returns the problem of %s', async (_, text, problem) =>
    expect(await read(text)).toBe(problem),
  );
});
