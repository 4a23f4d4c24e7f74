/** In the order of lookup: user agents of later ones also contain names of earlier ones. */
const browsers = [
  ['Edge', /\bEdgA?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Vivaldi', /\bVivaldi\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:Chrome|CriOS|HeadlessChrome)\//],
  ['Safari', /\bSafari\//],
] as const;

const systems = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMacintosh\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b/],
] as const;

/** Returns browser and system of a user agent for the list of sessions. */
export function browserOf(userAgent: string): {
  browser: string | undefined;
  system: string | undefined;
} {
  const find = (names: readonly (readonly [string, RegExp])[]) =>
    names.find(([, form]) => form.test(userAgent))?.[0];
  return { browser: find(browsers), system: find(systems) };
}
