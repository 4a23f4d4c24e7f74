import { eventually } from '#testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fits } from '../../apps/account/testing/account-browser.js';
import { ConsoleFixture } from './testing/console.fixture.js';

const now = new Date().toISOString();

/** Script that marks the time of the first row with a podcast, not a placeholder. */
const markFirstRow = `
  const observer = new MutationObserver(() => {
    if (!document.querySelector('.window .name')) return;
    observer.disconnect();
    requestAnimationFrame(() => performance.mark('first row'));
  });
  observer.observe(document, { childList: true, subtree: true });`;

/** Script that sums the layout shifts of the page (Layout Instability, 2.3). */
const sumLayoutShifts = `
  globalThis.layoutShift = 0;
  new PerformanceObserver((list) =>
    list.getEntries().forEach(({ value }) => (globalThis.layoutShift += value)))
    .observe({ type: 'layout-shift', buffered: true });`;

let fixture: ConsoleFixture;
beforeAll(async () => void (fixture = await ConsoleFixture.open()));
afterAll(() => fixture?.close());

describe('10,000 podcasts', () => {
  it('show their first row within a second on a slow processor, and can be searched', async () => {
    const visit = await fixture.visit({ viewport: { width: 1_000, height: 800 } }, '/account');
    const { page } = visit;
    await visit.subscribe(
      ...Array.from({ length: 10_000 }, (_, at) => `https://podcast-${at}.example/feed.xml`),
    );
    const slow = await page.context().newCDPSession(page);
    await slow.send('Emulation.setCPUThrottlingRate', { rate: 4 });
    // Each attempt is like the first visit of a browser.
    await slow.send('Network.enable');
    await slow.send('Network.setCacheDisabled', { cacheDisabled: true });
    await page.addInitScript({ content: markFirstRow });
    // The best of three, or of ten on a busy machine, whose other load does not count.
    const attempts: number[] = [];
    for (let at = 0; at < 3 || (at < 10 && Math.min(...attempts) >= 1_000); at++) {
      await page.goto('/console/');
      const marked = () =>
        page.evaluate(() => performance.getEntriesByName('first row')[0]?.startTime);
      await eventually(async () => expect(await marked()).toBeDefined());
      attempts.push(Math.round((await marked()) ?? Number.NaN));
    }
    const ms = Math.min(...attempts);
    console.log(`10,000 podcasts: the first row after ${attempts.join(', ')} ms (CPU slowed by 4)`);
    expect(ms).toBeLessThan(1_000);
    // The other rows move nothing.
    const row = page.getByRole('button', { name: 'Manage podcast-3.example' });
    const before = await row.boundingBox();
    const started = performance.now();
    await page.getByText('10,000 podcasts', { exact: true }).waitFor();
    console.log(`all rows after another ${Math.round(performance.now() - started)} ms`);
    expect(await row.boundingBox()).toEqual(before);
    expect(await page.getByRole('listitem').count()).toBeLessThan(60);
    await page.getByLabel('Search').fill('podcast-9999.');
    await page.getByRole('button', { name: 'Manage podcast-9999.example' }).waitFor();
    await page.getByText('1 podcast', { exact: true }).waitFor();
    await page.getByLabel('Search').fill('');
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    await page.getByRole('button', { name: 'Manage podcast-9999.example' }).waitFor();
  });
});

describe('a slow network', () => {
  it('shows placeholders, and rows cause no layout shift', async () => {
    const visit = await fixture.visit({ viewport: { width: 1_000, height: 800 } }, '/account');
    const { page } = visit;
    await visit.subscribe(
      ...Array.from({ length: 400 }, (_, at) => `https://podcast-${at}.example/feed.xml`),
    );
    const network = await page.context().newCDPSession(page);
    const slow = {
      offline: false,
      latency: 250,
      downloadThroughput: 60_000,
      uploadThroughput: 30_000,
    };
    await network.send('Network.enable');
    await network.send('Network.emulateNetworkConditions', slow);
    await page.addInitScript({ content: sumLayoutShifts });
    await page.goto('/console/');
    await page.locator('.window .skeleton').first().waitFor();
    await page.getByText('400 podcasts', { exact: true }).waitFor();
    expect(await page.evaluate('globalThis.layoutShift')).toBe(0);
  });
});

