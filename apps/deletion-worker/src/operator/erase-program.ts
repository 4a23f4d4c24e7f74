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
  const loaded = loadConfig(eraseConfig, io.env);
  const database = openDatabase(loaded, 'erase', 1);
  try {
    const recorded: NamedUser[] = [];
    // All erasures are recorded before the wait for the first one, so that requests of all these
    // users are refused from now on.
    for await (const user of usersOf(command, loaded)) {
      await recordErasure(database, user.id, {}, countdown(recordLimitMs));
      recorded.push(user);
    }
    let failed = 0;
    for (const user of recorded) if (!(await waitForEnd(database, user, io))) failed += 1;
    io.stdout.write(`${recorded.length - failed} of ${recorded.length} users erased.\n`);
    return failed === 0 ? 0 : 1;
  } catch (error) {
    throw new Error(explanationOf(error), { cause: error });
  } finally {
    await database.close();
  }
}

async function* usersOf(command: EraseCommand, identity: EraseConfig): AsyncGenerator<NamedUser> {
  if ('file' in command) yield* usersIn(createReadStream(command.file), command.file, identity);
  else yield { id: namedUserId(command.user, identity), name: command.user };
}

/** Reports the progress of an erasure until its end. @returns true for SUCCESS. */
async function waitForEnd(
  database: Database,
  { id, name }: NamedUser,
  io: ProgramIo,
): Promise<boolean> {
  const label = 'id' in name ? id : `${id} (${name.subject})`;
  for (let reported = 0; ; await setTimeout(pollMs)) {
    const record = await readErasure(database, id);
    if (record?.status === 'SUCCESS') return true;
    if (record?.status === 'FAILURE') {
      io.stderr.write(`erase: ${label} ended in FAILURE: ${record.cause ?? ''}\n`);
      return false;
    }
    if (record && record.removed > reported)
      io.stderr.write(`erase: ${label}: ${record.removed} rows deleted\n`);
    reported = record?.removed ?? reported;
  }
}

function explanationOf(error: unknown): string {
  if (error instanceof UnknownUserLine)
    return `${error.message}; the users before it will be erased`;
  const { message, code, cause } = error as Error & { code?: string; cause?: Error };
  return (
    `erasure failed (${cause?.message || message || code}); ` +
    'check DATABASE_URL and that Postgres is running'
  );
}
