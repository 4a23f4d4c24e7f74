import { createReadStream } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { DataUser } from '#contracts';
import { countdown, type Database, databaseConfig, openDatabase } from '#database';
import { identityConfig, type NamedUser, namedUserId, UnknownUserLine, usersIn } from '#identity';
import { loadConfig, type ProgramIo } from '#runtime';
import { z } from 'zod';
import { readErasure, recordErasure } from '../erasure/erasure.repository.js';

/**
 * Time limit for recording an erasure, in milliseconds. The recording waits for the lock of the
 * user's clock, which a large deletion can hold for up to a minute.
 */
const recordLimitMs = 90_000;
/** Interval of progress checks in milliseconds. */
const pollMs = 500;

const eraseConfig = z.object({ ...databaseConfig.shape, ...identityConfig.shape });
type EraseConfig = z.output<typeof eraseConfig>;

/** The users to erase: one user, or the users in a file. */
export type EraseCommand = { readonly user: DataUser } | { readonly file: string };

/**
 * Records erasures and waits until a deletion worker has ended them.
 *
 * @returns the exit code: 0 if all users were erased, else 1.
 * @throws Error with a message for the operator; ConfigurationError.
 */
export async function runErase(command: EraseCommand, io: ProgramIo): Promise<number> {
  const config = loadConfig(eraseConfig, io.env);
  const database = openDatabase(config, 'erase', 1);
  try {
    const recordedUsers: NamedUser[] = [];
    // All erasures are recorded before the wait for the first one, so that requests of all these
    // users are refused from now on.
    for await (const user of readUsers(command, config)) {
      await recordErasure(database, user.id, {}, countdown(recordLimitMs));
      recordedUsers.push(user);
    }
    let failedCount = 0;
    for (const user of recordedUsers)
      if (!(await waitForErasure(database, user, io))) failedCount += 1;
    io.stdout.write(
      `${recordedUsers.length - failedCount} of ${recordedUsers.length} users erased.\n`,
    );
    return failedCount === 0 ? 0 : 1;
  } catch (error) {
    throw new Error(explainError(error), { cause: error });
  } finally {
    await database.close();
  }
}

async function* readUsers(command: EraseCommand, identity: EraseConfig): AsyncGenerator<NamedUser> {
  if ('file' in command) yield* usersIn(createReadStream(command.file), command.file, identity);
  else yield { id: namedUserId(command.user, identity), name: command.user };
}

/** Reports the progress of an erasure until its end. @returns true for SUCCESS. */
async function waitForErasure(
  database: Database,
  { id, name }: NamedUser,
  io: ProgramIo,
): Promise<boolean> {
  const userLabel = 'id' in name ? id : `${id} (${name.subject})`;
  for (let reportedRows = 0; ; await setTimeout(pollMs)) {
    const record = await readErasure(database, id);
    if (record?.status === 'SUCCESS') return true;
    if (record?.status === 'FAILURE') {
      io.stderr.write(`erase: ${userLabel} ended in FAILURE: ${record.cause ?? ''}\n`);
      return false;
    }
    if (record && record.removed > reportedRows)
      io.stderr.write(`erase: ${userLabel}: ${record.removed} rows deleted\n`);
    reportedRows = record?.removed ?? reportedRows;
  }
}

function explainError(error: unknown): string {
  if (error instanceof UnknownUserLine)
    return `${error.message}; the users before it will be erased`;
  const { message, code, cause } = error as Error & { code?: string; cause?: Error };
  return (
    `erasure failed (${cause?.message || message || code}); ` +
    'check DATABASE_URL and that Postgres is running'
  );
}
