import { eventually } from '#testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleFixture, type Visit } from './testing/console.fixture.js';

const feed = (name: string) => `https://${name}.example/feed.xml`;
const at = <Value>(value: Value, timestamp = new Date().toISOString()) => ({ value, timestamp });
const hourAgo = new Date(Date.now() - 3_600_000).toISOString();

let fixture: ConsoleFixture;
beforeAll(async () => void (fixture = await ConsoleFixture.open()));
afterAll(() => fixture?.close());

/** Opens the history of a user with one episode in each state. */
async function visitHistory(): Promise<Visit> {
  const visit = await fixture.visit({}, '/account');
  const position = at(90, hourAgo);
  await visit.upload(feed('radio'), [
    { episode_guid: 'a', title: 'Stored', download_status: at(true, hourAgo) },
    { episode_guid: 'b', title: 'Ended', played_status: at(true, hourAgo) },
    {
      episode_guid: 'c',
      title: 'Half',
      episode_url: 'https://radio.example/half',
      enclosure_url: 'https://cdn.example/half.mp3',
      duration: 600,
      playback_position: position,
    },
  ]);
  await visit.upload(feed('other'), [
    {
      episode_guid: 'd',
      title: 'Über Café',
      enclosure_url: 'https://cdn.example/d.mp3',
      playback_position: position,
      favorite_status: at(true, hourAgo),
    },
  ]);
  await visit.page.goto('/console/history');
  await visit.page.getByText('3 episodes', { exact: true }).waitFor();
  return visit;
}

/** Returns the statuses of an episode on the server: position, played, favourite. */
async function stored(visit: Visit, title: string): Promise<unknown[]> {
  const { episodes } = (await visit.request('GET', '/episodes')) as {
    episodes: Record<string, { value: unknown } | undefined>[];
  };
  const episode = episodes.find((each) => (each['title'] as unknown) === title);
  return ['playback_position', 'played_status', 'favorite_status'].map(
    (name) => episode?.[name]?.value,
  );
}

