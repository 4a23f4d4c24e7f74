import type { Visit } from '../document.js';

/** Browsers in the order of lookup, since a user agent can also contain names of later ones. */
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

const firstMatchingName = (names: readonly (readonly [string, RegExp])[], userAgent: string) =>
  names.find(([, form]) => form.test(userAgent))?.[0];

/** Returns the browser and system of a user agent, such as "Firefox on Linux". */
export function browserName({ texts: { home } }: Visit, userAgent: string): string {
  const [browser, system] = [
    firstMatchingName(browserPatterns, userAgent),
    firstMatchingName(systemPatterns, userAgent),
  ];
  if (browser === undefined) return home.unknownBrowser;
  return system === undefined ? browser : home.browserOn(browser, system);
}
