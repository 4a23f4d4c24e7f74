import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, LaunchedSystem, readmeCalls, repository, withoutStamps } from '#testing';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from '../../apps/account/testing/account-browser.js';
import { RecordedApp } from '../clients/testing/recorded-app.js';
import { screenshotOnFailure } from './testing/console.fixture.js';
import { Newcomer } from './testing/newcomer.js';
import { feedsOf, opmlOf } from './testing/opml.js';

const password = 'the password of a new user';

/** Maximum actions from the printed link to the first synced position in the console. */
const limits = { clicks: 6, fields: 2 };

let root: string;
let system: LaunchedSystem;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'first-steps-'));
  // Postgres runs as another user when root runs the tests.
  chmodSync(root, 0o711);
  [browser, system] = await Promise.all([
    launchBrowser(),
    LaunchedSystem.start({ data: join(root, 'data') }),
  ]);
  page = await (await browser.newContext({ javaScriptEnabled: false, locale: 'en-GB' })).newPage();
});
afterAll(async () => {
  await browser?.close();
  await system?.stop();
  rmSync(root, { recursive: true, force: true });
});

/** Runs a command of the README unchanged, with this server as BASE. */
function runCommand(
  command: string,
  variables: Readonly<Record<string, string>> = {},
): ChildProcess {
  const env = { ...process.env, BASE: system.baseUrl, ...variables };
  return spawn('bash', ['-c', command], {
    cwd: repository,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function outputOf(stream: ChildProcess['stdout']): () => string {
  let text = '';
  stream?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  return () => text;
}

/** Returns the link that `npm start` printed. */
const printedLink = () => /^ {2}(http:\/\/\S+\/links\/\S+)$/m.exec(system.output)?.[1] ?? '';

/** Returns a link that creates another account. */
function invitation(): string {
  const command = `npm run -s accounts -- invite --data '${join(root, 'data')}'`;
  const output = execFileSync('bash', ['-c', command], { cwd: repository, encoding: 'utf8' });
  return /http:\/\/\S+\/links\/\S+/.exec(output)?.[0] ?? '';
}

describe('a newcomer', () => {
  it.each([
    ['en-GB', 'the printed link', printedLink],
    ['de-DE', 'an invitation', invitation],
  ])(
    'sees the first position of AntennaPod after few clicks (%s, by %s)',
    async (locale, _, findLink) => {
      const context = await browser.newContext({ locale });
      const person = new Newcomer(locale.slice(0, 2));
      const visited = await context.newPage();
      screenshotOnFailure(visited);
      const name = `newcomer-${locale.slice(0, 2)}`;
      await visited.goto(findLink());
      await person.look(visited, '1-registration');
      await person.type(visited.locator('[name=name]'), name);
      await person.type(visited.locator('[name=password]'), password);
      await person.click(visited.locator('main form button:not([type=button])'));
      await visited.waitForURL('**/connect');
      await person.look(visited, '2-connect');
      await person.click(visited.locator('a[href="/connect/antennapod"]'));
      await visited.waitForURL('**/connect/antennapod');
      await person.look(visited, '3-steps');

      // In the app the person types the address, and a browser opens.
      const server = system.baseUrl;
      const agent = 'AntennaPod/3.12.0';
      const login = RecordedApp.open('login.flow.form', { server });
      await login.play('begin', { agent });
      const opened = await context.newPage();
      await opened.goto(String(login.state['login']));
      await person.look(opened, '4-approval');
      await person.click(opened.locator('[value=allow]'));
      await opened.waitForURL('**/done');
      await person.look(opened, '5-allowed');
      await login.play('end', { agent, server, name });

      await person.click(visited.locator('a[href*="/wait"]'));
      await visited.locator('[data-wait=app]').waitFor();
      await person.look(visited, '6-waiting');
      const app = RecordedApp.open('antennapod.nextcloud', {
        server,
        user: name,
        password: String(login.state['appPassword']),
      });
      const feeds = { feed: 'https://night-sky.example/feed', other: 'https://atlas.example/rss' };
      await app.play('first sync', feeds);
      // The page notices the app without a click.
      await visited.locator('main .notice.good').waitFor();
      await person.look(visited, '7-connected');
      await person.click(visited.locator('main a.button[href="/console/"]'));
      await visited.locator(`main a[href^="/console/podcast"]`).nth(1).waitFor();
      await person.look(visited, '8-podcasts');
      await person.click(visited.locator('nav a[href="/console/history"]'));
      await visited.getByText('5:00').waitFor();
      await person.look(visited, '9-history');
      await context.close();

      console.log(`${name}: ${JSON.stringify(person.actions)}`);
      expect(person.actions.clicks).toBeLessThanOrEqual(limits.clicks);
      expect(person.actions.fields).toBeLessThanOrEqual(limits.fields);
    },
  );
});

describe('the first steps of a new user', () => {
  const readme = readmeCalls();
  let token: string;

  it('an account is created by a link, once', async () => {
    const link = invitation();
    await page.goto(link);
    await page.getByLabel('Name').fill('ann');
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.locator('main form button').last().click();
    await page.waitForURL(`${system.baseUrl}/connect`);
    await page.goto(link);
    expect(await page.locator('input[type=password]').count()).toBe(0);
    await page.getByRole('link', { name: 'Your account' }).click();
    await page.waitForURL(`${system.baseUrl}/account`);
  });

  it('a device code that the command line shows is approved in the browser', async () => {
    const login = runCommand(`${readme.token} && echo "$TOKEN"`);
    const [shown, printed] = [outputOf(login.stderr), outputOf(login.stdout)];
    const linkShown = /(http:\/\/\S+\/device\S*)/;
    await eventually(() => expect(shown()).toMatch(linkShown), { timeout: 60_000 });
    const ended = once(login, 'close');
    await page.goto(linkShown.exec(shown())?.[1] ?? '');
    await page.locator('main form button').last().click();
    await page.locator('[value=allow]').click();
    expect(await ended).toEqual([0, null]);
    token = printed().trim();
    expect(token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
  });

  it("the README's five calls print its output", () => {
    expect(readme.calls).toHaveLength(5);
    for (const { command, output } of readme.calls) {
      const script = `BASE='${system.baseUrl}'; TOKEN='${token}'; ${readme.define}; ${command}`;
      const answer = execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trimEnd();
      expect(withoutStamps(answer)).toBe(withoutStamps(output));
    }
  });

  it('the token of an ended access is rejected immediately', async () => {
    const status = async () => {
      const headers = { authorization: `Bearer ${token}` };
      return (await fetch(`${system.baseUrl}/subscriptions`, { headers })).status;
    };
    expect(await status()).toBe(200);
    await page.goto(`${system.baseUrl}/account`);
    const clicked = performance.now();
    await page.locator('form[action="/apps/end"] button').click();
    await eventually(async () => expect(await status()).toBe(401), { timeout: 10_000 });
    console.log(`rejected ${Math.round(performance.now() - clicked)} ms after the click`);
    await page.goto(`${system.baseUrl}/account`);
    expect(await page.locator('form[action="/apps/end"]').count()).toBe(0);
  });

  it('the console imports a list of 500 podcasts, shows and exports it unchanged', async () => {
    const context = await browser.newContext({ locale: 'en-GB', baseURL: system.baseUrl });
    const visitor = await context.newPage();
    screenshotOnFailure(visitor);
    await visitor.goto('/console/data');
    await visitor.getByLabel('Name').fill('ann');
    await visitor.getByLabel('Password', { exact: true }).fill(password);
    await visitor.locator('main form button').last().click();
    const feeds = Array.from(
      { length: 500 },
      (_, at) => `https://podcast-${at}.example/feed.xml?a=1&b=${at}`,
    );
    const buffer = Buffer.from(opmlOf(feeds));
    await visitor
      .getByLabel('OPML file')
      .setInputFiles({ name: 'my.opml', mimeType: 'text/x-opml', buffer });
    await visitor.getByRole('button', { name: 'Import 500 podcasts' }).click();
    await visitor.getByText('500 podcasts imported.').waitFor();
    const download = visitor.waitForEvent('download');
    await visitor.getByRole('button', { name: 'Download OPML' }).click();
    const exported = feedsOf(readFileSync(await (await download).path(), 'utf8'));
    // The last one is of the README's calls.
    expect(exported.sort()).toEqual([...feeds, 'https://podnews.net/rss'].sort());
    await visitor.getByRole('link', { name: 'Podcasts', exact: true }).click();
    await visitor.getByText('501 podcasts', { exact: true }).waitFor();
    await visitor.getByLabel('Search').fill('podcast-499.');
    await visitor.getByRole('button', { name: 'Manage Podcast 499' }).waitFor();
    await context.close();
  });
});
