import { createHash } from 'node:crypto';

/** Domains of hosting companies that give each podcast a host name. Each domain is one lane. */
const hostingDomains = [
  'blogspot.com',
  'libsyn.com',
  'letscast.fm',
  'podbean.com',
  'podigee.io',
  'substack.com',
  'tumblr.com',
  'wordpress.com',
];

/**
 * Returns the key of a feed: the SHA-256 of its exact URL. A person who knows the exact URL could
 * fetch the feed, so a row that two followers share reveals nothing to either.
 */
export function feedKey(url: string): Buffer {
  return createHash('sha256').update(url).digest();
}

/** Returns the lane of a feed: its domain if in {@link hostingDomains}, else its host. */
export function laneOf(url: string): string {
  const host = new URL(url).hostname.replace(/\.$/, '');
  const lane = hostingDomains.find((domain) => host.endsWith(`.${domain}`)) ?? host;
  // A lane is the key of an index, which has a maximum size. Names in DNS are shorter.
  return lane.slice(0, 255);
}

/** Patterns of private feeds of known companies: host, and path with query (`rest`). */
const privateFeeds: readonly { readonly host: RegExp; readonly rest?: RegExp }[] = [
  { host: /(?:^|\.)patreon\.com$/, rest: /[?&]auth=/ },
  { host: /(?:^|\.)memberful(?:content)?\.com$/, rest: /[?&]auth=/ },
  { host: /(?:^|\.)supercast\.(?:com|tech)$/, rest: /^\/feeds\// },
  { host: /(?:^|\.)supportingcast\.(?:fm|co|cc)$/, rest: /^\/content\// },
  { host: /(?:^|\.)substack\.com$/, rest: /\/private\// },
  { host: /(?:^|\.)(?:redcircle\.com|podcache\.net)$/, rest: /\/pf\// },
  { host: /(?:^|\.)castos\.com$/, rest: /[?&]uuid=/ },
  { host: /(?:^|\.)npr\.org$/, rest: /[?&]uid=/ },
  { host: /^my\.slate\.com$/, rest: /^\/subscriptions\// },
  { host: /^feed\.pod\.co$/, rest: /^\/[a-z\d-]{36}\/[a-z\d-]{36}/i },
  { host: /^(?:subscribers\.transistor|private\.captivate)\.fm$/ },
  { host: /^access\.acast\.com$/ },
  { host: /^rss\.stratechery\.com$/ },
];

/** Matches names of query parameters that contain secrets. */
const secretParameter = /^(?:.*[_-])?(?:auth|token|key|secret|sig|signature|pass|password|uid)$/i;
/** Minimum length of a secret, in characters. */
const minSecret = 12;

/**
 * Returns true if the URL of a feed looks private: it has credentials, matches
 * {@link privateFeeds}, or has a parameter with a secret. A random path is not a sign of a private
 * feed, because many public feeds have UUIDs in their paths.
 */
export function isPrivate(feedUrl: string): boolean {
  const url = new URL(feedUrl);
  if (url.username !== '' || url.password !== '') return true;
  const rest = url.pathname + url.search;
  const matches = privateFeeds.some(
    (form) => form.host.test(url.hostname) && (form.rest?.test(rest) ?? true),
  );
  return (
    matches ||
    [...url.searchParams].some(
      ([name, value]) => secretParameter.test(name) && value.length >= minSecret,
    )
  );
}
