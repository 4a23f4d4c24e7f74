/** The HTTP apps, in the order in which they are asked whether a path is theirs. */
export const appNames = ['gpodder', 'gateway', 'account'] as const;
export type AppName = (typeof appNames)[number];

/** Formats of the lists of subscriptions of the gpodder API. */
const formats = '(?:json|jsonp|txt|opml|xml)';

/**
 * The paths of each app where all are served under one host name, as regular expressions without look-around or back
 * references, as an ingress can route by them. No path belongs to two apps.
 */
export const appPaths: Readonly<Record<AppName, readonly string[]>> = {
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
  account: [
    '^/$',
    '^/(?:sign-in|links|totp|recovery-codes|app-passwords|apps|devices|sessions|interaction|email|erase)(?:/|$)',
    '^/(?:sign-out|register|password|name|forgot|recover|export|robots\\.txt)$',
    '^/login/v2/(?:flow|poll)(?:/|$)',
    '^/console(?:/|$)',
    '^/(?:auth|device|token)(?:/|$)',
    '^/(?:jwks|reg)$',
    '^/\\.well-known/(?:openid-configuration|oauth-authorization-server)$',
  ],
};

const patterns = appNames.map((app) => [app, appPaths[app].map((path) => new RegExp(path))] as const);

/** The app that has a path; `undefined` where none has. */
export function appOfPath(path: string): AppName | undefined {
  return patterns.find(([, own]) => own.some((pattern) => pattern.test(path)))?.[0];
}

/**
 * The path and query that a request's target means. A target may be a whole URL (RFC 9112, 3.2.2), of which only path and
 * query count; slashes that follow each other count as one, as people type them after a base URL.
 */
export function singleSlashes(target: string): string {
  const [path = '', ...query] = target.replace(/^https?:\/\/[^/?]*\/?/i, '/').split('?');
  return [path.replace(/\/{2,}/g, '/'), ...query].join('?');
}
