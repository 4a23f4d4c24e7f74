// Runs before `npm start` and builds missing or stale outputs. Parses the options before a build,
// so that help and invalid options need no build. Exits with 100 after help.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import module from 'node:module';
import { join, resolve } from 'node:path';

const built = 'dist/programs/packages.json';

/** Returns the time of the newest change in files and folders, in milliseconds. */
function newest(paths) {
  const times = paths.map((path) => {
    const found = statSync(path);
    return found.isDirectory()
      ? newest(readdirSync(path).map((name) => join(path, name)))
      : found.mtimeMs;
  });
  return Math.max(0, ...times);
}

function isStale() {
  if (!existsSync(built)) return true;
  return (
    newest(['apps', 'libs', 'package-lock.json', 'nest-cli.json', 'tsconfig.json']) >
    statSync(built).mtimeMs
  );
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

// Checks Node first, because an unsupported Node fails in a dependency with an unclear error.
const { engines } = JSON.parse(readFileSync('package.json', 'utf8'));
const [major, minor] = process.versions.node.split('.').map(Number);
const isSupported = [...engines.node.matchAll(/\^(\d+)\.(\d+)/g)].some(
  ([, supported, least]) => major === Number(supported) && minor >= Number(least),
);
if (!isSupported)
  fail(
    `Podcast Sync needs Node ${engines.node.replaceAll('^', '')}; ` +
      `this is ${process.versions.node}.`,
  );
if (!existsSync('node_modules/typescript'))
  fail('The dependencies are not installed. Run "npm ci" first.');

if (!isStale()) process.exit(0);

// By default, the compiler writes a cache to the home folder, where an uninstallation leaves it.
process.env.SWC_NATIVE_BINDING_CACHE ??= resolve('node_modules/.cache/swc');
// With umask 002 the compiler rejects this folder. A writer there can change its code anyway.
process.env.SWC_NATIVE_BINDING_CACHE_SKIP_SECURITY_CHECK ??= '1';
// Loads the TypeScript sources, because the build can be missing.
module.register('./typescript-hooks.mjs', import.meta.url);
const { readCommandLine } = await import('./cli/src/podcast-sync.ts');
const read = await readCommandLine(['start', ...process.argv.slice(2)], process);
if (typeof read === 'number') process.exit(read === 0 ? 100 : read);
process.stdout.write('Building ...\n');
// Shows only the errors of the build.
const stdio = ['inherit', 'ignore', 'inherit'];
process.exit(spawnSync('npm', ['run', '-s', 'build'], { stdio }).status ?? 1);