describe('the history page', () => {
  it('shows position, played and favourites, newest first, and loads more on scroll', async () => {
    const visit = await fixture.visit({ viewport: { width: 1_000, height: 700 } });
    const { page } = visit;
    const episodes = Array.from({ length: 320 }, (_, index) => ({
      title: `Episode ${index}.`,
      episode_guid: `e${index}`,
      enclosure_url: `https://cdn.example/${index}.mp3`,
      duration: 3_600,
      playback_position: at(1_800),
      ...(index === 318 && { played_status: at(true) }),
      ...(index === 317 && { favorite_status: at(true) }),
    }));
    await visit.upload(feed('radio'), episodes);
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByText('320 episodes').waitFor();
    const rows = page.getByRole('listitem');
    await page.getByText('Episode 319.', { exact: true }).waitFor();
    expect(await rows.nth(0).textContent()).toContain('Episode 319.');
    expect(await rows.nth(0).getByRole('progressbar').getAttribute('aria-valuetext')).toBe(
      '30:00 of 1:00:00',
    );
    for (const [row, name] of [
      [1, 'Played: Episode 318.'],
      [2, 'Favourite: Episode 317.'],
    ] as const)
      await rows.nth(row).getByRole('button', { name, pressed: true }).waitFor();
    await eventually(async () => {
      await page.mouse.wheel(0, 5_000);
      expect(await page.getByText('Episode 0.', { exact: true }).count()).toBe(1);
    });
    // Only the visible rows are in the document.
    expect(await rows.count()).toBeLessThan(60);
    await page.getByText('End of the list').waitFor();
  });

  it('is filtered by state, podcast and title, in the URL', async () => {
    const { page } = await visitHistory();
    const titles = () =>
      page.getByRole('list', { name: 'Episodes' }).locator('.name bdi').allTextContents();
    expect((await titles()).sort()).toEqual(['Ended', 'Half', 'Über Café']);
    for (const [show, expected] of [
      ['Played', ['Ended']],
      ['Favourites', ['Über Café']],
      ['In progress', ['Half', 'Über Café']],
    ] as const) {
      await page.getByLabel('Show').selectOption(show);
      await expect.poll(async () => (await titles()).sort()).toEqual(expected);
    }
    const podcast = page.getByRole('combobox', { name: 'Podcast', exact: true });
    await podcast.fill('radio');
    await page.getByRole('option', { name: 'radio.example' }).click();
    await expect.poll(titles).toEqual(['Half']);
    await page.getByLabel('Search').pressSequentially('uber');
    await page.getByText('No episodes match this filter.').waitFor();
    await podcast.click();
    await page.getByRole('option', { name: 'All podcasts' }).click();
    await expect.poll(titles).toEqual(['Über Café']);

    await page.reload();
    await expect.poll(titles).toEqual(['Über Café']);
    expect(await page.getByLabel('Search').inputValue()).toBe('uber');
    await page.goBack();
    await page.getByText('No episodes match this filter.').waitFor();
    await page.goBack();
    await expect.poll(titles).toEqual(['Half']);
    expect(await page.getByLabel('Search').inputValue()).toBe('');
    await expect.poll(() => podcast.inputValue()).toBe('radio.example');
    await page.goBack();
    await expect.poll(async () => (await titles()).length).toBe(2);
  });

  it('finds podcasts by the keyboard', async () => {
    const visit = await fixture.visit({}, '/account');
    const { page } = visit;
    await visit.subscribe(...Array.from({ length: 60 }, (_, n) => feed(`podcast-${n}`)));
    await page.goto('/console/history');
    const podcast = page.getByRole('combobox', { name: 'Podcast', exact: true });
    const options = page.getByRole('listbox', { name: 'Podcast' }).getByRole('option');
    const isActive = (name: string) => page.getByRole('option', { name, selected: true }).waitFor();
    await podcast.focus();
    // Opens the list, which is limited.
    await page.keyboard.press('ArrowDown');
    await isActive('All podcasts');
    await expect.poll(() => options.count()).toBe(51);
    await page.keyboard.press('Escape');
    await options.first().waitFor({ state: 'detached' });
    await page.keyboard.type('PODCAST-5');
    await expect.poll(() => options.count()).toBe(11);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await isActive('podcast-50.example');
    const id = await podcast.getAttribute('aria-activedescendant');
    expect(await page.locator(`#${id}`).textContent()).toContain('podcast-50.example');
    await page.keyboard.press('Enter');
    await expect.poll(() => podcast.inputValue()).toBe('podcast-50.example');
    await page.getByText('No episodes match this filter.').waitFor();
    // A text without a choice changes nothing.
    await podcast.fill('nothing');
    await page.getByText('No podcasts found.').waitFor();
    await page.keyboard.press('Enter');
    expect(await podcast.inputValue()).toBe('podcast-50.example');
    expect(new URL(page.url()).search).toContain('podcast=');
    await podcast.fill('');
    await expect.poll(() => new URL(page.url()).search).toBe('');
  });

  it('changes episodes by the keyboard, with Undo', async () => {
    const visit = await visitHistory();
    const { page } = visit;
    const focused = () => page.evaluate(`document.activeElement.getAttribute('aria-label')`);
    const isPressed = (name: string, pressed: boolean) =>
      page.getByRole('button', { name, pressed, exact: true }).waitFor();
    await page.getByLabel('Show').selectOption('In progress');

    await page.getByRole('button', { name: 'Played: Half' }).focus();
    await page.keyboard.press('Enter');
    await isPressed('Played: Half', true);
    await page.getByText('Marked as played: Half').waitFor();
    expect(await focused()).toBe('Played: Half');
    await expect.poll(() => stored(visit, 'Half')).toEqual([90, true, undefined]);
    await page.getByRole('button', { name: 'Undo' }).click();
    await isPressed('Played: Half', false);
    expect(await focused()).toBe('Played: Half');
    await expect.poll(() => stored(visit, 'Half')).toEqual([90, false, undefined]);

    await page.getByRole('button', { name: 'Back to the start: Half' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('1:30 of 10:00').waitFor({ state: 'detached' });
    expect(await focused()).toBe('Back to the start: Half');
    await expect.poll(() => stored(visit, 'Half')).toEqual([0, false, undefined]);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('1:30 of 10:00').waitFor();
    await expect.poll(() => stored(visit, 'Half')).toEqual([90, false, undefined]);

    await page.getByRole('button', { name: 'Favourite: Über Café' }).click();
    await page.getByText('Removed from favourites: Über Café').waitFor();
    await expect.poll(() => stored(visit, 'Über Café')).toEqual([90, undefined, false]);
    await page.getByRole('button', { name: 'Favourite: Half' }).click();
    await isPressed('Favourite: Half', true);
    await expect.poll(() => stored(visit, 'Half')).toEqual([90, false, true]);
  });

  it('opens the page of an episode, else its audio, in a new tab', async () => {
    const { page } = await visitHistory();
    for (const [title, url] of [
      ['Half', 'https://radio.example/half'],
      ['Über Café', 'https://cdn.example/d.mp3'],
    ]) {
      const link = page.getByRole('link', { name: `Open page: ${title}` });
      const attributes = ['href', 'target', 'rel'].map((name) => link.getAttribute(name));
      expect(await Promise.all(attributes)).toEqual([url, '_blank', 'noopener noreferrer']);
    }
    expect(await page.getByRole('link', { name: 'Open page: Ended' }).count()).toBe(0);
  });

  it('keeps changes without a network, and does not revert later ones of others', async () => {
    const visit = await visitHistory();
    const { page } = visit;
    const offline = page.getByText('No connection to the server.');
    await page.context().setOffline(true);
    await offline.waitFor();
    for (const name of ['Played: Half', 'Played: Ended', 'Favourite: Half', 'Played: Über Café'])
      await page.getByRole('button', { name }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    const isPressed = async (name: string) =>
      page.getByRole('button', { name }).getAttribute('aria-pressed');
    expect(await Promise.all(['Played: Half', 'Played: Über Café'].map(isPressed))).toEqual([
      'true',
      'false',
    ]);
    // On another device, later.
    await visit.upload(feed('radio'), [{ episode_guid: 'b', played_status: at(true) }]);
    await page.context().setOffline(false);
    await page.getByText('Another device has changed this episode in the meantime.').waitFor();
    await expect.poll(() => stored(visit, 'Half')).toEqual([90, true, true]);
    await expect.poll(() => stored(visit, 'Über Café')).toEqual([90, false, true]);
    expect(await stored(visit, 'Ended')).toEqual([undefined, true, undefined]);
    expect(await isPressed('Played: Ended')).toBe('true');
  });
});
