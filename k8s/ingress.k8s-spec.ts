import { type AppName, appNames, appOfPath, appPaths } from '#http';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Manifest, manifestsOfKind, renderChart } from './testing/chart.js';

interface IngressPath {
  path: string;
  pathType: 'Exact' | 'Prefix' | 'ImplementationSpecific';
  backend: { service: { name: string } };
}
interface IngressSpec {
  rules: { host: string; http: { paths: IngressPath[] } }[];
}

/** Returns the paths of a host in all Ingresses. */
function pathsOf(manifests: Manifest[], host: string): IngressPath[] {
  const rules = manifestsOfKind<IngressSpec>(manifests, 'Ingress').flatMap(
    ({ spec }) => spec.rules,
  );
  return rules.filter((rule) => rule.host === host).flatMap(({ http }) => http.paths);
}

/** Returns the path that matches a request. */
type Matcher = (paths: readonly IngressPath[], path: string) => IngressPath | undefined;

/** The rule of the Ingress API, with regular expressions first. */
const byKind: Matcher = (paths, path) =>
  paths.find(
    (each) => each.pathType === 'ImplementationSpecific' && new RegExp(`^${each.path}`).test(path),
  ) ??
  paths.find((each) => each.pathType === 'Exact' && each.path === path) ??
  longestFirst(paths).find(
    (each) =>
      each.pathType === 'Prefix' &&
      `${path}/`.startsWith(each.path === '/' ? '/' : `${each.path}/`),
  );

/**
 * The rule of ingress-nginx if an Ingress of a host has `use-regex`: each path of that host is a
 * regular expression for the beginning of a path, in any letter case. The longest match wins.
 */
const byLongestExpression: Matcher = (paths, path) =>
  longestFirst(paths).find((each) => new RegExp(`^${each.path}`, 'i').test(path));

const longestFirst = (paths: readonly IngressPath[]) =>
  paths.toSorted((one, other) => other.path.length - one.path.length);

/** A request for any path of an app. */
function pathOf(app: AppName): fc.Arbitrary<string> {
  const { exact, prefixes, expressions } = appPaths[app];
  const below = fc.tuple(fc.constantFrom(...prefixes), fc.webPath()).map((parts) => parts.join(''));
  const matching = expressions.map((expression) =>
    fc.stringMatching(new RegExp(`^${expression}$`)),
  );
  return fc
    .oneof(fc.constantFrom(...exact, ...prefixes), below, ...matching)
    .filter((path) => /^[!-~]+$/.test(path) && appOfPath(path) === app);
}

describe.each([
  ['the Ingress API', byKind],
  ['ingress-nginx', byLongestExpression],
])('an Ingress of one host, as %s matches paths', (_what, match) => {
  const paths = pathsOf(renderChart('production'), 'sync.example.org');

  it.each(appNames)('routes each path of %s to it', (app) => {
    const isSent = (path: string) => match(paths, path)?.backend.service.name === app;
    fc.assert(fc.property(pathOf(app), isSent), { numRuns: 1_000 });
  });

  it('routes other paths to the account app, which answers 404', () => {
    for (const path of ['/nothing', '/index.html', '/favicon.ico'])
      expect(match(paths, path)?.backend.service.name).toBe('account');
  });
});

describe('hosts', () => {
  const hosts = (values: string, set: string[] = []) => {
    const ingresses = manifestsOfKind<IngressSpec>(renderChart(values, { set }), 'Ingress');
    return ingresses.map(({ metadata, spec }) => [
      metadata.name,
      spec.rules[0]?.host,
      spec.rules[0]?.http.paths.length,
    ]);
  };

  it('of a single app have one path', () => {
    expect(hosts('everything')).toEqual([
      ['account', 'account.sync.example.org', 1],
      ['gpodder', 'gpodder.sync.example.org', 1],
      ['gateway', 'sync.example.org', 1],
    ]);
  });

  it('without gpodder need no regular expressions', () => {
    const kinds = pathsOf(
      renderChart('production', { set: ['gpodder.enabled=false'] }),
      'sync.example.org',
    );
    expect(new Set(kinds.map(({ pathType }) => pathType))).toEqual(new Set(['Exact', 'Prefix']));
  });

  it('of gateway and gpodder route other paths to the gateway', () => {
    const set = [
      'gpodder.url="https://sync.example.org"',
      'accounts.url="https://account.sync.example.org"',
    ];
    const issuer = 'apps.gateway.env.AUTH_ISSUER="https://account.sync.example.org"';
    expect(hosts('production', [...set, issuer])).toEqual([
      ['account', 'account.sync.example.org', 1],
      ['gateway', 'sync.example.org', 10],
      ['gateway-expressions', 'sync.example.org', 4],
    ]);
  });
});
