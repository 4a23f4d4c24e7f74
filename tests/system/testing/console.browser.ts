import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '#embedded';
import { freshUser, repository } from '#testing';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { onTestFailed } from 'vitest';
import { AccountBrowser } from '../../../apps/account/testing/account.browser.js';

/** Folder for screenshots of failed tests; not part of the repository. */
const pictures = join(repository, '.data', 'screenshots');

/** A browser in front of the whole system, with the console. */
export class ConsoleBrowser {
  private constructor(
    readonly account: AccountBrowser,
    readonly api: string,
  ) {}

  static async open(): Promise<ConsoleBrowser> {
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
      });
      return new ConsoleBrowser(account, api);
    } catch (error) {
      await account.close();
      throw error;
    }
  }

  /** A new user with the console open; a failed test draws the page. */
  async person(options: BrowserContextOptions = {}, path = '/console/'): Promise<Visit> {
    const { page, id } = await this.account.person(
      { javaScriptEnabled: true, ...options },
      freshUser(),
    );
    drawWhereItFails(page);
    const visit = new Visit(page, id, this.api);
    await page.goto(path);
    return visit;
  }

  close(): Promise<void> {
    return this.account.close();
  }
}

/** Draws the page if the current test fails. */
export function drawWhereItFails(page: Page): void {
  onTestFailed(async ({ task }) => {
    mkdirSync(pictures, { recursive: true });
    const name = task.name.replace(/\W+/g, '-').slice(0, 80);
    await page.screenshot({ path: join(pictures, `${name}.png`), timeout: 5_000 }).catch(() => {});
  });
}

/** A person at the console, and what that person's other devices do. */
export class Visit {
  private known: Promise<string> | undefined;

  constructor(
    readonly page: Page,
    readonly id: string,
    readonly api: string,
  ) {}

  /** A request of another device of this person. */
  async device(method: string, path: string, body?: object): Promise<unknown> {
    const answer = await fetch(this.api + path, {
      method,
      headers: {
        authorization: `Bearer ${await this.token()}`,
        'content-type': 'application/json',
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!answer.ok)
      throw new Error(
        `${method} ${path} was answered with ${answer.status}: ${await answer.text()}`,
      );
    return answer.json();
  }

  /** Subscribes on another device. */
  async subscribe(...feeds: string[]): Promise<void> {
    for (let at = 0; at < feeds.length; at += 1_000)
      await this.device('POST', '/subscriptions', {
        subscriptions: feeds.slice(at, at + 1_000).map((feed_url) => ({ feed_url })),
      });
  }

  /** Listens on another device, to so many episodes of a feed, one after the other. */
  async listen(feedUrl: string, episodes: readonly object[]): Promise<void> {
    const answer = await this.device('POST', '/subscriptions', {
      subscriptions: [{ feed_url: feedUrl }],
    });
    const [{ guid } = { guid: '' }] = (answer as { success: { guid: string }[] }).success;
    for (let at = 0; at < episodes.length; at += 250)
      await this.device('POST', '/episodes', {
        episodes: episodes.slice(at, at + 250).map((each) => ({ podcast_guid: guid, ...each })),
      });
  }

  /** The feeds that are subscribed to, by the server. */
  async feeds(): Promise<string[]> {
    const { subscriptions } = (await this.device('GET', '/subscriptions?per_page=250')) as {
      subscriptions: { feed_url: string; is_subscribed: boolean; deleted?: string }[];
    };
    return subscriptions
      .filter((each) => each.is_subscribed && !each.deleted)
      .map(({ feed_url }) => feed_url);
  }

  /** A token of this person; asked for once, while the browser has a network. */
  token(): Promise<string> {
    this.known ??= (async () => {
      const answer = await this.page.request.post('/console/token');
      return ((await answer.json()) as { access_token: string }).access_token;
    })();
    return this.known;
  }
}
