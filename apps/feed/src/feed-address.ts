import { createHash } from 'node:crypto';

/**
 * Domains of hosting companies that give each podcast a host name of its own. All hosts of such a
 * domain share one lane, because they usually share servers.
 */
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
 * Returns the key of a feed: the SHA-256 of its exact URL. All followers of a URL share one stored
 * feed. The stored feed reveals nothing to them, because they could fetch the URL themselves.
 */
export function feedKey(url: string): Buffer {
  return createHash('sha256').update(url).digest();
}

/**
 * Returns the lane of a feed: its domain if that is in {@link hostingDomains}, else its host. Only
 * one feed of a lane is fetched at a time.
 */
export function laneOf(url: string): string {
  const host = new URL(url).hostname.replace(/\.$/, '');
  const lane = hostingDomains.find((domain) => host.endsWith(`.${domain}`)) ?? host;
  // Lanes are keys of an index, and Postgres limits the size of these keys. Names in DNS are
  // shorter.
  return lane.slice(0, 255);
}

/**
 * Patterns of the URLs of private feeds of known companies. Without `pathAndQuery`, all feeds of
 * the host are private.
 */
const privateFeeds: readonly { readonly host: RegExp; readonly pathAndQuery?: RegExp }[] = [
  { host: /(?:^|\.)patreon\.com$/, pathAndQuery: /[?&]auth=/ },
  { host: /(?:^|\.)memberful(?:content)?\.com$/, pathAndQuery: /[?&]auth=/ },
  { host: /(?:^|\.)supercast\.(?:com|tech)$/, pathAndQuery: /^\/feeds\// },
  { host: /(?:^|\.)supportingcast\.(?:fm|co|cc)$/, pathAndQuery: /^\/content\// },
  { host: /(?:^|\.)substack\.com$/, pathAndQuery: /\/private\// },
  { host: /(?:^|\.)(?:redcircle\.com|podcache\.net)$/, pathAndQuery: /\/pf\// },
  { host: /(?:^|\.)castos\.com$/, pathAndQuery: /[?&]uuid=/ },
  { host: /(?:^|\.)npr\.org$/, pathAndQuery: /[?&]uid=/ },
  { host: /^my\.slate\.com$/, pathAndQuery: /^\/subscriptions\// },
  { host: /^feed\.pod\.co$/, pathAndQuery: /^\/[a-z\d-]{36}\/[a-z\d-]{36}/i },
  { host: /^(?:subscribers\.transistor|private\.captivate)\.fm$/ },
  { host: /^access\.acast\.com$/ },
  { host: /^rss\.stratechery\.com$/ },
];

/** Matches names of query parameters whose values are usually secrets. */
const secretParameter = /^(?:.*[_-])?(?:auth|token|key|secret|sig|signature|pass|password|uid)$/i;
/** Minimum length of a secret in characters. A shorter parameter value does not count as one. */
const minSecretLength = 12;

/**
 * Returns true if the URL of a feed looks private: it has credentials, matches
 * {@link privateFeeds}, or has a parameter with a secret. A random path is not a sign of a private
 * feed, because many public feeds have UUIDs in their paths.
 */
export function isPrivate(feedUrl: string): boolean {
  const url = new URL(feedUrl);
  if (url.username !== '' || url.password !== '') return true;
  const pathAndQuery = url.pathname + url.search;
  const isKnownPrivate = privateFeeds.some(
    (pattern) =>
      pattern.host.test(url.hostname) && (pattern.pathAndQuery?.test(pathAndQuery) ?? true),
  );
  return (
    isKnownPrivate ||
    [...url.searchParams].some(
      ([name, value]) => secretParameter.test(name) && value.length >= minSecretLength,
    )
  );
}
