import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '#embedded';
import { freshUser, repository } from '#testing';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { onTestFailed } from 'vitest';
import { AccountBrowser } from '../../../apps/account/testing/account-browser.js';

/** Folder for screenshots of failed tests; not part of the repository. */
const screenshots = join(repository, '.data', 'screenshots');

/** The whole system with the console, and a browser. */
export class ConsoleFixture {
  private constructor(
    readonly account: AccountBrowser,
    readonly api: string,
  ) {}

  /** @param feeds settings of the feed service. Default: the server has no feeds. */
  static async open(feeds?: Readonly<Record<string, string>>): Promise<ConsoleFixture> {
    const port = String(await freePort());
    const api = `http://127.0.0.1:${port}`;
    const account = await AccountBrowser.open({ API_URLS: api }, [
      'subscription',
      'episode',
      'deletion-worker',
    ]);
    try {
      const issuers = `urn:podcast-sync:tests,${account.origin}`;
      await account.stack.start(['gateway'], {
        PORT: port,
        AUTH_ISSUER: issuers,
        AUTH_OWN_ISSUER: issuers,
        AUTH_JWKS_URL: `${account.origin}=${account.origin}/jwks`,
        AUTH_APP_PASSWORDS: 'on',
        CORS_ORIGINS: account.origin,
        ...(feeds && { FEEDS: 'fetched' }),
      });
      if (feeds) await account.stack.start(['feed'], feeds);
      return new ConsoleFixture(account, api);
    } catch (error) {
      await account.close();
      throw error;
    }
  }

  /** Opens the console for a new user. A failed test leaves a screenshot. */
  async visit(options: BrowserContextOptions = {}, path = '/console/'): Promise<Visit> {
    const { page, id } = await this.account.person(
      { javaScriptEnabled: true, ...options },
      freshUser(),
    );
    screenshotOnFailure(page);
    const visit = new Visit(page, id, this.api);
    await page.goto(path);
    return visit;
  }

  close(): Promise<void> {
    return this.account.close();
  }
}

/** Stores a screenshot of the page if the current test fails. */
export function screenshotOnFailure(page: Page): void {
  onTestFailed(async ({ task }) => {
    mkdirSync(screenshots, { recursive: true });
    const name = task.name.replace(/\W+/g, '-').slice(0, 80);
    await page
      .screenshot({ path: join(screenshots, `${name}.png`), timeout: 5_000 })
      .catch(() => {});
  });
}

/** The console page of a user, and requests of the user's other devices. */
export class Visit {
  private requestedToken: Promise<string> | undefined;

  constructor(
    readonly page: Page,
    readonly id: string,
    readonly api: string,
  ) {}

  /** Sends a request from another device and returns the JSON answer. @throws Error on failure. */
  async request(method: string, path: string, body?: object): Promise<unknown> {
    const answer = await fetch(this.api + path, {
      method,
      headers: {
        authorization: `Bearer ${await this.token()}`,
        'content-type': 'application/json',
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!answer.ok)
      throw new Error(`${method} ${path} answered ${answer.status}: ${await answer.text()}`);
    return answer.json();
  }

  /** Subscribes on another device. */
  async subscribe(...feeds: string[]): Promise<void> {
    for (let at = 0; at < feeds.length; at += 1_000)
      await this.request('POST', '/subscriptions', {
        subscriptions: feeds.slice(at, at + 1_000).map((feed_url) => ({ feed_url })),
      });
  }

  /** Uploads episodes of a feed from another device, in their order. */
  async upload(feedUrl: string, episodes: readonly object[]): Promise<void> {
    const answer = await this.request('POST', '/subscriptions', {
      subscriptions: [{ feed_url: feedUrl }],
    });
    const [{ guid } = { guid: '' }] = (answer as { success: { guid: string }[] }).success;
    for (let at = 0; at < episodes.length; at += 250)
      await this.request('POST', '/episodes', {
        episodes: episodes.slice(at, at + 250).map((each) => ({ podcast_guid: guid, ...each })),
      });
  }

  /** Returns the feed URLs of the server's current subscriptions. */
  async feeds(): Promise<string[]> {
    const { subscriptions } = (await this.request('GET', '/subscriptions?per_page=250')) as {
      subscriptions: { feed_url: string; is_subscribed: boolean; deleted?: string }[];
    };
    return subscriptions
      .filter((each) => each.is_subscribed && !each.deleted)
      .map(({ feed_url }) => feed_url);
  }

  /** Returns a token of the user. The first call needs the network of the browser. */
  token(): Promise<string> {
    this.requestedToken ??= (async () => {
      const answer = await this.page.request.post('/console/token');
      return ((await answer.json()) as { access_token: string }).access_token;
    })();
    return this.requestedToken;
  }
}
