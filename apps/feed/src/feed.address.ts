import { createHash } from 'node:crypto';

/** Hosts of many podcasts that have a host name each. They share one lane. */
const families = [
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

/** Returns the lane of a feed: its host, which gets one request at a time. */
export function laneOf(url: string): string {
  const host = new URL(url).hostname.replace(/\.$/, '');
  const lane = families.find((family) => host.endsWith(`.${family}`)) ?? host;
  // A key of an index. Longer hosts are in no DNS.
  return lane.slice(0, 255);
}

/** Forms of URLs of feeds for one listener: host, and path with query. */
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

/** Parameters that hold a secret, of at least twelve characters. */
const secretParameter = /^(?:.*[_-])?(?:auth|token|key|secret|sig|signature|pass|password|uid)$/i;
const minSecret = 12;

/**
 * Returns whether a feed is meant for one listener, by the form of its URL: credentials, the forms
 * of known hosts, or a parameter with a secret. The randomness of a path proves nothing: public
 * feeds of many hosts have UUIDs in it.
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
