import { randomUUID } from 'node:crypto';
import { eventually } from '#testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FeedServer } from '../../libs/fetch/testing/feed-server.js';
import { jpeg } from '../../libs/fetch/testing/pictures.js';
import { findings, fits } from '../../apps/account/testing/account-browser.js';
import { ConsoleFixture, type Visit } from './testing/console.fixture.js';

const now = new Date().toISOString();
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);

/** An episode of a feed: its title, and its age in days. */
type Item = readonly [title: string, days: number];

let server: FeedServer;
let fixture: ConsoleFixture;
beforeAll(async () => {
  server = await FeedServer.open();
  fixture = await ConsoleFixture.open({ FEEDS_ALLOW: `127.0.0.1:${server.port}` });
});
afterAll(async () => {
  await fixture?.close();
  await server?.close();
});

/** Serves a feed. Returns its URL. */
function serve(path: string, title: string, ...items: readonly Item[]): string {
  const elements = items.map(
    ([name, days]) => `<item><guid>${name}</guid><title>${name}</title>
      <pubDate>${daysAgo(days).toUTCString()}</pubDate>
      <enclosure url="https://cdn.example/${encodeURIComponent(name)}.mp3"/></item>`,
  );
  const image = server.on('/image', (_, response) => response.end(jpeg));
  return server.on(path, (_, response) => {
    response.end(`<rss xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel>
      <title>${title}</title><itunes:author>Ann of ${title}</itunes:author>
      <description>All about ${title}.</description><link>https://podcast.example/</link>
      <image><url>${image}</url></image>
      ${elements.join('')}</channel></rss>`);
  });
}

