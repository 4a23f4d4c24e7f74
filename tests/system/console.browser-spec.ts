import { readFileSync } from 'node:fs';
import { eventually } from '#testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleFixture } from './testing/console.fixture.js';
import { feedsOf, opmlOf } from './testing/opml.js';

const feed = (name: string) => `https://${name}.example/feed.xml`;
const now = new Date().toISOString();

let fixture: ConsoleFixture;
beforeAll(async () => void (fixture = await ConsoleFixture.open()));
afterAll(() => fixture?.close());

describe('the podcasts page', () => {
  it('adds, finds, unsubscribes and subscribes again', async () => {
    const visit = await fixture.visit();
    const { page } = visit;
    await page.getByText('No podcasts yet.').waitFor();
    await page.getByLabel('Feed address').fill('not a feed address');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('This is not a feed address').waitFor();
    for (const name of ['first', 'second']) {
      await page.getByLabel('Feed address').fill(feed(name));
      await page.keyboard.press('Enter');
      await page.getByText(`Subscribed to ${name}.example`).waitFor();
    }
    expect((await visit.feeds()).sort()).toEqual([feed('first'), feed('second')]);

    await page.getByLabel('Search').fill('SECOND');
    await page.getByText('1 podcast', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Manage second.example' }).click();
    await page.getByRole('button', { name: 'Unsubscribe' }).click();
    await page.getByText('Unsubscribed from second.example').waitFor();
    expect(await visit.feeds()).toEqual([feed('first')]);

    await page.getByLabel('Show').selectOption('Unsubscribed');
    await page.getByRole('button', { name: 'Manage second.example' }).click();
    await page.getByRole('button', { name: 'Subscribe again' }).click();
    await page.getByText('Subscribed to second.example').waitFor();
    expect((await visit.feeds()).sort()).toEqual([feed('first'), feed('second')]);
  });

  it('undoes an unsubscription, in the list and on the page of the podcast', async () => {
    const visit = await fixture.visit({}, '/account');
    const { page } = visit;
    const position = { value: 60, timestamp: now };
    await visit.upload(feed('radio'), [{ episode_guid: 'a', playback_position: position }]);
    await page.goto('/console/');
    const manage = (name: string) => page.getByRole('button', { name });
    const undo = async (button: string) => {
      await manage(button).click();
      await page.getByRole('button', { name: 'Unsubscribe' }).click();
      await page.getByText('Unsubscribed from radio.example').waitFor();
      expect(await visit.feeds()).toEqual([]);
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByText('Subscribed to radio.example').waitFor();
      expect(await visit.feeds()).toEqual([feed('radio')]);
      await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Manage');
    };
    await undo('Manage radio.example');
    await page.getByRole('link', { name: 'radio.example' }).click();
    await page.getByText('1 episode', { exact: true }).waitFor();
    await undo('Manage');
    const { episodes } = (await visit.request('GET', '/episodes')) as {
      episodes: { playback_position: { value: number } }[];
    };
    expect(episodes.map(({ playback_position: { value } }) => value)).toEqual([60]);

    // A later change of the podcast replaces the offer.
    await manage('Manage').click();
    await page.getByRole('button', { name: 'Unsubscribe' }).click();
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    await manage('Manage').click();
    await page.getByRole('button', { name: 'Delete …' }).click();
    await page.getByRole('button', { name: 'Delete permanently' }).click();
    expect(await page.getByRole('button', { name: 'Undo' }).count()).toBe(0);
    await page.getByText('Deleted radio.example').waitFor();
  });

  it('changes the URL of a moved feed', async () => {
    const visit = await fixture.visit();
    const { page } = visit;
    const guid = 'f0b9b0b4-1d2c-4d4f-9a3f-3c0c5d6a7e01';
    await visit.request('POST', '/subscriptions', {
      subscriptions: [{ feed_url: feed('old'), guid }],
    });
    await page.getByRole('button', { name: 'Manage old.example' }).click();
    await page.getByLabel('New feed address').fill(feed('new'));
    await page.getByRole('button', { name: 'Change address' }).click();
    await page.getByText('Moved to new.example').waitFor();
    expect(await visit.feeds()).toEqual([feed('new')]);
    expect(await page.getByRole('button', { name: 'Manage old.example' }).count()).toBe(0);
  });

  it('searches, sorts and changes titles', async () => {
    const visit = await fixture.visit();
    const { page } = visit;
    await visit.request('POST', '/subscriptions', {
      subscriptions: [
        { feed_url: feed('third'), title: 'Über Café 10' },
        { feed_url: feed('first'), title: 'über café 9' },
        { feed_url: feed('second') },
      ],
    });
    const names = async () =>
      page.getByRole('listitem').locator('bdi:first-child').allTextContents();
    await page.getByLabel('Sort by').selectOption('Title');
    await page.getByText('3 podcasts', { exact: true }).waitFor();
    const sorted = ['second.example', 'über café 9', 'Über Café 10'];
    await eventually(async () =>
      expect((await names()).filter((name) => sorted.includes(name))).toEqual(sorted),
    );
    await page.getByLabel('Search').fill('UBER CAFE 1');
    await page.getByText('1 podcast', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Manage Über Café 10' }).click();
    await page.getByLabel('Title', { exact: true }).fill('Ubér');
    await page.getByRole('button', { name: 'Change title' }).click();
    await page.getByText('Renamed to Ubér').waitFor();
    await page.getByLabel('Search').fill('uber');
    await page.getByText('2 podcasts', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Manage Ubér' }).click();
    await page.getByLabel('Title', { exact: true }).fill('');
    await page.getByRole('button', { name: 'Change title' }).click();
    await page.getByText('Renamed to third.example').waitFor();
  });

  it('deletes after a confirmation and shows the progress', async () => {
    const visit = await fixture.visit();
    const { page } = visit;
    await visit.subscribe(feed('kept'), feed('unwanted'));
    await page.getByRole('button', { name: 'Manage unwanted.example' }).click();
    await page.getByRole('button', { name: 'Delete …' }).click();
    await page.getByText('It can’t be undone.').waitFor();
    expect(await visit.feeds()).toHaveLength(2);
    await page.getByRole('button', { name: 'Delete permanently' }).click();
    await page.getByText('deleting …').waitFor();
    await page.getByText('Deleted unwanted.example').waitFor();
    await page
      .getByRole('button', { name: 'Manage unwanted.example' })
      .waitFor({ state: 'detached' });
    expect(await visit.feeds()).toEqual([feed('kept')]);
  });
});

describe('a server without feeds', () => {
  it('has pages of podcasts with own titles and the history, and no new episodes', async () => {
    const visit = await fixture.visit();
    const { page } = visit;
    const position = { value: 60, timestamp: now };
    await visit.upload(feed('radio'), [
      { episode_guid: 'a', title: 'One', duration: 600, playback_position: position },
      { episode_guid: 'b', title: 'Two', played_status: { value: true, timestamp: now } },
    ]);
    await visit.upload(feed('other'), [{ episode_guid: 'c', playback_position: position }]);
    expect(await page.getByLabel('Sort by').getByRole('option').allTextContents()).not.toContain(
      'Newest episode',
    );
    await page.getByRole('link', { name: 'radio.example' }).click();
    await page.getByText('2 episodes', { exact: true }).waitFor();
    await page.getByLabel('Show').selectOption('Played');
    await page.getByText('1 episode', { exact: true }).waitFor();
    await page.getByText('Two', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Manage' }).click();
    await page.getByLabel('Title', { exact: true }).fill('Radio');
    await page.getByRole('button', { name: 'Change title' }).click();
    await page.getByRole('heading', { level: 1, name: 'Radio' }).waitFor();
    await page.getByRole('link', { name: 'New' }).click();
    await page.getByText('This server does not read feeds').waitFor();
  });
});

it('without feeds, an account of another server needs the operator', async () => {
  const { page } = await fixture.visit({}, '/console/data');
  await page.getByText('Its operator can import your account with the command').waitFor();
  expect(await page.getByLabel('Your password there').count()).toBe(0);
});

describe('an OPML file', () => {
  it('is imported with a result for each entry, and exported unchanged', async () => {
    const visit = await fixture.visit({ acceptDownloads: true }, '/console/data');
    const { page } = visit;
    const feeds = Array.from({ length: 600 }, (_, at) => feed(`podcast-${at}`));
    const buffer = Buffer.from(opmlOf([...feeds, 'ftp://no.example/feed']));
    await page
      .getByLabel('OPML file')
      .setInputFiles({ name: 'a.opml', mimeType: 'text/x-opml', buffer });
    await page.getByText('601 podcasts found.').waitFor();
    await page.getByRole('button', { name: 'Import 601 podcasts' }).click();
    await page.getByText('600 podcasts imported, 1 failed.').waitFor();
    const first = page
      .getByRole('list', { name: 'Results of the import' })
      .getByRole('listitem')
      .first();
    expect(await first.textContent()).toContain('The address is invalid.');

    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download OPML' }).click();
    const path = await (await download).path();
    const exported = feedsOf(readFileSync(path, 'utf8'));
    expect(exported.sort()).toEqual(feeds.sort());
  });

  it('of 5,000 shows its progress, and can be stopped', async () => {
    const visit = await fixture.visit({}, '/console/data');
    const { page } = visit;
    const feeds = Array.from({ length: 5_000 }, (_, at) => feed(`podcast-${at}`));
    const buffer = Buffer.from(opmlOf(feeds));
    await page
      .getByLabel('OPML file')
      .setInputFiles({ name: 'a.opml', mimeType: 'text/x-opml', buffer });
    await page.getByRole('button', { name: 'Import 5,000 podcasts' }).click();
    await page.getByText(/^(250|[5-7][05]0|1,\d{3}) of 5,000$/).waitFor();
    expect(await page.getByRole('progressbar', { name: 'Importing' }).getAttribute('max')).toBe(
      '5000',
    );
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText(/^Stopped after [\d,]+ of 5,000\.$/).waitFor();
    const { total } = (await visit.request('GET', '/subscriptions')) as { total: number };
    expect(total % 250).toBe(0);
    expect(total).toBeLessThan(5_000);
  });

  it.each([
    ['no XML', 'This is not an OPML file'],
    ['<rss><channel/></rss>', 'This is not an OPML file'],
    ['<opml><body><outline text="a"></body></opml>', 'This is not an OPML file'],
    [
      '<!DOCTYPE opml [<!ENTITY a "b">]><opml><body><outline text="&a;"/></body></opml>',
      'This is not an OPML file',
    ],
    ['<opml><body><outline text="a folder"/></body></opml>', 'contains no podcasts'],
  ])('that is damaged is rejected: %s', async (text, message) => {
    const { page } = await fixture.visit({}, '/console/data');
    await page
      .getByLabel('OPML file')
      .setInputFiles({ name: 'a.opml', mimeType: 'text/xml', buffer: Buffer.from(text) });
    await page.getByText(message).waitFor();
  });
});

describe('the page that waits for an app', () => {
  it('ends with its name, the time of the sync and the number of podcasts', async () => {
    const { page, api } = await fixture.visit({}, '/connect/kasts');
    await page.getByRole('button', { name: 'Make an app password' }).click();
    const secret = (await page.getByText(/^pst_/).textContent()) ?? '';
    const ask = (path: string, body?: object) =>
      fetch(api + path, {
        method: body ? 'POST' : 'GET',
        headers: { authorization: `Bearer ${secret.trim()}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });
    await page.getByRole('link', { name: 'Done' }).click();
    await page.getByRole('heading', { name: 'Waiting for Kasts' }).waitFor();
    expect((await ask('/subscriptions')).status).toBe(200);
    await page.getByText('The app has sent no podcasts yet.').waitFor();
    const subscriptions = ['one', 'two'].map((name) => ({ feed_url: `https://${name}.example/` }));
    expect((await ask('/subscriptions', { subscriptions })).status).toBe(200);
    await page.getByText(/^Kasts synced \d+ seconds? ago, 2 podcasts\.$/).waitFor();
    await page.getByRole('link', { name: 'Account' }).click();
    await page.getByText('2 podcasts, the same in all apps.').waitFor();
  });
});

describe('the account', () => {
  it('is linked in both directions, with the data export and the erasure', async () => {
    const { page } = await fixture.visit({ acceptDownloads: true }, '/console/data');
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download all data' }).click();
    expect((await download).suggestedFilename()).toBe('podcast-sync.json');
    await page.getByRole('link', { name: 'Erase account' }).click();
    await page.getByLabel('Enter your name').waitFor();
    await page.goto('/account');
    await page.getByRole('link', { name: 'Podcasts', exact: true }).click();
    await page.getByRole('link', { name: 'Account' }).click();
    await page.waitForURL('/account');
  });

  it('redirects unauthenticated visitors to sign in, and back afterwards', async () => {
    const page = await fixture.account.visitor({ javaScriptEnabled: true });
    await page.goto('/console/data');
    await page.waitForURL('/sign-in?next=%2Fconsole%2Fdata');
  });
});
