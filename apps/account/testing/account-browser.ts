import { createHash, randomBytes } from 'node:crypto';
import axe from 'axe-core';
import pg from 'pg';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { freePort } from '#embedded';
import { type App, AppStack, freshUser } from '#testing';

const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

/** Runs headless, without sandbox (for containers) and without network requests of its own. */
const args = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/**
 * Hashes of styles that Chromium adds to its error document for broken XML. The policy of the page
 * blocks them without a visible effect.
 */
const brokenXmlStyles =
  /ICa0DhwZQJsOd\/Rn0N8H6FdQ71GfNL\+op2zhAQ\+Y4mM=|ZD0chCyBaNHl\+4UwQHJIHGoYhKwMeyCXGgJTKW5\/67E=/;

/** Timeout of a step of a browser in milliseconds. A step usually takes 100 ms. */
const stepMs = 30_000;

/** Password of all accounts that the tests create. */
export const password = 'correct horse battery';

/** Starts a browser with an empty profile. @throws Error without Chromium. */
export const launchBrowser = (): Promise<Browser> => chromium.launch({ executablePath, args });

/** Browser of the built account app, which has its own Postgres and Redis. */
export class AccountBrowser {
  private readonly contexts: BrowserContext[] = [];
  /** Reported violations of content security policies. */
  private readonly violations: string[] = [];

  private constructor(
    readonly stack: AppStack,
    readonly origin: string,
    readonly database: pg.Client,
    private readonly browser: Browser,
  ) {}

  /**
   * Starts browser, servers and apps.
   *
   * @param apps in addition to the account app.
   * @param host of the pages; passkeys need `localhost`, as an IP address has none.
   */
  static async open(
    environment: Readonly<Record<string, string>> = {},
    apps: readonly App[] = [],
    host = '127.0.0.1',
  ) {
    const browser = await launchBrowser();
    const stack = await AppStack.open();
    const origin = `http://${host}:${await freePort()}`;
    const database = new pg.Client({ connectionString: stack.postgres.url });
    // Tests of faults stop the server.
    database.on('error', () => {});
    const fixture = new AccountBrowser(stack, origin, database, browser);
    try {
      await database.connect();
      const own = { PUBLIC_URL: origin, PORT: new URL(origin).port, ...environment };
      await Promise.all([stack.start(['account'], own), stack.start(apps)]);
      return fixture;
    } catch (error) {
      await fixture.close();
      throw error;
    }
  }

  /** Opens a browser window without cookies, and without scripts, which no page needs. */
  async visitor(options: BrowserContextOptions = {}): Promise<Page> {
    const defaults = { baseURL: this.origin, locale: 'en-GB', javaScriptEnabled: false };
    const context = await this.browser.newContext({ ...defaults, ...options });
    context.setDefaultTimeout(stepMs);
    this.contexts.push(context);
    const page = await context.newPage();
    page.on('console', (message) => {
      const text = message.text();
      if (/Content Security Policy|Refused to/.test(text) && !brokenXmlStyles.test(text))
        this.violations.push(text);
    });
    return page;
  }

  /** Creates a link. @returns its path. */
  async link(
    kind: 'first' | 'invite' | 'reset' | 'verify',
    of: { accountId?: string; email?: string } = {},
  ) {
    const secret = randomBytes(32).toString('base64url');
    await this.database.query(
      `INSERT INTO account.links (hash, kind, account_id, email, expires_at)
       VALUES ($1, $2, $3, $4, now() + interval '1 hour')`,
      [createHash('sha256').update(secret).digest(), kind, of.accountId ?? null, of.email ?? null],
    );
    return `/links/${secret}`;
  }

  /** Creates an account by an invitation. @returns its page, signed in. */
  async person(
    options: BrowserContextOptions = {},
    name = freshUser(),
  ): Promise<{ page: Page; name: string; id: string }> {
    const page = await this.visitor(options);
    await page.goto(await this.link('invite'));
    await page.locator('[name=name]').fill(name);
    await page.locator('[name=password]').fill(password);
    await page.locator('main form button').last().click();
    await page.waitForURL('/connect');
    await page.goto('/account');
    const { rows } = await this.database.query('SELECT id FROM account.accounts WHERE name = $1', [
      name,
    ]);
    return { page, name, id: (rows[0] as { id: string }).id };
  }

