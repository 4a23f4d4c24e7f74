/** Names of the HTTP apps. */
export const appNames = ['gpodder', 'gateway', 'account'] as const;
export type AppName = (typeof appNames)[number];

/** The paths of an HTTP app, by kind of match as in a Kubernetes Ingress. */
export interface AppPaths {
  readonly exact: readonly string[];
  /** Prefixes of whole segments: `/docs` matches `/docs` and `/docs/a`, but not `/docsa`. */
  readonly prefixes: readonly string[];
  /**
   * Regular expressions of whole paths, without look-around or back references. They override the
   * exact paths and prefixes of all apps.
   */
  readonly expressions: readonly string[];
}

/**
 * Paths of each HTTP app, for the edge and the chart's Ingress. Exact paths and prefixes of two
 * apps never overlap; expressions override both ({@link AppPaths.expressions}).
 */
export const appPaths: Readonly<Record<AppName, AppPaths>> = {
  gpodder: {
    exact: ['/clientconfig.json', '/upload', '/getlist'],
    prefixes: ['/api', '/index.php', '/ocs', '/remote.php', '/toplist', '/suggestions'],
    expressions: [
      '/subscriptions/[^/]+(?:/[^/]+)?\\.(?:json|jsonp|txt|opml|xml)',
      '/(?:toplist|gpodder-examples|search)\\.[^/]*',
      // Paths of Nextcloud below a folder.
      '/.+/index\\.php/(?:apps/gpoddersync|login/v2)(?:/.*)?',
      '/.+/ocs/v2\\.php/core/.*',
    ],
  },
  gateway: {
    exact: [
      '/subscriptions.opml',
      '/episodes',
      '/changes',
      '/capabilities',
      '/openapi.json',
      '/.well-known/jwks.json',
      '/.well-known/oauth-protected-resource',
    ],
    prefixes: ['/v1', '/subscriptions', '/deletions', '/feeds', '/docs'],
    expressions: [],
  },
  account: {
    exact: [
      '/',
      '/account',
      '/sign-out',
      '/register',
      '/password',
      '/name',
      '/forgot',
      '/recover',
      '/export',
      '/robots.txt',
      '/manifest.webmanifest',
      '/jwks',
      '/reg',
      '/.well-known/change-password',
      '/.well-known/openid-configuration',
      '/.well-known/oauth-authorization-server',
    ],
    prefixes: [
      '/sign-in',
      '/links',
      '/totp',
      '/passkeys',
      '/recovery-codes',
      '/app-passwords',
      '/apps',
      '/connect',
      '/devices',
      '/sessions',
      '/people',
      '/interaction',
      '/email',
      '/erase',
      '/login/v2/flow',
      '/login/v2/poll',
      '/console',
      '/auth',
      '/device',
      '/token',
    ],
    expressions: [],
  },
};

const compiledExpressions = appNames.flatMap((app) =>
  appPaths[app].expressions.map((expression) => ({ app, pattern: new RegExp(`^${expression}$`) })),
);

/** Returns the app that serves a path; `undefined` if no app does. */
export function appOfPath(path: string): AppName | undefined {
  const match = compiledExpressions.find(({ pattern }) => pattern.test(path));
  return match?.app ?? appNames.find((app) => matchesPath(path, appPaths[app]));
}

function matchesPath(path: string, { exact, prefixes }: AppPaths): boolean {
  return (
    exact.includes(path) ||
    prefixes.some((prefix) => path === prefix || path.startsWith(`${prefix}/`))
  );
}

/**
 * Returns path and query of a request's target, which can be a whole URL (RFC 9112, 3.2.2). Merges
 * consecutive slashes in the path, because people end a base URL with a slash.
 */
export function normalizeTarget(target: string): string {
  const [path = '', ...query] = target.replace(/^https?:\/\/[^/?]*\/?/i, '/').split('?');
  return [path.replace(/\/{2,}/g, '/'), ...query].join('?');
}
