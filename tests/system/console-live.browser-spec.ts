import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually, repository } from '#testing';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleFixture, Visit } from './testing/console.fixture.js';

const feed = (name: string) => `https://${name}.example/feed.xml`;

let fixture: ConsoleFixture;
beforeAll(async () => void (fixture = await ConsoleFixture.open()));
afterAll(() => fixture?.close());

/** Counts the requests for change streams of a page. */
function streamsOf({ page }: Visit): { open: number } {
  const count = { open: 0 };
  page.on('request', (request) => {
    if (request.url().endsWith('/changes') && request.method() === 'GET') count.open++;
  });
  return count;
}

/** Returns the loaded scripts without their hashes, including preloaded ones of other pages. */
function loadedScripts(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    performance
      .getEntriesByType('resource')
      .map(({ name }) => /([a-z]+)-[^/]*\.js$/.exec(name)?.[1] ?? ''),
  );
}

describe('two windows', () => {
  it("show each other's changes within seconds, by one stream", async () => {
    const one = await fixture.visit({}, '/account');
    const ofOne = streamsOf(one);
    const other = new Visit(await one.page.context().newPage(), one.id, fixture.api);
    const ofOther = streamsOf(other);
    await Promise.all([one, other].map(({ page }) => page.goto('/console/')));
    await Promise.all([one, other].map(({ page }) => page.getByText('No podcasts yet.').waitFor()));
    await eventually(() => expect(ofOne.open + ofOther.open).toBe(1));

    for (const [from, to] of [
      [one, other],
      [other, one],
    ] as const) {
      const name = from === one ? 'one' : 'other';
      await from.page.getByLabel('Feed address').fill(feed(name));
      const started = performance.now();
      await from.page.keyboard.press('Enter');
      await to.page
        .getByRole('button', { name: `Manage ${name}.example` })
        .waitFor({ timeout: 5_000 });
      console.log(`the other window showed it after ${Math.round(performance.now() - started)} ms`);
    }
    expect(ofOne.open + ofOther.open).toBe(1);
  });

  it('continue when the tab with the stream is closed', async () => {
    const one = await fixture.visit();
    await one.page.getByText('No podcasts yet.').waitFor();
    const other = new Visit(await one.page.context().newPage(), one.id, fixture.api);
    await other.page.goto('/console/');
    await other.page.getByText('No podcasts yet.').waitFor();
    await one.page.close();
    await other.subscribe(feed('later'));
    await other.page.getByRole('button', { name: 'Manage later.example' }).waitFor();
  });

  it('show changes of an app: a new position, an ended subscription', async () => {
    const visit = await fixture.visit();
    const { page } = visit;
    const uploadPosition = (value: number) =>
      visit.upload(feed('radio'), [
        {
          episode_guid: 'one',
          title: 'One',
          enclosure_url: 'https://cdn.example/1.mp3',
          duration: 600,
          playback_position: { value, timestamp: new Date().toISOString() },
        },
      ]);
    await uploadPosition(60);
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByText('1:00 of 10:00').waitFor();
    await uploadPosition(120);
    await page.getByText('2:00 of 10:00').waitFor();
    expect(await page.getByRole('listitem').count()).toBe(1);
  });
});

