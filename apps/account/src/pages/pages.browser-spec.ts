import { afterAll, beforeAll, expect, it } from 'vitest';
import { AccountBrowser, type Finding, findings, fits } from '../../testing/account-browser.js';
import { everyPage } from '../../testing/page-walk.js';

/** The smallest viewport of WCAG 2.2 (1.4.10). */
const phone = { width: 320, height: 640 };

/** Some forty pages take a second or two each on a busy machine. */
const walkMs = 900_000;

let fixture: AccountBrowser;
beforeAll(async () => {
  // No mail server: the test reads no mail.
  const settings = { REGISTRATION: 'open', SMTP_URL: 'smtp://127.0.0.1:9' };
  fixture = await AccountBrowser.open(settings, [], 'localhost');
});
afterAll(() => fixture.close());

it.each(['en-GB', 'de-DE'])(
  'every page is accessible in light and dark and fits a phone, in %s',
  { timeout: walkMs },
  async (locale) => {
    const problems: unknown[] = [];
    // Scripts are on because axe is a script. Pages have none, and other tests turn scripts off.
    for await (const { name, page } of everyPage(fixture, {
      javaScriptEnabled: true,
      locale,
      viewport: { width: 1_000, height: 800 },
    })) {
      // Content does not depend on colours, so the dark scheme is only checked for contrast.
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
  },
);
