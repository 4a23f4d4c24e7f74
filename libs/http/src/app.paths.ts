/** The HTTP apps, in the order in which they are asked whether a path is theirs. */
export const appNames = ['gpodder', 'gateway', 'account'] as const;
export type AppName = (typeof appNames)[number];

/** Formats of the lists of subscriptions of the gpodder API. */
const formats = '(?:json|jsonp|txt|opml|xml)';

/**
 * The paths of each app where all are served under one host name, as regular expressions without look-around or back
 * references: an ingress routes by them, too (`npm run docs` writes them to `k8s/chart/files/paths.yaml`). What is in none is
 * the account app's.
 */
export const appPaths: Readonly<Record<Exclude<AppName, 'account'>, readonly string[]>> = {
  gpodder: [
    '^/(?:api|index\\.php|ocs|remote\\.php)(?:/|$)',
    // Nextcloud below a folder.
    '^/.+/index\\.php/(?:apps/gpoddersync|login/v2)(?:/|$)',
    '^/.+/ocs/v2\\.php/core/',
    `^/subscriptions/[^/]+(?:/[^/]+)?\\.${formats}$`,
    '^/(?:toplist|gpodder-examples|search)\\.[^/]*$',
    '^/(?:toplist|suggestions)/[^/]*$',
    '^/(?:clientconfig\\.json|upload|getlist)$',
  ],
  gateway: [
    '^/v1(?:/|$)',
    '^/subscriptions(?:\\.opml|/.*)?$',
    '^/(?:episodes|changes)$',
    '^/deletions(?:/|$)',
    '^/openapi\\.json$',
    '^/docs(?:/|$)',
    '^/\\.well-known/(?:jwks\\.json|oauth-protected-resource)$',
  ],
};

const patterns = Object.entries(appPaths).map(
  ([app, paths]) => [app as AppName, paths.map((path) => new RegExp(path))] as const,
);

/** The app that answers a path. Each path has one: the first whose patterns match. */
export function appOfPath(path: string): AppName {
  return patterns.find(([, own]) => own.some((pattern) => pattern.test(path)))?.[0] ?? 'account';
}

/**
 * The path and query that a request's target means. A target may be a whole URL (RFC 9112, 3.2.2), of which only path and
 * query count; slashes that follow each other count as one, as people type them after a base URL.
 */
export function singleSlashes(target: string): string {
  const [path = '', ...query] = target.replace(/^https?:\/\/[^/?]*\/?/i, '/').split('?');
  return [path.replace(/\/{2,}/g, '/'), ...query].join('?');
}
