import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { SystemUser } from './server-process.js';
import { writePrivateFile } from './secret-file.js';
import { StartError } from './embedded-server.js';

/** Folder and account of an embedded Postgres. */
export interface PostgresLocation {
  /** The folder that contains `data` and, if needed, `binaries`. */
  readonly home: string;
  /** The user that Postgres runs as. Set only for root, because Postgres refuses to run as root. */
  readonly account?: SystemUser;
}

/** Parent of the folders that Postgres uses if its account cannot reach the requested folder. */
const fallbackParent = '/var/lib/podcast-sync';

/**
 * Returns the location of Postgres' data for `directory`, and creates the folder if needed. If root
 * runs this process and Postgres' account cannot reach `directory`, such as below a folder of mode
 * 0700, the location is a new folder elsewhere. The file `directory/location` contains its path, so
 * the data is found after a move of `directory`.
 *
 * @throws StartError if the recorded location is missing or the files belong to another user.
 */
export function ensurePostgresLocation(
  directory: string,
  reportProgress: (line: string) => void,
): PostgresLocation {
  mkdirSync(directory, { recursive: true });
  const locationFile = join(directory, 'location');
  if (existsSync(locationFile)) {
    const home = readFileSync(locationFile, 'utf8').trim();
    if (!existsSync(home))
      throw new StartError(
        `Postgres' data was in ${home}, which does not exist. Restore it, or remove ` +
          `${directory} to start with no data.`,
      );
    reportProgress(`Postgres keeps its data in ${home}`);
    return { home, account: chooseAccount(home) };
  }
  const account = chooseAccount(directory);
  if (!account || canEnter(account, directory)) return { home: directory, account };

  const home = join(fallbackParent, randomUUID());
  mkdirSync(fallbackParent, { recursive: true });
  // chmod sets the mode independently of the umask. Each account must reach its folder in this one.
  chmodSync(fallbackParent, 0o711);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  chownSync(home, account.uid, account.gid);
  writePrivateFile(locationFile, `${home}\n`);
  reportProgress(
    `Postgres can't run as root and its user can't access ${directory}: its data is in ${home}`,
  );
  return { home, account };
}

/** Makes the account the owner of a file or folder. Does nothing without an account. */
export function changeOwner(path: string, account: SystemUser | undefined): void {
  if (account) chownSync(path, account.uid, account.gid);
}

/**
 * Returns the account for Postgres if root runs this process: the owner of existing data, else
 * `nobody`. Returns `undefined` for other users, whose own account runs Postgres.
 *
 * @throws StartError if another user owns the data.
 */
function chooseAccount(home: string): SystemUser | undefined {
  const data = join(home, 'data');
  const owner = existsSync(data) ? statSync(data) : undefined;
  const self = process.getuid?.();
  if (self === 0)
    return owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : findNobody();
  if (owner && owner.uid !== self)
    throw new StartError(
      `${data} belongs to another user (uid ${owner.uid}); start as that user or as root.`,
    );
  return undefined;
}

function findNobody(): SystemUser {
  const readId = (flag: string) =>
    Number(spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout) | 0;
  const account = { uid: readId('-u'), gid: readId('-g') };
  if (account.uid === 0)
    throw new StartError(
      "Postgres can't run as root and the user `nobody` does not exist: start as another user.",
    );
  return account;
}

/**
 * Returns true if the account can enter the directory. The program `test` decides, because access
 * lists, mount options and capabilities also count.
 */
function canEnter(account: SystemUser, directory: string): boolean {
  return spawnSync('test', ['-x', directory], { ...account, cwd: '/' }).status === 0;
}
