import { formatCount, formatDuration, loadConfig, type ProgramIo, ProgressLine } from '#runtime';
import { dumpClient } from './dump-client.js';
import { copyConfig, type CopyOptions } from './dump-options.js';
import { type DumpedUsers, namedUsers, readUsersOfPart } from './dumped-users.js';
import { UserCopier } from './user-copier.js';

const usersPerTransaction = 100;

/**
 * Copies users to another system's database (docs/guide/move-users.md).
 *
 * @returns the exit code: 3 if users were rejected, else 0.
 * @throws ConfigurationError, or the Error that stopped the copy. Users copied before remain.
 */
export async function copyUsers(options: CopyOptions, io: ProgramIo): Promise<number> {
  const config = loadConfig(copyConfig, io.env);
  const source = dumpClient(config.SOURCE_DATABASE_URL, 'copy-users');
  const target = dumpClient(config.TARGET_DATABASE_URL, 'copy-users');
  try {
    await Promise.all([source.connect(), target.connect()]);
    const copier = new UserCopier(source, target, options.replace);
    await copier.checkSchemas();
    const allUsers = { index: 0, of: 1 };
    const users =
      options.users === undefined
        ? await readUsersOfPart(source, allUsers)
        : namedUsers(options.users, config);
    await copyAll(copier, users, io);
    return copier.counts.refused > 0 ? 3 : 0;
  } finally {
    await Promise.all([source.end(), target.end()]);
  }
}

async function copyAll(
  copier: UserCopier,
  { users, share }: DumpedUsers,
  io: ProgramIo,
): Promise<void> {
  const { counts } = copier;
  const describeCopied = () =>
    `${formatCount(counts.users)} users, ${formatCount(counts.rows)} rows`;
  const progress = new ProgressLine(
    io.stderr,
    'copy-users',
    () =>
      `${Math.floor(share() * 100)} %: ${describeCopied()}; ` +
      `${formatCount(counts.refused)} users rejected`,
  );
  const copyBatch = async (ids: readonly string[]) => {
    for (const { id, reason } of await copier.copy(ids))
      io.stderr.write(`copy-users: ${id}: ${reason}\n`);
  };
  try {
    const batch = new Set<string>();
    for await (const { id } of users) {
      if (batch.add(id).size < usersPerTransaction) continue;
      await copyBatch([...batch]);
      batch.clear();
    }
    if (batch.size > 0) await copyBatch([...batch]);
  } finally {
    progress.end();
  }
  const { same, unknown, refused } = counts;
  io.stderr.write(
    `Copied ${describeCopied()} in ${formatDuration(progress.seconds)}; ` +
      `${formatCount(same)} users were already copied, ` +
      `${formatCount(unknown)} have no data in the source, ` +
      `${formatCount(refused)} were rejected.\n`,
  );
}
