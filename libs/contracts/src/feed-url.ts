import { textLimits } from './limits.js';

// The rules for feed URLs that the server and the SDK share (docs/reference/subscriptions.md,
// "Subscriptions", "Derived guids"). The SDK's package contains this file, so it imports nothing of
// Node and no package.

/** The namespace `ead4c236-bf58-58c6-a2c6-a6b28d128cb6` (podcast namespace, `podcast:guid`). */
const podcastNamespace = Uint8Array.from([
  0xea, 0xd4, 0xc2, 0x36, 0xbf, 0x58, 0x58, 0xc6, 0xa2, 0xc6, 0xa6, 0xb2, 0x8d, 0x12, 0x8c, 0xb6,
]);

/** The hex digits of each byte value, computed once, because a batch derives hundreds of guids. */
const hexByByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** A function that returns the SHA-1 of a namespace followed by the UTF-8 of a name. */
type NameHash = (namespace: Uint8Array, name: string) => Uint8Array;

/**
 * Matches URLs that normalization would not change: ASCII letters, digits and reserved characters,
 * a host of names in lower case, no port, no percent-encoding. It does not exclude dot segments.
 */
const normalizedPattern = /^https?:\/\/(?:[a-z\d-]+\.)+[a-z]+\/[\w~!$&()*+,;=:@/?#.-]*$/;

/** Characters that RFC 3986 forbids in URLs, but that the URL Standard keeps in some parts. */
const forbiddenCharacters = /[\^`{|}\\]/g;

/**
 * Returns a URL without surrounding white space, normalized by RFC 3986, 6.2.2 and 6.2.3: case of
 * scheme, host and percent-encodings, percent-encodings of unreserved characters, dot segments,
 * default port, empty path; and IDN as punycode. Returns an invalid URL unchanged.
 */
export function normalizedUrl(url: string): string {
  const trimmedUrl = url.trim();
  // Returns a normalized URL early, because this check takes a tenth of the time of `URL`.
  if (normalizedPattern.test(trimmedUrl) && !trimmedUrl.includes('/.')) return trimmedUrl;
  try {
    return new URL(trimmedUrl).href
      .replace(forbiddenCharacters, encodeURIComponent)
      .replace(/%[\da-f]{2}/gi, normalizeCode);
  } catch {
    return trimmedUrl;
  }
}

function normalizeCode(code: string): string {
  const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
  return /[\w.~-]/.test(character) ? character : code.toUpperCase();
}

/**
 * Returns the form by which URLs are compared: two URLs are equal if and only if their forms are
 * identical (docs/reference/subscriptions.md, "Equal URLs"). The form is the normalized URL without
 * percent-encoding, because some clients send decoded URLs. The form is not always a valid URL.
 */
export function comparableUrl(url: string): string {
  const normalized = normalizedUrl(url);
  if (!normalized.includes('%')) return normalized;
  // Does not decode %00, because Postgres cannot store NUL.
  return normalized.replace(/(?:%(?!00)[\dA-F]{2})+/g, (codes) => {
    try {
      return decodeURIComponent(codes);
    } catch {
      return codes;
    }
  });
}

/** Returns true if two feed URLs are equal, see {@link comparableUrl}. */
export function areEqualUrls(one: string, other: string): boolean {
  return one === other || comparableUrl(one) === comparableUrl(other);
}

/** Returns true if two URLs differ at most in scheme and trailing slashes. */
export function areAlikeUrls(one: string, other: string): boolean {
  return removeScheme(one) === removeScheme(other);
}

/**
 * Returns the guid for a feed whose document has none: UUIDv5 of its normalized URL without scheme
 * and trailing slashes (podcast namespace, `podcast:guid`).
 *
 * @param sha1 hash function of the caller, because browsers have no SHA-1 on http pages.
 */
export function derivedGuid(feedUrl: string, sha1: NameHash): string {
  return uuidOf(sha1(podcastNamespace, removeScheme(normalizedUrl(feedUrl))), 5);
}

/** Returns a URL without scheme and trailing slashes. */
function removeScheme(url: string): string {
  const schemelessUrl = url.replace(/^[a-z][a-z\d+.-]*:\/\//i, '');
  // Uses no regular expression, because /\/+$/ takes quadratic time in the number of slashes.
  let end = schemelessUrl.length;
  while (schemelessUrl[end - 1] === '/') end -= 1;
  return schemelessUrl.slice(0, end);
}

/** Returns the first 16 bytes as a UUID of this version (RFC 9562, 4). */
export function uuidOf(bytes: Uint8Array, version: 4 | 5): string {
  let uuid = '';
  for (let index = 0; index < 16; index++) {
    let byte = bytes[index] ?? 0;
    if (index === 6) byte = (byte & 0x0f) | (version << 4);
    if (index === 8) byte = (byte & 0x3f) | 0x80;
    uuid +=
      index === 4 || index === 6 || index === 8 || index === 10
        ? `-${hexByByte[byte]}`
        : hexByByte[byte];
  }
  return uuid;
}

/**
 * Returns why a text is invalid: too long, or not storable in Postgres or JSON; `undefined` for a
 * valid text. In a message, the result follows the name of the field.
 *
 * @param limit maximum bytes of UTF-8.
 */
export function faultInText(text: string, limit: number): string | undefined {
  // Encodes the text only if necessary. A UTF-16 unit takes one to three bytes of UTF-8.
  const isLong =
    text.length > limit ||
    (text.length * 3 > limit && new TextEncoder().encode(text).length > limit);
  if (isLong) return `is longer than ${limit} bytes`;
  if (text.includes('\0')) return 'contains a NUL character';
  if (/\p{Surrogate}/u.test(text)) return 'is not valid Unicode';
  return undefined;
}

/** Matches a scheme and its colon, but no host and port such as `example.com:8080`. */
const schemePattern = /^[a-z][a-z\d+.-]*:(?!\d)/i;

/** Message for a URL without a scheme, as in the example of the Open Podcast API. */
export const noProtocol = 'No protocol present';

/**
 * Returns the error message for a feed URL, `undefined` for a valid one
 * (docs/reference/subscriptions.md, "Subscriptions"). A valid URL is an absolute http or https URL
 * with a host and without white space.
 */
export function faultInHttpUrl(url: string): string | undefined {
  return findUrlFault(url, /\s/);
}

/** Like {@link faultInHttpUrl}, for URLs of episodes, which contain spaces in some feeds. */
export function faultInSpacedUrl(url: string): string | undefined {
  return findUrlFault(url);
}

/** Matches nearly all valid URLs: a host of ASCII names and a path of visible ASCII. */
const ordinaryUrlPattern = /^https?:\/\/(?:[a-z\d-]{1,63}\.){1,8}[a-z]{2,63}(?:[/?#][!-~]*)?$/i;

function findUrlFault(url: string, forbiddenSpace?: RegExp): string | undefined {
  // This check takes a fifth of the time of the checks below. Long URLs and URLs in punycode need
  // all checks, because their hosts can be invalid.
  if (url.length <= 250 && ordinaryUrlPattern.test(url) && !/xn--/i.test(url)) return undefined;
  const fault = faultInText(url, textLimits.url);
  if (fault !== undefined) return `The URL ${fault}`;
  if (/\p{Cc}/u.test(url)) return 'The URL contains a control character';
  if (forbiddenSpace?.test(url)) return 'The URL contains white space';
  if (!schemePattern.test(url)) return noProtocol;
  if (!/^https?:/i.test(url)) return 'The URL is neither http nor https';
  if (!/^https?:\/\/[^/\\?#]/i.test(url) || !canParse(url)) return 'The URL has no valid host';
  return undefined;
}

/** Returns true for a valid URL. The common case, a URL of ASCII, creates no object. */
function canParse(url: string): boolean {
  return /\P{ASCII}/u.test(url) ? parseUrl(url) !== undefined : URL.canParse(url);
}

/**
 * Returns a URL (URL Standard, 4.4), or undefined if it is invalid. It does not use `URL.canParse`
 * of Node 20, which returns false for non-ASCII Latin-1 text once V8 has compiled the call.
 */
export function parseUrl(url: string, base?: string | URL): URL | undefined {
  try {
    return new URL(url, base);
  } catch {
    return undefined;
  }
}
