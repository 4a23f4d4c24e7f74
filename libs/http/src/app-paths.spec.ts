import { describe, expect, it } from 'vitest';
import { appNames, appOfPath, appPaths, normalizeTarget } from './app-paths.js';

const guid = '0d3b5a52-6a3e-5a0c-9a9e-6c1d7c6c2c11';

describe('a path has one app', () => {
  it.each([
    ['/subscriptions', 'gateway'],
    ['/subscriptions.opml', 'gateway'],
    ['/subscriptions/opml', 'gateway'],
    [`/subscriptions/${guid}`, 'gateway'],
    [`/v1/subscriptions/${guid}`, 'gateway'],
    ['/v1/subscriptions/ann.json', 'gateway'],
    ['/subscriptions/ann.json', 'gpodder'],
    ['/subscriptions/ann.b/phone.opml', 'gpodder'],
    ['/subscriptions/ann/phone', 'gateway'],
    ['/api/2/auth/ann/login.json', 'gpodder'],
    ['/nextcloud/index.php/login/v2', 'gpodder'],
    ['/login/v2/flow/secret', 'account'],
    ['/', 'account'],
    ['/device', 'account'],
    ['/devices/forget', 'account'],
    ['/console/', 'account'],
    ['/.well-known/openid-configuration', 'account'],
    ['/.well-known/oauth-protected-resource', 'gateway'],
    ['/episodes', 'gateway'],
    ['/capabilities', 'gateway'],
    ['/episodesx', undefined],
    ['/docsx', undefined],
    ['/search.json', 'gpodder'],
    ['/toplist/10.json', 'gpodder'],
    ['/cloud/ocs/v2.php/core/getapppassword', 'gpodder'],
    ['/docs/swagger-ui.css', 'gateway'],
  ])('%s: %s', (path, app) => expect(appOfPath(path)).toBe(app));

  it('and no path is listed for two apps', () => {
    const listed = appNames.flatMap((app) => [...appPaths[app].exact, ...appPaths[app].prefixes]);
    const below = (path: string, prefix: string) =>
      path === prefix || path.startsWith(`${prefix}/`);
    const conflicts = appNames.flatMap((app) =>
      appPaths[app].prefixes.flatMap((prefix) =>
        listed.filter((path) => below(path, prefix) && appOfPath(path) !== app),
      ),
    );
    expect(conflicts).toEqual([]);
    expect(new Set(listed).size).toBe(listed.length);
  });
});

it.each([
  ['//subscriptions///a?b=//c', '/subscriptions/a?b=//c'],
  ['http://a.example//docs', '/docs'],
  ['https://a.example', '/'],
  ['/a?b?c', '/a?b?c'],
])('%s means %s', (target, path) => expect(normalizeTarget(target)).toBe(path));
