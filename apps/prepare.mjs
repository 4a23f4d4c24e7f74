// Before `npm start`: builds what is not built or is older than its sources. Before a build it reads the options, so that
// help and mistakes are answered at once. Exits with 100 where nothing is to be started.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { register } from 'node:module';
import { join } from 'node:path';

const built = 'dist/programs/packages.json';

/** When the newest of these files and folders was changed, in milliseconds. */
function newest(paths) {
  const times = paths.map((path) => {
    const found = statSync(path);
    return found.isDirectory() ? newest(readdirSync(path).map((name) => join(path, name))) : found.mtimeMs;
  });
  return Math.max(0, ...times);
}

function isStale() {
  if (!existsSync(built)) return true;
  return newest(['apps', 'libs', 'package-lock.json', 'nest-cli.json', 'tsconfig.json']) > statSync(built).mtimeMs;
}

if (!isStale()) process.exit(0);
// The sources, as nothing may be built yet.
register('./typescript.hooks.mjs', import.meta.url);
const { readCommandLine } = await import('./cli/src/podcast-sync.ts');
const read = await readCommandLine(['start', ...process.argv.slice(2)], process);
if (typeof read === 'number') process.exit(read === 0 ? 100 : read);
process.stdout.write('Building ...\n');
process.exit(spawnSync('npm', ['run', '-s', 'build'], { stdio: 'inherit' }).status ?? 1);
