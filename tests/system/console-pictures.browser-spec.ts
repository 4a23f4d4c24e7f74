import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '#testing';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleFixture } from './testing/console.fixture.js';
import { opmlOf } from './testing/opml.js';

/** PICTURES=1 updates the pictures of the README (docs/guide/console.md). Each run takes them. */
const folder = join(repository, process.env['PICTURES'] ? 'docs/pictures' : '.data/pictures');
/** Size limit of a picture in bytes, for readers with a slow network. */
const maxBytes = 100_000;
/** Returns the timestamp of a number of days ago. */
const daysAgo = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString();

const names = [
  'science-daily',
  'kitchen-stories',
  'the-long-way-home',
  'radio-atlas',
  'two-historians',
  'night-sky',
  'codebase',
  'small-places',
];
const feeds = names.map((name) => `https://${name}.example/feed.xml`);
const titles = names.map((name) =>
  name.replace(
    /(^|-)(.)/g,
    (_, dash: string, first: string) => (dash && ' ') + first.toUpperCase(),
  ),
);
const episodes = [
  ['How tides made us', 0.72, 'playing'],
  ['Bread, slowly', 1, 'played'],
  ['The last lighthouse keeper', 0.31, 'liked'],
  ['A map of silence', 0.08, 'playing'],
  ['What the census forgot', 1, 'played'],
  ['Why the moon drifts away', 0.55, 'liked'],
  ['Nobody reads the manual', 0.9, 'playing'],
  ['An island of seventeen', 0.2, 'playing'],
] as const;

let fixture: ConsoleFixture;
beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  fixture = await ConsoleFixture.open();
});
afterAll(() => fixture?.close());

/** Returns the console page of a user with podcasts and episodes. */
async function pageWithData(): Promise<Page> {
  const visit = await fixture.visit({ viewport: { width: 820, height: 640 } }, '/account');
  const subscriptions = feeds.map((feed_url, at) => ({ feed_url, title: titles[at] }));
  await visit.request('POST', '/subscriptions', { subscriptions });
  for (const [at, [title, part, state]] of [...episodes.entries()].reverse()) {
    const stamp = daysAgo(at);
    await visit.upload(feeds[at % feeds.length] ?? '', [
      {
        title,
        episode_guid: title,
        enclosure_url: `https://cdn.example/${at}.mp3`,
        duration: 2_700,
        playback_position: { value: Math.round(part * 2_700), timestamp: stamp },
        played_status: { value: state === 'played', timestamp: stamp },
        favorite_status: { value: state === 'liked', timestamp: stamp },
      },
    ]);
  }
  return visit.page;
}

async function takePicture(page: Page, name: string): Promise<number> {
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path, animations: 'disabled', caret: 'hide' });
  return statSync(path).size;
}

describe('the pictures of the README', () => {
  it('show podcasts, the history and an import, and are small', async () => {
    const page = await pageWithData();
    await page.goto('/console/');
    await page.getByText('8 podcasts', { exact: true }).waitFor();
    expect(await takePicture(page, 'podcasts')).toBeLessThan(maxBytes);

    await page.emulateMedia({ colorScheme: 'dark' });
    await page.goto('/console/history');
    await page.getByText('How tides made us').waitFor();
    // The filter has the name, too.
    await page.getByRole('listitem').getByText('Science Daily').waitFor();
    expect(await takePicture(page, 'history')).toBeLessThan(maxBytes);

    await page.emulateMedia({ colorScheme: 'light' });
    await page.goto('/console/data');
    const buffer = Buffer.from(opmlOf([...feeds, 'feed.example/without-a-scheme']));
    await page
      .getByLabel('OPML file')
      .setInputFiles({ name: 'a.opml', mimeType: 'text/xml', buffer });
    await page.getByRole('button', { name: 'Import 9 podcasts' }).click();
    await page.getByText('8 podcasts imported, 1 failed.').waitFor();
    expect(await takePicture(page, 'import')).toBeLessThan(maxBytes);
  });
});
