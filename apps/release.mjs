// Writes the files of a release: npm run release -- [--to dist/release] [--no-audit]
//   podcast-sync-VERSION.tgz              the server; runs after `npm ci --omit=dev`
//   podcast-sync-VERSION.cdx.json         its bill of materials as CycloneDX
//   podcast-sync-chart-VERSION.tgz        the Helm chart
//   podcast-sync-client-VERSION.tgz       the SDK
//   podcast-sync-conformance-VERSION.tgz  the conformance suite
//   SHA256SUMS                            for `sha256sum --check`
// Two runs on a commit write equal files.
// Needs helm 4, on PATH or in HELM, and a package registry with security advisories.
// `--no-audit` skips the check of advisories.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { billOfMaterials, packageIn } from './bill-of-materials.mjs';

const { values: options } = parseArgs({
  allowNegative: true,
  options: {
    to: { type: 'string', default: 'dist/release' },
    audit: { type: 'boolean', default: true },
  },
});
const target = resolve(options.to);
const work = mkdtempSync(join(tmpdir(), 'podcast-sync-release-'));
process.on('exit', () => rmSync(work, { recursive: true }));

const inherited = { stdio: 'inherit' };
const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));
const writeJson = (path, value) => writeFileSync(path, `${JSON.stringify(value, undefined, 2)}\n`);
const { external, ...bundled } = readJson('dist/programs/packages.json');
const manifest = readJson('package.json');
const { version } = manifest;
const helm = process.env.HELM || 'helm';

/** Pages outside of docs/ that its pages link to. */
const linkedPages = [
  'CONTRIBUTING.md',
  'conformance/README.md',
  'k8s/chart/README.md',
  'libs/client/README.md',
  'libs/gpodder-sync/README.md',
  'libs/transport/README.md',
];

/** The time of all files in an archive of npm. */
const packTime = new Date('1985-10-26T08:15:00Z');

/** The npm scripts that run podcast-sync, such as `npm run token`, without their build step. */
const commands = Object.fromEntries(
  Object.entries(manifest.scripts)
    .filter(([, script]) => script.includes('sh apps/podcast-sync.sh'))
    .map(([name, script]) => [
      name,
      script.replace('sh apps/podcast-sync.sh', 'node dist/programs/podcast-sync.js'),
    ]),
);

function run(command, args, place) {
  return execFileSync(command, args, { encoding: 'utf8', maxBuffer: 2 ** 26, ...place });
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

function pack(folder) {
  run('npm', ['pack', '--silent', '--pack-destination', target, folder]);
}

/**
 * Writes the server: built programs, and a manifest with the packages that are not bundled.
 * Returns these and their dependencies, as name@version.
 */
function writeServer(folder) {
  for (const path of ['dist/programs', 'dist/console', 'docs', 'README.md', 'CHANGELOG.md'])
    cpSync(path, join(folder, path), { recursive: true });
  for (const path of linkedPages) cpSync(path, join(folder, path));
  for (const path of ['LICENSE', 'SECURITY.md']) cpSync(path, join(folder, path));
  const { name, description, license, type, bin, engines, allowScripts } = manifest;
  writeJson(join(folder, 'package.json'), {
    name,
    version,
    description,
    license,
    type,
    bin,
    engines,
    allowScripts,
    // npm packs no .npmrc, so npm 10 runs the script of @scarf/scarf (of swagger-ui-dist), which
    // would report the installation.
    scarfSettings: { enabled: false },
    files: ['dist', 'docs', 'npm-shrinkwrap.json', 'CHANGELOG.md', 'SECURITY.md', ...linkedPages],
    scripts: { start: 'exec node dist/programs/podcast-sync.js start', ...commands },
    dependencies: Object.fromEntries(
      external.map((each) => [each, readJson(`node_modules/${each}/package.json`).version]),
    ),
    optionalDependencies: manifest.optionalDependencies,
    overrides: Object.fromEntries(
      Object.entries(manifest.overrides).filter(([, one]) => typeof one === 'string'),
    ),
  });
  // Pins the dependencies to the versions of this repository's lock file.
  cpSync('package-lock.json', join(folder, 'package-lock.json'));
  run('npm', ['install', '--package-lock-only', '--no-audit', '--no-fund'], { cwd: folder });
  run('npm', ['shrinkwrap', '--silent'], { cwd: folder });
  const { packages } = readJson(join(folder, 'npm-shrinkwrap.json'));
  const paths = Object.keys(packages).filter((path) => path !== '');
  return paths.map((path) => `${path.split('node_modules/').at(-1)}@${packages[path].version}`);
}

/** Writes the chart. helm keeps the times of files, so a copy of the chart has fixed ones. */
function packChart() {
  const folder = join(work, 'chart');
  cpSync('k8s/chart', folder, { recursive: true });
  for (const path of readdirSync(folder, { recursive: true }))
    utimesSync(join(folder, path), packTime, packTime);
  run(helm, ['package', folder, '--destination', work]);
  renameSync(
    join(work, `podcast-sync-${version}.tgz`),
    join(target, `podcast-sync-chart-${version}.tgz`),
  );
}

const chart = readFileSync('k8s/chart/Chart.yaml', 'utf8');
const versions = {
  'libs/client/package.json': readJson('libs/client/package.json').version,
  'conformance/package.json': readJson('conformance/package.json').version,
  'version of k8s/chart/Chart.yaml': /^version: (.*)$/m.exec(chart)?.[1],
  'appVersion of k8s/chart/Chart.yaml': /^appVersion: (.*)$/m.exec(chart)?.[1],
};
for (const [place, found] of Object.entries(versions))
  if (found !== version)
    fail(`${place}: ${found} differs from the version ${version} of package.json`);
if (spawnSync(helm, ['version']).status !== 0) fail(`${helm}: helm 4 is needed on PATH or in HELM`);
if (options.audit && spawnSync('node', ['.ci/audit.mjs', '--strict'], inherited).status !== 0)
  fail('the audit of the packages failed (see above); --no-audit skips it');

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });

const installed = writeServer(join(work, 'server'));
pack(join(work, 'server'));
const roots = [...Object.values(bundled).flat(), ...readJson('dist/console.packages.json')];
const packages = new Set([...roots.map(packageIn), ...installed]);
const materials = billOfMaterials(manifest.name, packages);
writeJson(join(target, `podcast-sync-${version}.cdx.json`), materials);

packChart();
for (const name of ['client', 'conformance']) {
  run('npm', ['run', '-s', `build:${name}`]);
  pack(`./dist/${name}`);
}

const files = readdirSync(target).sort();
const sha256 = (name) =>
  createHash('sha256')
    .update(readFileSync(join(target, name)))
    .digest('hex');
const sums = files.map((name) => `${sha256(name)}  ${name}\n`).join('');
writeFileSync(join(target, 'SHA256SUMS'), sums);
process.stdout.write(sums);
