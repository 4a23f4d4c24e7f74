import type { Visit } from '../document.js';

/** Browsers in the order of lookup. A user agent can also contain names from later rows. */
const browserPatterns = [
  ['Edge', /\bEdgA?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Vivaldi', /\bVivaldi\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:Chrome|CriOS|HeadlessChrome)\//],
  ['Safari', /\bSafari\//],
] as const;

const systemPatterns = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMacintosh\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b/],
] as const;

const findMatchingName = (rows: readonly (readonly [string, RegExp])[], userAgent: string) =>
  rows.find(([, pattern]) => pattern.test(userAgent))?.[0];

/** Returns browser and operating system of a user agent, such as "Firefox on Linux". */
export function browserName({ texts: { home } }: Visit, userAgent: string): string {
  const [browser, system] = [
    findMatchingName(browserPatterns, userAgent),
    findMatchingName(systemPatterns, userAgent),
  ];
  if (browser === undefined) return home.unknownBrowser;
  return system === undefined ? browser : home.browserOn(browser, system);
}
