import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleFixture } from './testing/console.fixture.js';

const feed = (name: string) => `https://${name}.example/feed.xml`;
const weeksAgo = (weeks: number) => new Date(Date.now() - weeks * 7 * 86_400_000).toISOString();
const at = <Value>(value: Value, weeks: number) => ({ value, timestamp: weeksAgo(weeks) });

/** Script that records the duration of the longest task of the main thread (Long Tasks). */
const recordLongestTask = `
  globalThis.longestTask = 0;
  new PerformanceObserver((list) =>
    list.getEntries().forEach(({ duration }) =>
      (globalThis.longestTask = Math.max(globalThis.longestTask, duration))))
    .observe({ type: 'longtask', buffered: true });`;

let fixture: ConsoleFixture;
beforeAll(async () => void (fixture = await ConsoleFixture.open()));
afterAll(() => fixture?.close());

describe('the statistics page', () => {
  it('shows hours by week and by podcast, as a plot and as a table', async () => {
    const visit = await fixture.visit();
    const { page } = visit;
    await visit.upload(feed('radio'), [
      { episode_guid: 'a', duration: 7_200, playback_position: at(3_600, 0) },
      { episode_guid: 'b', duration: 5_400, played_status: at(true, 2) },
      { episode_guid: 'c', duration: 36_000, played_status: at(true, 30) },
      { episode_guid: 'd', played_status: at(true, 1) },
    ]);
    await visit.upload(feed('other'), [{ episode_guid: 'e', playback_position: at(1_800, 2) }]);
    await page.getByRole('link', { name: 'Statistics' }).click();
    await page.getByText('3 hours in total').waitFor();
    await page.getByText('1 played episode does not count').waitFor();
    const list = page.getByRole('listitem');
    expect(await list.allTextContents()).toEqual([
      expect.stringContaining('radio.example2.5 hours'),
      expect.stringContaining('other.example0.5 hours'),
    ]);

    // The keyboard and the pointer select bars.
    const caption = page.getByRole('figure').locator('figcaption');
    expect(await caption.textContent()).toMatch(/^Week from .*: 1 hour$/);
    const slider = page.getByRole('slider', { name: 'Listening by week' });
    await slider.focus();
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => caption.textContent()).toMatch(/^Week from .*: 2 hours$/);
    expect(await slider.getAttribute('aria-valuetext')).toBe(await caption.textContent());
    await slider.hover({ position: { x: 2, y: 50 } });
    await expect.poll(() => caption.textContent()).toMatch(/: 0 hours$/);
    await slider.click({ position: { x: 2, y: 50 } });
    expect(await slider.inputValue()).toBe('0');

    // Screen readers have the table, too.
    const rows = page.getByRole('table', { name: 'Listening by week' }).getByRole('row');
    expect(await rows.count()).toBe(13);
    expect(await rows.nth(1).textContent()).toMatch(/1 hour$/);
    await page.getByLabel('Show').selectOption('Table');
    await slider.waitFor({ state: 'detached' });
    expect(await rows.nth(3).isVisible()).toBe(true);
    expect(await rows.nth(3).textContent()).toMatch(/2 hours$/);

    await page.getByLabel('Period').selectOption('Last 52 weeks');
    await page.getByText('13 hours in total').waitFor();
    expect(await rows.count()).toBe(53);
    await page.getByLabel('Period').selectOption('All');
    await page.getByRole('table', { name: 'Listening by month' }).waitFor();

    // A change of another device.
    await visit.upload(feed('other'), [{ episode_guid: 'f', playback_position: at(7_200, 0) }]);
    await page.getByText('15 hours in total').waitFor();
    await page.getByRole('link', { name: 'other.example' }).click();
    await page.getByRole('heading', { level: 1, name: 'other.example' }).waitFor();
  });

  it('says that nothing was heard', async () => {
    const { page } = await fixture.visit({}, '/console/statistics');
    await page.getByText('Nothing heard in this period.').waitFor();
    expect(await page.getByRole('figure').count()).toBe(0);
  });

  it(
    'shows the progress of 100,000 episodes, says its limit, and stays responsive',
    { timeout: 300_000 },
    async () => {
      const visit = await fixture.visit({}, '/account');
      const { page, id } = visit;
      await visit.subscribe(...Array.from({ length: 10_000 }, (_, n) => feed(`podcast-${n}`)));
      await visit.upload(feed('podcast-0'), [{ episode_guid: 'a', playback_position: at(1, 0) }]);
      await fixture.account.database.query(
        `WITH podcasts AS (
         SELECT id, row_number() OVER () AS n FROM subscription.subscriptions WHERE user_id = $1
       ), made AS (
         INSERT INTO episode.episodes (user_id, subscription_id, publish_date, duration, sync_id,
           episode_guid, title, enclosure_url, episode_url)
         SELECT $1, podcasts.id, '2026-01-01', 7200, gen_random_uuid(), 'e' || made,
           'Episode ' || made, 'https://cdn.example/' || made || '.mp3', ''
         FROM generate_series(1, 101000) made JOIN podcasts ON n = 1 + made % 10000
         RETURNING id, sync_id
       ), counted AS (
         UPDATE episode.totals SET episodes = episodes + 101000 WHERE user_id = $1
       )
       INSERT INTO episode.states
         (user_id, id, sync_id, changed, playback_position, playback_position_at)
       SELECT $1, id, sync_id, (SELECT stamp FROM sync.user_clock WHERE user_id = $1), 3600,
         now() - id % 500 * interval '1 day'
       FROM made`,
        [id],
      );
      await page.addInitScript({ content: recordLongestTask });
      await page.goto('/console/statistics');
      const progress = page.getByRole('progressbar', { name: 'Loading episodes' });
      await progress.waitFor();
      expect(await progress.getAttribute('max')).toBe('100000');
      await page.getByText(/^[\d,]+ of 100,000 loaded$/).waitFor();
      await page
        .getByText('Only the 100,000 episodes that were added last count.')
        .waitFor({ timeout: 200_000 });
      const readLongestTask = () => page.evaluate<number>('globalThis.longestTask');
      const ofLoad = await readLongestTask();
      console.log(`100,000 episodes: longest task of the load ${ofLoad} ms`);
      // Usually below 50 ms, which is the shortest task that is reported.
      expect(ofLoad).toBeLessThan(500);
      // The best of three, or of ten on a busy machine, whose other load does not count.
      const attempts: number[] = [];
      for (let n = 0; n < 3 || (n < 10 && Math.min(...attempts) >= 200); n++) {
        await page.evaluate('globalThis.longestTask = 0');
        for (const [period, hours] of [
          ['All', /^100,\d{3} hours in total$/],
          ['Last 12 weeks', /^1\d,\d{3} hours in total$/],
        ] as const) {
          await page.getByLabel('Period').selectOption(period);
          await page.getByText(hours).waitFor();
        }
        attempts.push(await readLongestTask());
      }
      console.log(`longest tasks of a change of the period: ${attempts.join(', ')} ms`);
      expect(Math.min(...attempts)).toBeLessThan(200);
    },
  );
});
