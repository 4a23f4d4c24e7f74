import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** The path of a program, and the environment variables to run it with. */
export interface Program {
  readonly command: string;
  readonly env: NodeJS.ProcessEnv;
}

const runProgram = promisify(execFile);

/**
 * Returns a program from the packages of Debian or Ubuntu. It is unpacked into a private folder
 * with the libraries that the system lacks. It needs no root and installs nothing.
 *
 * @param folder an absolute path, which apt needs.
 * @returns the program; undefined without apt or the package, or if the program does not work.
 */
export async function fetchDebianProgram(
  name: string,
  folder: string,
  isUsable: (program: Program) => boolean,
  reportProgress: (line: string) => void,
): Promise<Program | undefined> {
  const targetFolder = join(folder, name);
  const fetchedEarlier = locateProgram(targetFolder, name);
  if (isUsable(fetchedEarlier)) return fetchedEarlier;
  if (spawnSync('apt-get', ['--version']).status !== 0) return undefined;

  reportProgress(`fetching ${name} from this system's package archive (once, into ${folder})`);
  mkdirSync(folder, { recursive: true });
  const workFolder = mkdtempSync(join(folder, 'fetch-'));
  try {
    const unpacked = join(workFolder, 'unpacked');
    for (const archive of await downloadPackages(name, workFolder))
      await runProgram('dpkg-deb', ['-x', archive, unpacked]);
    if (!isUsable(locateProgram(unpacked, name))) return undefined;
    // Another process can have fetched the program meanwhile. The rename is atomic, so the folder
    // is never incomplete.
    if (isUsable(locateProgram(targetFolder, name))) return locateProgram(targetFolder, name);
    rmSync(targetFolder, { recursive: true, force: true });
    renameSync(unpacked, targetFolder);
    return locateProgram(targetFolder, name);
  } catch (error) {
    reportProgress(`${name} could not be fetched: ${extractReason(error)}`);
    return undefined;
  } finally {
    rmSync(workFolder, { recursive: true, force: true });
  }
}

function locateProgram(root: string, name: string): Program {
  const folders = ['usr/lib', 'lib']
    .map((folder) => join(root, folder))
    .filter((folder) => existsSync(folder));
  const libraryFolders = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.so(\.|$)/.test(file))
      .map((file) => dirname(join(folder, file))),
  );
  return {
    // Some packages contain their server in sbin instead of bin.
    command: existsSync(join(root, 'usr/sbin', name))
      ? join(root, 'usr/sbin', name)
      : join(root, 'usr/bin', name),
    env: { ...process.env, LD_LIBRARY_PATH: [...new Set(libraryFolders)].join(':') },
  };
}

/**
 * Downloads a package and its missing dependencies, and returns the paths of the archives. With
 * `--reinstall` apt also downloads an installed package, whose program can be missing on PATH.
 */
async function downloadPackages(name: string, workFolder: string): Promise<string[]> {
  const lists = join(workFolder, 'lists');
  const cache = join(workFolder, 'cache');
  const archives = join(cache, 'archives');
  for (const folder of [lists, archives]) mkdirSync(join(folder, 'partial'), { recursive: true });
  const options = [
    `Dir::State::lists=${lists}`,
    `Dir::Cache=${cache}`,
    'Acquire::Languages=none',
    'Acquire::Retries=2',
    // Only root can use apt's locks and its download account. A download needs neither.
    'Debug::NoLocking=1',
    'APT::Sandbox::User=',
  ].flatMap((option) => ['-o', option]);
  // Ignores a failed update, such as of one package source. The download reports a package that it
  // does not find.
  await runProgram('apt-get', [...options, '-qq', 'update']).catch(() => {});
  // On Debian, redis-tools contains the program redis-server, and valkey-tools valkey-server.
  const tools = name.replace('-server', '-tools');
  const flags = ['--yes', '--download-only', '--reinstall', '--no-install-recommends'];
  await runProgram('apt-get', [...options, 'install', ...flags, name, tools]);
  const packages = readdirSync(archives).filter((file) => file.endsWith('.deb'));
  // The package of the C library is left out, because it works only with the system's own loader.
  return packages.filter((file) => !file.startsWith('libc6_')).map((file) => join(archives, file));
}

function extractReason(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string };
  return (stderr || message).trim().split('\n').at(-1) ?? '';
}