it('reconnects less often while change streams end early', async () => {
  const { page } = await fixture.visit({}, '/account');
  // The delay before a reconnect is a random part of a ceiling, which doubles.
  await page.addInitScript(() => void (Math.random = () => 0.5));
  const opened: number[] = [];
  await page.route('**/changes', (route) => {
    opened.push(performance.now());
    return route.fulfill({
      headers: { 'access-control-allow-origin': '*', 'content-type': 'text/event-stream' },
      body: 'event: changed\ndata: 2026-01-01T00:00:00.000Z\n\n',
    });
  });
  await page.goto('/console/');
  await expect.poll(() => opened.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(4);
  const [, , third = 0, fourth = 0] = opened;
  expect(fourth - third).toBeGreaterThan(3_000);
});

describe('the example app of the SDK', () => {
  const folder = mkdtempSync(join(tmpdir(), 'player-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('syncs with an open console in both directions', async () => {
    const visit = await fixture.visit();
    const { page } = visit;
    const env = { PATH: process.env['PATH'], API: fixture.api, TOKEN: await visit.token() };
    const player = async (...args: string[]) => {
      const command = ['docs/examples/player.mjs', join(folder, 'phone.json'), ...args];
      return (await promisify(execFile)(process.execPath, command, { cwd: repository, env }))
        .stdout;
    };
    await player('subscribe', feed('from-the-app'));
    await page.getByRole('button', { name: 'Manage from-the-app.example' }).waitFor();
    await page.getByLabel('Feed address').fill(feed('from-the-console'));
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Manage from-the-console.example' }).waitFor();
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByText('No episodes yet.').waitFor();
    expect(await player('play', feed('from-the-app'), 'episode-1', '90')).toContain(
      feed('from-the-console'),
    );
    await page.getByText('at 1:30').waitFor();
  });
});

describe('without a network', () => {
  it('shows waiting changes, keeps them, and sends them after a reconnect', async () => {
    const visit = await fixture.visit();
    const { page } = visit;
    await visit.subscribe(feed('here'));
    await page.getByRole('button', { name: 'Manage here.example' }).waitFor();
    const offline = page.getByText('No connection to the server.');
    await eventually(async () => expect(await loadedScripts(page)).toContain('data'));
    await page.context().setOffline(true);
    await offline.waitFor();
    await page.getByLabel('Feed address').fill(feed('added'));
    await page.keyboard.press('Enter');
    await page.getByLabel('Feed address').fill('https://half-typed.example/');
    await page.getByRole('button', { name: 'Manage here.example' }).click();
    await page.getByRole('button', { name: 'Unsubscribe' }).click();
    await page.getByText('waiting for a connection').nth(1).waitFor();
    // Other pages still work.
    await page.getByRole('link', { name: 'Import and export' }).click();
    await page.getByLabel('OPML file').waitFor();
    await page.getByRole('link', { name: 'Podcasts' }).click();
    await page.context().setOffline(false);
    await offline.waitFor({ state: 'detached' });
    await eventually(async () => expect(await visit.feeds()).toEqual([feed('added')]));
    await page.getByRole('button', { name: 'Manage added.example' }).waitFor();
    expect(await page.getByLabel('Feed address').inputValue()).toBe('https://half-typed.example/');
  });

  it('keeps changes during a fault of the server', async () => {
    const visit = await fixture.visit();
    const { page } = visit;
    await visit.subscribe(feed('here'));
    await page.getByRole('button', { name: 'Manage here.example' }).waitFor();
    let isFaulty = true;
    await page.route('**/subscriptions', (route) =>
      isFaulty && route.request().method() === 'POST'
        ? route.fulfill({ status: 500, headers: { 'access-control-allow-origin': '*' } })
        : route.continue(),
    );
    await page.getByLabel('Feed address').fill(feed('added'));
    await page.keyboard.press('Enter');
    await page.getByText('waiting for a connection').waitFor();
    isFaulty = false;
    await page.getByRole('button', { name: 'Manage added.example' }).waitFor();
    expect(await visit.feeds()).toEqual(expect.arrayContaining([feed('added')]));
  });

  it('does not revert later changes of others', async () => {
    const visit = await fixture.visit();
    const { page } = visit;
    await visit.subscribe(feed('kept'));
    await page.getByRole('button', { name: 'Manage kept.example' }).waitFor();
    await page.context().setOffline(true);
    await page.getByText('No connection to the server.').waitFor();
    await page.getByRole('button', { name: 'Manage kept.example' }).click();
    await page.getByRole('button', { name: 'Unsubscribe' }).click();
    await page.getByText('waiting for a connection').waitFor();
    // On another device, later.
    await visit.subscribe(feed('kept'));
    await page.context().setOffline(false);
    await page.getByText('Another device has changed this podcast in the meantime.').waitFor();
    await page.getByRole('button', { name: 'Manage kept.example' }).waitFor();
    expect(await visit.feeds()).toEqual([feed('kept')]);
  });
});

describe('a sign-out', () => {
  it('is shown to the user, who keeps all input and returns after sign-in', async () => {
    const { page } = await fixture.visit();
    await page.getByText('No podcasts yet.').waitFor();
    const other = await page.context().newPage();
    await other.goto('/account');
    await other.getByRole('button', { name: 'Sign out' }).click();
    await other.getByText('You are signed out.').waitFor();
    const input = page.getByLabel('Feed address');
    await eventually(async () => {
      await input.fill(feed('typed'));
      await page.keyboard.press('Enter');
      await page.getByText('You were signed out:').waitFor({ timeout: 1_000 });
    });
    await eventually(async () => expect(await input.inputValue()).toBe(feed('typed')));
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.waitForURL('/sign-in?next=%2Fconsole%2F');
  });
});