describe('hostile text', () => {
  const hostile = {
    script:
      '<script>document.title = "taken"</script><img src=x onerror="document.title = \'taken\'">',
    bidi: 'safe \u202Egnp.exe\u202C \u2066\u202E and more',
    emoji: '👩‍👩‍👧‍👦🏳️‍🌈 \u{1F3A7}'.repeat(20),
    long: 'a'.repeat(2_048),
    wide: '漢'.repeat(600),
    lines: 'one\ntwo\r\nthree\u2028four',
  };

  it.each(Object.keys(hostile) as (keyof typeof hostile)[])(
    'in a title is shown as text within its row: %s',
    async (kind) => {
      const title = hostile[kind];
      const visit = await fixture.visit({ viewport: { width: 360, height: 700 } });
      const { page } = visit;
      await visit.upload('https://radio.example/', [
        {
          episode_guid: 'b',
          title: 'An ordinary title',
          enclosure_url: 'https://cdn.example/2.mp3',
          new_status: { value: true, timestamp: now },
        },
        {
          episode_guid: 'a',
          title,
          enclosure_url: 'https://cdn.example/1.mp3',
          duration: 60,
          playback_position: { value: 30, timestamp: now },
        },
      ]);
      await page.getByRole('link', { name: 'History' }).click();
      await page.getByText('An ordinary title').waitFor();
      const row = page.getByRole('listitem').nth(0);
      // Its direction marks do not affect the text after it.
      expect(await row.locator('bdi').first().textContent()).toBe(title.replaceAll(/[\r\n]/g, ' '));
      expect(await page.title()).toBe('History · Podcast Sync');
      const [one, other] = [
        await row.boundingBox(),
        await page.getByRole('listitem').nth(1).boundingBox(),
      ];
      expect(one?.height).toBe(other?.height);
      expect(await fits(page)).toBe(true);
    },
  );

  it('in a feed address or an OPML file is shown as text', async () => {
    const visit = await fixture.visit({ viewport: { width: 360, height: 700 } });
    const { page } = visit;
    const feeds = [
      `https://long.example/${'x'.repeat(4_070)}`,
      'https://markup.example/?<script>document.title="taken"</script>',
      'https://bidi.example/\u202Egnp',
    ];
    await visit.subscribe(...feeds);
    for (const host of ['long', 'markup', 'bidi']) {
      await page.getByRole('button', { name: `Manage ${host}.example` }).click();
      const shown = await page.getByRole('dialog').locator('.address').textContent();
      expect(feeds).toContain(shown);
      await page.keyboard.press('Escape');
    }
    await page.getByRole('link', { name: 'Import and export' }).click();
    const title = 'A &lt;img src=x onerror=alert(1)&gt; \u202E'.repeat(100);
    const outline = `<outline text="${title}" xmlUrl="https://import.example/"/>`;
    const opml = `<opml><body>${outline}</body></opml>`;
    const file = { name: 'a.opml', mimeType: 'text/xml', buffer: Buffer.from(opml) };
    await page.getByLabel('OPML file').setInputFiles(file);
    await page.getByRole('button', { name: 'Import 1 podcast' }).click();
    await page.getByText('1 podcast imported.').waitFor();
    expect(await page.getByRole('listitem').locator('bdi').first().textContent()).toContain(
      '<img src=x',
    );
    expect(await fits(page)).toBe(true);
  });

  it('causes no requests to other servers', async () => {
    const visit = await fixture.visit({}, '/account');
    const { page } = visit;
    const requested = new Set<string>();
    page.on('request', (request) => requested.add(new URL(request.url()).origin));
    await visit.upload('https://radio.example/', [
      {
        episode_guid: 'a',
        title: 'One',
        enclosure_url: 'https://cdn.example/1.mp3',
        new_status: { value: true, timestamp: now },
      },
    ]);
    await page.goto('/console/history');
    await page.getByText('One', { exact: true }).waitFor();
    expect([...requested].filter((origin) => origin !== 'null').sort()).toEqual(
      [fixture.api, fixture.account.origin].sort(),
    );
  });

  it('finds no stored token', async () => {
    const { page } = await fixture.visit();
    await page.getByText('No podcasts yet.').waitFor();
    const stored = await page.evaluate(
      `(async () => [localStorage.length, sessionStorage.length,
        (await indexedDB.databases()).length, document.cookie,
         (await caches.keys()).length])()`,
    );
    expect(stored).toEqual([0, 0, 0, '', 0]);
  });
});
