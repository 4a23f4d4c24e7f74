import type { Page } from 'playwright-core';
import { eventually } from '#testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Finding, findings, fits } from '../../apps/account/testing/account-browser.js';
import { ConsoleFixture, type Visit } from './testing/console.fixture.js';
import { opmlOf } from './testing/opml.js';

/** The smallest supported screen (WCAG 2.2, 1.4.10). */
const phone = { width: 320, height: 640 };
const now = new Date().toISOString();
const feed = 'https://radio.example/feed.xml';

let fixture: ConsoleFixture;
beforeAll(async () => void (fixture = await ConsoleFixture.open()));
afterAll(() => fixture?.close());

/** Opens the console for a user with data on every page. */
async function visitWithData(locale: string): Promise<Visit> {
  const visit = await fixture.visit(
    { locale, viewport: { width: 1_000, height: 800 } },
    '/account',
  );
  const at = (value: number | boolean) => ({ value, timestamp: now });
  await visit.subscribe('https://other.example/');
  await visit.upload(feed, [
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

/** Shows each page in each of its states, and yields the name of the state. */
async function* showStates(page: Page): AsyncGenerator<string> {
  await page.goto('/console/');
  await page.locator('.window button').first().waitFor();
  yield 'podcasts';
  await page.locator('#feed').fill('not a feed address');
  await page.keyboard.press('Enter');
  await page.locator('#feed-error').waitFor();
  yield 'podcasts, invalid address';
  await page.locator('#search').fill('no match');
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
  await page.goto('/console/history');
  await page.getByText('Half', { exact: true }).waitFor();
  yield 'history';
  for (const action of [0, 1, 2])
    await page.locator('.icons:has(> :nth-child(3)) > button').nth(action).click();
  await page.locator('.toast .good').waitFor();
  yield 'history, changed';
  await page.locator('#search').fill('no match');
  await page.locator('.empty').waitFor();
  yield 'history, nothing found';
  await page.locator('#podcast').click();
  await page.locator('[role=option]').first().waitFor();
  yield 'history, suggestions';
  await page.goto('/console/statistics');
  await page.locator('.plot').waitFor();
  yield 'statistics';
  await page.locator('#view').selectOption('table');
  await page.locator('td').first().waitFor();
  yield 'statistics, table';
  await page.goto('/console/data');
  await page
    .locator('#opml')
    .setInputFiles({ name: 'a', mimeType: 'text/xml', buffer: Buffer.from('<rss/>') });
  await page.locator('#opml-error').waitFor();
  yield 'data, invalid file';
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
  yield 'page not found';
}

describe.each(['en-GB', 'de-DE'])('each page, in %s', (locale) => {
  it('is accessible in light and dark, and fits a phone', { timeout: 180_000 }, async () => {
    const { page } = await visitWithData(locale);
    const problems: unknown[] = [];
    for await (const name of showStates(page)) {
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

describe.each(['en-GB', 'de-DE'])('on a phone, in %s', (locale) => {
  it('the tabs are one row, in which the current and the focused one are visible', async () => {
    const { page } = await fixture.visit({ locale, viewport: { width: 390, height: 844 } });
    for (const path of ['/console/', '/console/data', '/account']) {
      await page.goto(path);
      const tabs = page.getByRole('navigation').getByRole('link');
      await tabs.last().waitFor();
      const boxes = await Promise.all((await tabs.all()).map((tab) => tab.boundingBox()));
      expect(new Set(boxes.map((box) => box?.y)).size).toBe(1);
      const current = page.locator('nav [aria-current]');
      await expect.poll(async () => (await current.boundingBox())?.x).toBeGreaterThanOrEqual(0);
      for (const tab of [current, ...(await tabs.all())]) {
        if (tab !== current) await tab.focus();
        const box = await tab.boundingBox();
        expect(box?.x).toBeGreaterThanOrEqual(0);
        expect((box?.x ?? 390) + (box?.width ?? 0)).toBeLessThanOrEqual(390);
      }
    }
  });

  it('notices cover no row, move nothing and leave', async () => {
    const visit = await fixture.visit(
      { locale, viewport: { width: 390, height: 640 } },
      '/account',
    );
    const { page } = visit;
    await visit.subscribe(
      ...Array.from({ length: 40 }, (_, at) => `https://podcast-${at}.example/`),
    );
    await page.clock.install();
    await page.goto('/console/');
    await page.locator('.window button').first().waitFor();
    await page.evaluate('scrollTo(0, 1500)');
    // The bottom row of the screen.
    const row = page.locator('.window li', { hasText: 'podcast-16.' });
    await row.getByRole('button').click();
    await page.locator('#new-title').fill('A Podcast with a Title of Several Words '.repeat(9));
    await page.keyboard.press('Enter');
    const notice = page.locator('.toast .good');
    await notice.waitFor();
    const boxOf = (selector: string) => page.locator(selector).boundingBox();
    const [toast, header] = [await boxOf('.toast .good'), await boxOf('header.top')];
    expect(header?.y).toBe(0);
    expect((toast?.y ?? 0) + (toast?.height ?? 999)).toBeLessThanOrEqual(header?.height ?? 0);
    const scrolled = await page.evaluate('scrollY');
    await page.clock.fastForward(11_000);
    await notice.waitFor({ state: 'detached' });
    expect(await page.evaluate('scrollY')).toBe(scrolled);
  });
});

describe('the console by keyboard', () => {
  /** Presses Tab until an element with the name has the focus. @throws Error after 60 times. */
  async function tabTo(page: Page, name: string | RegExp): Promise<void> {
    const focused = () =>
      page.evaluate<string>(
        `document.activeElement?.getAttribute('aria-label') ??
          document.activeElement?.labels?.[0]?.textContent ??
          document.activeElement?.textContent ?? ''`,
      );
    for (let tabs = 0; tabs < 60; tabs++) {
      await page.keyboard.press('Tab');
      const current = (await focused()).trim();
      if (typeof name === 'string' ? current === name : name.test(current)) return;
    }
    throw new Error(`Tab does not reach "${String(name)}"`);
  }

  it('adds, manages and deletes a podcast, and keeps the focus', async () => {
    const visit = await fixture.visit();
    const { page } = visit;
    await page.getByText('No podcasts yet.').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await tabTo(page, 'Feed address');
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

  it('moves the focus to the heading of each opened page', async () => {
    const { page } = await fixture.visit();
    await page.getByText('No podcasts yet.').waitFor();
    for (const name of ['History', 'Statistics', 'Import and export']) {
      await tabTo(page, name);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name }).waitFor();
      expect(await page.evaluate('document.activeElement.textContent')).toBe(name);
      await eventually(async () => expect(await page.title()).toBe(`${name} · Podcast Sync`));
      await page.keyboard.press('Shift+Tab');
      await page.evaluate('document.activeElement.blur()');
      await page.evaluate(`document.querySelector('.skip').focus()`);
    }
  });

  it('keeps the row with the focus while the user scrolls', async () => {
    const visit = await fixture.visit({ viewport: { width: 1_000, height: 600 } }, '/account');
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