describe('podcasts with feeds', () => {
  it('show titles and authors without a reload, and are found and sorted by them', async () => {
    const visit = await fixture.visit();
    const { page } = visit;
    const [old, fresh] = [
      serve('/old', 'Ancient History', ['Rome', 300]),
      serve('/fresh', 'Morning News', ['Today', 0]),
    ];
    await page.getByText('No podcasts yet.').waitFor();
    await visit.subscribe(fresh, old);
    for (const title of ['Ancient History', 'Morning News']) {
      await page.getByRole('link', { name: title }).waitFor();
      await page.getByText(`Ann of ${title}`).waitFor();
    }
    // An image of this server, which the policy of the page allows.
    const picture = `document.querySelector('.picture img')?.naturalWidth`;
    await eventually(async () => expect(await page.evaluate(picture)).toBe(256));
    await visit.upload(old, [
      { episode_guid: 'Rome', title: 'Rome', playback_position: { value: 9, timestamp: now } },
    ]);
    const names = () => page.getByRole('listitem').locator('bdi:first-child').allTextContents();
    const orders = { Title: old, 'Newest episode': fresh, 'Last listened': old };
    for (const [order, first] of Object.entries(orders)) {
      await page.getByLabel('Sort by').selectOption(order);
      await page.getByText('2 podcasts', { exact: true }).waitFor();
      const title = first === old ? 'Ancient History' : 'Morning News';
      await expect.poll(async () => (await names())[0]).toBe(title);
    }
    await page.getByLabel('Search').fill('morning');
    await page.getByText('1 podcast', { exact: true }).waitFor();
  });

  it('have a page with description, episodes and history', async () => {
    const visit = await fixture.visit();
    const { page } = visit;
    const url = serve('/show', 'Show', ['One', 9], ['Two', 5], ['Three', 1]);
    const states = (name: string, position: number, isPlayed: boolean) => ({
      episode_guid: name,
      title: name,
      duration: 600,
      playback_position: { value: position, timestamp: now },
      played_status: { value: isPlayed, timestamp: now },
    });
    await visit.upload(url, [states('One', 600, true), states('Two', 90, false)]);
    await visit.upload(url, [states('Gone from the feed', 0, true)]);
    await page.getByRole('link', { name: 'Show', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Show' }).waitFor();
    await page.getByText('All about Show.').waitFor();
    await page.getByText('4 episodes').waitFor();
    const names = () => page.getByRole('listitem').locator('bdi').allTextContents();
    const titles = async () => (await names()).filter((text) => /^[A-Z]/.test(text));
    expect((await titles()).slice(0, 3)).toEqual(['Three', 'Two', 'One']);
    for (const [shown, expected] of [
      ['New', ['Three']],
      ['In progress', ['Two']],
      ['Played', ['One', 'Gone from the feed']],
    ] as const) {
      await page.getByLabel('Show').selectOption(shown);
      await expect.poll(titles).toEqual(expected);
    }
    // A position of another device.
    await page.getByLabel('Show').selectOption('In progress');
    await visit.upload(url, [states('Three', 60, false)]);
    await page.getByText('1:00 of 10:00').waitFor();
    await page.getByRole('button', { name: 'Manage' }).click();
    await page.getByRole('button', { name: 'Unsubscribe' }).click();
    await page.getByText('Unsubscribed from Show').waitFor();
  });

  it('show their newest episodes together', async () => {
    const visit = await fixture.visit({}, '/console/new');
    const { page } = visit;
    await page.getByText('No episodes yet.').waitFor();
    const many = Array.from({ length: 60 }, (_, at): Item => [`Daily ${at}.`, 2 * at + 1]);
    await visit.subscribe(
      serve('/daily', 'Daily', ...many),
      serve('/weekly', 'Weekly', ['Week 1', 4], ['Week 2', 2]),
    );
    await page.getByText('Week 1').waitFor();
    const names = await page.getByRole('listitem').locator('bdi:first-child').allTextContents();
    const titles = names.filter((name) => /^(Daily \d|Week )/.test(name));
    expect(titles.slice(0, 4)).toEqual(['Daily 0.', 'Week 2', 'Daily 1.', 'Week 1']);
    await page.getByRole('link', { name: 'Weekly' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Weekly' }).waitFor();
  });
});

/** Returns the guid of the user's subscription to a feed. */
async function guidOf(visit: Visit, feedUrl: string): Promise<string> {
  const { success } = (await visit.request('POST', '/subscriptions', {
    subscriptions: [{ feed_url: feedUrl }],
  })) as { success: [{ guid: string }] };
  return success[0].guid;
}

it('a podcast whose guid changes stays on all pages, with its open dialog', async () => {
  const visit = await fixture.visit();
  const { page } = visit;
  const url = serve('/changed', 'Changed', ['One', 2]);
  const position = { value: 9, timestamp: now };
  await visit.upload(url, [{ episode_guid: 'One', title: 'One', playback_position: position }]);
  const podcastLink = page.getByRole('link', { name: 'Changed', exact: true });
  await podcastLink.waitFor();
  // The dialog is open in the list, and then on the page of the podcast.
  for (const hasOwnPage of [false, true]) {
    if (hasOwnPage) await podcastLink.click();
    if (hasOwnPage) await page.getByText('All about Changed.').waitFor();
    await page.getByRole('button', { name: 'Manage' }).click();
    await page.locator('#new-title').fill('typed');
    const newGuid = randomUUID();
    await visit.request('PATCH', `/subscriptions/${await guidOf(visit, url)}`, {
      new_guid: newGuid,
    });
    await page.locator(`#manage-${newGuid}`).waitFor({ state: 'attached' });
    expect(await page.locator('#new-title').inputValue()).toBe('typed');
    await page.getByRole('button', { name: 'Close' }).click();
    await podcastLink.or(page.getByRole('heading', { name: 'Changed' })).waitFor();
  }
  await page.getByText('1 episode', { exact: true }).waitFor();
  const row = page.getByRole('listitem').filter({ hasText: 'Changed' });
  await page.getByRole('link', { name: 'History' }).click();
  await row.getByText('One').waitFor();
  await page.getByRole('link', { name: 'New', exact: true }).click();
  await row.getByText('One').waitFor();
  expect(await page.getByRole('listitem').count()).toBe(1);
});

it('the newest episodes omit those of a deleted podcast', async () => {
  const visit = await fixture.visit({}, '/console/new');
  const { page } = visit;
  await page.getByText('No episodes yet.').waitFor();
  const [kept, deleted] = [
    serve('/kept', 'Kept', ['Kept episode', 2]),
    serve('/deleted', 'Deleted', ['Deleted episode', 1]),
  ];
  await visit.subscribe(kept, deleted);
  await page.getByText('Kept episode').waitFor();
  await page.getByText('Deleted episode').waitFor();
  await visit.request('DELETE', `/subscriptions/${await guidOf(visit, deleted)}`);
  await page.getByText('Deleted episode').waitFor({ state: 'detached' });
  await page.getByText('Kept episode').waitFor();
});

it('an import shows titles and pictures of 300 podcasts within a minute', async () => {
  // Each feed has a host of its own, as hosts get one request per second.
  const all = await FeedServer.open('0.0.0.0');
  const more = await ConsoleFixture.open({ FEEDS_ALLOW: `127.0.0.0/8:${all.port}` });
  try {
    const urls = Array.from({ length: 300 }, (_, n) => {
      all.on(`/${n}.jpg`, (_request, response) => response.end(jpeg));
      const image = `<image><url>${all.url(`/${n}.jpg`)}</url></image>`;
      all.on(`/${n}`, (_request, response) =>
        response.end(`<rss><channel><title>Imported ${n}</title>${image}</channel></rss>`),
      );
      return all.url(`/${n}`, `127.1.${n >> 8}.${n & 255}`);
    });
    const outlines = urls.map((url) => `<outline type="rss" xmlUrl="${url}"/>`).join('');
    const buffer = Buffer.from(`<opml version="2.0"><body>${outlines}</body></opml>`);
    const visit = await more.visit({}, '/console/data');
    const { page } = visit;
    await page
      .getByLabel('OPML file')
      .setInputFiles({ name: 'a.opml', mimeType: 'text/x-opml', buffer });
    const start = performance.now();
    await page.getByRole('button', { name: 'Import 300 podcasts' }).click();
    await page.getByText('300 podcasts imported').waitFor();
    await page.getByRole('link', { name: 'Podcasts' }).click();
    await page.getByLabel('Search').fill('Imported');
    await page.getByText('300 podcasts', { exact: true }).waitFor({ timeout: 60_000 });
    const pictures = `[...document.querySelectorAll('.picture img')]
      .filter(({ naturalWidth }) => naturalWidth === 256).length`;
    // The list renders only the rows near the screen.
    for (const n of [0, 150, 299]) {
      await page.getByLabel('Search').fill(`Imported ${n}`);
      await expect.poll(() => page.evaluate(pictures), { timeout: 60_000 }).toBeGreaterThan(0);
    }
    let shown = 0;
    for (let path: string | undefined = '/feeds?per_page=100'; path !== undefined;) {
      const { feeds, next } = (await visit.request('GET', path)) as {
        feeds: { artwork?: string }[];
        next?: string;
      };
      shown += feeds.filter(({ artwork }) => artwork !== undefined).length;
      path = next && `/feeds${new URL(next).search}`;
    }
    expect(shown).toBe(300);
    const seconds = (performance.now() - start) / 1_000;
    console.log(`titles and pictures of 300 podcasts arrived in ${seconds.toFixed(1)} s`);
    expect(seconds).toBeLessThan(60);
  } finally {
    await more.close();
    await all.close();
  }
});

describe('adding a podcast', () => {
  it('shows the feed before the subscription', async () => {
    const visit = await fixture.visit();
    const { page } = visit;
    const url = serve('/add', 'To be added', ['One', 1]);
    const address = page.getByLabel('Feed address');
    await address.fill(url.replace('http:', 'feed:http:'));
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    const found = page.getByRole('group', { name: 'Podcast at this address' });
    await found.getByText('Ann of To be added').waitFor();
    expect(await visit.feeds()).toEqual([]);
    expect(await page.evaluate('document.activeElement.className')).toBe('preview');
    await found.getByRole('button', { name: 'Subscribe' }).click();
    await page.getByText('Subscribed to To be added').waitFor();
    expect(await visit.feeds()).toEqual([url]);
    await page.getByRole('link', { name: 'To be added' }).waitFor();
    await address.fill(url);
    await page.keyboard.press('Enter');
    await page.getByText('You are already subscribed to To be added.').waitFor();
  });

  it('offers the feeds of a page, and refuses the page', async () => {
    const visit = await fixture.visit();
    const { page } = visit;
    const url = serve('/linked', 'Linked', ['One', 1]);
    const link = `<link rel="alternate" type="application/rss+xml" title="Its feed" href="${url}">`;
    const html = server.on('/page', (_, response) => response.end(`<title>Page</title>${link}`));
    await page.getByLabel('Feed address').fill(html);
    await page.keyboard.press('Enter');
    await page.getByText('This page is not a feed.').waitFor();
    expect(await page.getByRole('button', { name: 'Subscribe' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Its feed' }).click();
    await page.getByText('All about Linked.').waitFor();
    await page.getByRole('button', { name: 'Subscribe' }).click();
    await expect.poll(() => visit.feeds()).toEqual([url]);
  });

  it('is possible if the feed cannot be read, and can be cancelled', async () => {
    const visit = await fixture.visit();
    const { page } = visit;
    await page.getByLabel('Feed address').fill(server.url('/missing'));
    await page.keyboard.press('Enter');
    await page.getByText('The server could not read this feed.').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('The server could not read this feed.').waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.id')).toBe('feed');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Subscribe anyway' }).click();
    await expect.poll(() => visit.feeds()).toEqual([server.url('/missing')]);
  });
});

describe.each(['en-GB', 'de-DE'])('the pages with feeds, in %s', (locale) => {
  it('are accessible in light and dark, and fit a phone', { timeout: 120_000 }, async () => {
    const visit = await fixture.visit({ locale, viewport: { width: 1_280, height: 900 } });
    const { page } = visit;
    const url = serve('/access', 'A Podcast', ['One', 9], ['Two', 5]);
    await visit.upload(url, [
      { episode_guid: 'Two', title: 'Two', playback_position: { value: 5, timestamp: now } },
    ]);
    await page.getByText('Ann of A Podcast').waitFor();
    const link = await page.getByRole('link', { name: 'A Podcast' }).getAttribute('href');
    const problems: unknown[] = [];
    await page.locator('#feed').fill(serve('/look', 'A Look', ['One', 9]));
    await page.keyboard.press('Enter');
    await page.getByText('Ann of A Look').waitFor();
    problems.push(...(await findings(page)));
    for (const path of ['/console/', link ?? '', '/console/new']) {
      await page.goto(path);
      await page
        .getByText(/^(Two|A Podcast)$/)
        .first()
        .waitFor();
      problems.push(...(await findings(page)));
      await page.emulateMedia({ colorScheme: 'dark' });
      problems.push(...(await findings(page, 'color-contrast')));
      await page.emulateMedia({ colorScheme: 'light' });
      await page.setViewportSize({ width: 320, height: 640 });
      if (!(await fits(page))) problems.push(`${path} is wider than a phone`);
      await page.setViewportSize({ width: 1_280, height: 900 });
    }
    expect(problems).toEqual([]);
  });
});
