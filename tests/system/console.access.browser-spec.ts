import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Finding, findings, fits } from '../../apps/account/testing/account.browser.js';
import { ConsoleBrowser, type Visit } from './testing/console.browser.js';
import { opmlOf } from './testing/opml.js';

/** A phone of the smallest size that is sold (WCAG 2.2, 1.4.10). */
const phone = { width: 320, height: 640 };
const now = new Date().toISOString();
const feed = 'https://radio.example/feed.xml';

let world: ConsoleBrowser;
beforeAll(async () => void (world = await ConsoleBrowser.open()));
afterAll(() => world?.close());

/** Somebody who has something on every page. */
async function somebody(locale: string): Promise<Visit> {
  const visit = await world.person({ locale, viewport: { width: 1_000, height: 800 } }, '/');
  const at = (value: number | boolean) => ({ value, timestamp: now });
  await visit.subscribe('https://other.example/');
  await visit.listen(feed, [
    {
      episode_guid: 'a',
      title: 'Played',
      enclosure_url: 'https://cdn.example/a',
      played_status: at(true),
    },
    {
      episode_guid: 'b',
      title: 'New',
      enclosure_url: 'https://cdn.example/b',
      new_status: at(true),
    },
    {
      episode_guid: 'c',
      title: 'Half',
      enclosure_url: 'https://cdn.example/c',
      duration: 60,
      playback_position: at(30),
    },
    {
      episode_guid: 'd',
      title: 'Liked',
      enclosure_url: 'https://cdn.example/d',
      favorite_status: at(true),
    },
  ]);
  return visit;
}

/** Every page of the console, in each state that looks its own way. */
async function* everyState(page: Page): AsyncGenerator<string> {
  await page.goto('/console/');
  await page.locator('.window button').first().waitFor();
  yield 'podcasts';
  await page.locator('#feed').fill('no address');
  await page.keyboard.press('Enter');
  await page.locator('#feed-error').waitFor();
  yield 'podcasts, refused';
  await page.locator('#search').fill('nothing like it');
  await page.locator('.empty').waitFor();
  yield 'podcasts, nothing found';
  await page.locator('#search').fill('');
  await page.locator('.window button').first().click();
  await page.locator('dialog').waitFor();
  yield 'manage';
  await page.locator('dialog .danger').click();
  await page.locator('.removing').waitFor();
  yield 'manage, delete';
  await page.locator('dialog .dialog-head button').click();
  await page.context().setOffline(true);
  await page.locator('.banner .notice').waitFor();
  await page.locator('#feed').fill('https://waiting.example/');
  await page.keyboard.press('Enter');
  await page.locator('.waiting').waitFor();
  yield 'podcasts, offline';
  await page.context().setOffline(false);
  await page.locator('.toast .good').waitFor();
  yield 'podcasts, added';
  await page.goto('/console/listened');
  await page.getByText('Half', { exact: true }).waitFor();
  yield 'listened';
  await page.goto('/console/data');
  await page
    .locator('#opml')
    .setInputFiles({ name: 'a', mimeType: 'text/xml', buffer: Buffer.from('<rss/>') });
  await page.locator('#opml-error').waitFor();
  yield 'data, refused';
  const buffer = Buffer.from(opmlOf(['https://one.example/', 'ftp://two.example/']));
  await page.locator('#opml').setInputFiles({ name: 'a', mimeType: 'text/xml', buffer });
  const start = page.locator('.card').first().getByRole('button').first();
  await start.waitFor();
  yield 'data, chosen';
  await start.click();
  await page.locator('.window .tag.bad').waitFor();
  yield 'data, imported';
  await page.goto('/console/nothing');
  await page.locator('h1').waitFor();
  yield 'no such page';
}

describe.each(['en-GB', 'de-DE'])('every page, in %s', (locale) => {
  it('is accessible in light and dark, and fits a phone', { timeout: 180_000 }, async () => {
    const { page } = await somebody(locale);
    const problems: unknown[] = [];
    for await (const name of everyState(page)) {
      const found = { light: await findings(page), dark: [] as Finding[] };
      await page.emulateMedia({ colorScheme: 'dark' });
      found.dark = await findings(page, 'color-contrast');
      await page.emulateMedia({ colorScheme: 'light' });
      if (found.light.length + found.dark.length > 0) problems.push({ name, found });
      const size = page.viewportSize();
      await page.setViewportSize(phone);
      if (!(await fits(page))) problems.push({ name, found: 'wider than a phone' });
      if (size) await page.setViewportSize(size);
      const language = await page.locator('html').getAttribute('lang');
      if (language !== locale.slice(0, 2)) problems.push({ name, language });
    }
    expect(problems).toEqual([]);
  });
});

describe('by keyboard alone', () => {
  /** Presses Tab until something with this name has the focus. */
  async function tabTo(page: Page, name: string | RegExp): Promise<void> {
    const focused = () =>
      page.evaluate<string>(
        `document.activeElement?.getAttribute('aria-label') ??
          document.activeElement?.labels?.[0]?.textContent ??
          document.activeElement?.textContent ?? ''`,
      );
    for (let tabs = 0; tabs < 60; tabs++) {
      await page.keyboard.press('Tab');
      const reached = (await focused()).trim();
      if (typeof name === 'string' ? reached === name : name.test(reached)) return;
    }
    throw new Error(`"${String(name)}" can't be reached`);
  }

  it('a keyboard user adds, manages and deletes a podcast, and keeps the focus', async () => {
    const visit = await world.person();
    const { page } = visit;
    await page.getByText('No podcast yet.').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await tabTo(page, 'Address of a feed');
    await page.keyboard.type(feed);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Manage radio.example' }).waitFor();
    await tabTo(page, 'Manage radio.example/feed.xml');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'radio.example' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Manage');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'radio.example' }).waitFor();
    await tabTo(page, 'Delete …');
    await page.keyboard.press('Enter');
    await tabTo(page, 'Delete permanently');
    await page.keyboard.press('Enter');
    await page.getByText('Deleted radio.example').waitFor();
    expect(await visit.feeds()).toEqual([]);
  });

  it('a user navigates between pages, and each sets the focus to its heading', async () => {
    const { page } = await world.person();
    await page.getByText('No podcast yet.').waitFor();
    for (const name of ['Listened to', 'Import and export']) {
      await tabTo(page, name);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name }).waitFor();
      expect(await page.evaluate('document.activeElement.textContent')).toBe(name);
      expect(await page.title()).toBe(`${name} · Podcast Sync`);
      await page.keyboard.press('Shift+Tab');
      await page.evaluate('document.activeElement.blur()');
      await page.evaluate(`document.querySelector('.skip').focus()`);
    }
  });

  it('a row with the focus stays while the user scrolls', async () => {
    const visit = await world.person({ viewport: { width: 1_000, height: 600 } }, '/');
    const { page } = visit;
    await visit.subscribe(
      ...Array.from({ length: 200 }, (_, at) => `https://podcast-${at}.example/`),
    );
    await page.goto('/console/');
    await page.getByRole('button', { name: 'Manage podcast-2.example' }).focus();
    await page.mouse.wheel(0, 9_000);
    await page.getByRole('button', { name: 'Manage podcast-120.example' }).waitFor();
    expect(await page.evaluate(`document.activeElement.getAttribute('aria-label')`)).toBe(
      'Manage podcast-2.example',
    );
  });
});
