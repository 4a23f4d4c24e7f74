import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Account } from './server.process.js';
import { writePrivateFile } from './secret.file.js';
import { StartError } from './start.error.js';

/** Where Postgres keeps its files, and as whom it runs. */
export interface PostgresPlace {
  /** Holds `data` and, where needed, `binaries`. */
  readonly home: string;
  /** Set when root starts it: Postgres refuses to run as root. */
  readonly account?: Account;
}

/** Names the folders that Postgres gets when it can't reach the one it was meant to have. */
const elsewhere = '/var/lib/podcast-sync';

/**
 * Finds or makes the place for a cluster that was asked for in `directory`. For root this is a folder elsewhere when
 * the account that Postgres runs as can't reach `directory` (it lies below a home of mode 0700, say). Where that is
 * gets recorded in `directory/location`, so that the data is found again even after `directory` has moved.
 *
 * @throws StartError when the recorded place is gone or the files are another user's.
 */
export function postgresPlace(directory: string, progress: (line: string) => void): PostgresPlace {
  mkdirSync(directory, { recursive: true });
  const record = join(directory, 'location');
  if (existsSync(record)) {
    const home = readFileSync(record, 'utf8').trim();
    if (!existsSync(home))
      throw new StartError(
        `Postgres' data was in ${home}, which is gone. Put it back, or remove ${directory} to start with no data.`,
      );
    progress(`Postgres keeps its data in ${home}`);
    return { home, account: accountFor(home) };
  }
  const account = accountFor(directory);
  if (!account || reaches(account, directory)) return { home: directory, account };

  const home = join(elsewhere, createHash('sha256').update(realpathSync(directory)).digest('hex').slice(0, 16));
  mkdirSync(elsewhere, { recursive: true });
  // Whatever the umask: below it every account must reach its own folder.
  chmodSync(elsewhere, 0o711);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  chownSync(home, account.uid, account.gid);
  writePrivateFile(record, `${home}\n`);
  progress(`Postgres can't run as root and its user can't reach ${directory}, so it keeps its data in ${home}`);
  return { home, account };
}

/** Hands a folder over to the account, for it alone. */
export function handOver(folder: string, account: Account | undefined): void {
  if (account) chownSync(folder, account.uid, account.gid);
}

/** Another user than root for Postgres to run as: the one whose data is there already, otherwise `nobody`. */
function accountFor(home: string): Account | undefined {
  const data = join(home, 'data');
  const owner = existsSync(data) ? statSync(data) : undefined;
  const self = process.getuid?.();
  if (self === 0) return owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : nobody();
  if (owner && owner.uid !== self)
    throw new StartError(`${data} belongs to another user (uid ${owner.uid}); start as that user or as root.`);
  return undefined;
}

function nobody(): Account {
  const id = (flag: string) => Number(spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout) | 0;
  const account = { uid: id('-u'), gid: id('-g') };
  if (account.uid === 0)
    throw new StartError(
      "Postgres can't run as root and there is no user `nobody` to run it as; start as another user.",
    );
  return account;
}

/** Asked of the system itself: access lists, mount options and capabilities all have a say. */
function reaches(account: Account, directory: string): boolean {
  return spawnSync('test', ['-x', directory], { ...account, cwd: '/' }).status === 0;
}