  /** Registers an app (RFC 7591). @returns its client id. */
  async app(name: string, redirectUri: string): Promise<string> {
    const answer = await this.post(
      '/reg',
      JSON.stringify({ client_name: name, redirect_uris: [redirectUri] }),
    );
    return (answer as { client_id: string }).client_id;
  }

  /** Returns the path of an authorization request, and its verifier (RFC 7636). */
  authorization(clientId: string, redirectUri: string): { path: string; verifier: string } {
    const verifier = randomBytes(32).toString('base64url');
    const query = new URLSearchParams({
      client_id: clientId,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'openid read:subscriptions write:subscriptions offline_access',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      state: 'a-state',
    });
    return { path: `/auth?${query.toString()}`, verifier };
  }

  /** Starts the sign-in of a device (RFC 8628, 3.1). */
  async device(): Promise<{
    user_code: string;
    device_code: string;
    verification_uri_complete: string;
  }> {
    const form = new URLSearchParams({
      client_id: 'podcast-sync-cli',
      scope: 'read:subscriptions write:subscriptions',
    });
    return (await this.post('/device/auth', form)) as Awaited<ReturnType<AccountBrowser['device']>>;
  }

  /** Sends a token request. */
  token(parameters: Record<string, string>): Promise<Record<string, unknown>> {
    return this.post('/token', new URLSearchParams(parameters)) as Promise<Record<string, unknown>>;
  }

  /** Starts a login flow. @returns the path for the browser, and the poll token. */
  async loginFlow(userAgent: string): Promise<{ path: string; token: string }> {
    const [token, login] = [randomBytes(32), randomBytes(32)].map((bytes) =>
      bytes.toString('base64url'),
    ) as [string, string];
    const hashed = (value: string) => createHash('sha256').update(value).digest();
    await this.database.query(
      `INSERT INTO account.logins
         (poll_hash, login_hash, user_agent, address, network, server, expires_at)
       VALUES ($1, $2, $3, '192.0.2.7', '192.0.2.7', 'https://podcasts.example',
         now() + interval '20 minutes')`,
      [hashed(token), hashed(login), userAgent],
    );
    return { path: `/login/v2/flow/${login}`, token };
  }

  private async post(path: string, body: string | URLSearchParams): Promise<unknown> {
    const headers = typeof body === 'string' ? { 'content-type': 'application/json' } : undefined;
    const answer = await fetch(this.origin + path, {
      method: 'POST',
      body,
      ...(headers && { headers }),
    });
    return answer.json();
  }

  /** Backdates the sign-ins of an account by 6 minutes, so that approvals ask for a new sign-in. */
  async backdateSignIns(accountId: string): Promise<void> {
    await this.database.query(
      `UPDATE account.sessions SET authenticated_at = now() - interval '6 minutes'
       WHERE account_id = $1`,
      [accountId],
    );
  }

  /** Stops browser and servers. @throws Error if a page violated its content security policy. */
  async close(): Promise<void> {
    await this.database.end().catch(() => {});
    await this.browser.close();
    await this.stack.close();
    if (this.violations.length > 0) throw new Error(this.violations.join('\n'));
  }
}

/** Finding of axe, short enough for the output of a failed test. */
export interface Finding {
  readonly rule: string;
  readonly targets: readonly string[];
  readonly help: string;
}

/**
 * Returns the findings of axe on a page (WCAG 2.2 A and AA, and best practices). Runs even if the
 * page's policy allows no scripts.
 *
 * @param rule limits the check to one rule.
 */
export async function findings(page: Page, rule?: string): Promise<Finding[]> {
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: axe.source });
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
    expression: `axe.run(${JSON.stringify(rule === undefined ? {} : { runOnly: [rule] })})
      .then(({ violations, incomplete }) => [...violations, ...incomplete]
        .map(({ id, help, nodes }) => ({
          rule: id, help, targets: nodes.map(({ target }) => target.join(' ')),
        })))`,
    awaitPromise: true,
    returnByValue: true,
  });
  await session.detach();
  if (exceptionDetails) throw new Error(`axe did not run: ${exceptionDetails.text}`);
  return result.value as Finding[];
}

/** Returns true if a page fits into the width of the screen. */
export async function fits(page: Page): Promise<boolean> {
  const session = await page.context().newCDPSession(page);
  const { result } = await session.send('Runtime.evaluate', {
    expression: 'document.documentElement.scrollWidth <= document.documentElement.clientWidth',
  });
  await session.detach();
  return result.value === true;
}
