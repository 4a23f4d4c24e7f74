import { createReadStream } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { countdown, createDataSource, Database, databaseConfig } from '#database';
import { identityConfig, idOf, type NamedUser, UnknownUserLine, usersIn } from '#identity';
import { ConfigurationError, loadConfig, type ProgramIo } from '#runtime';
import { z } from 'zod';
import { readErasure, recordErasure } from '../erasure/erasure.store.js';
import { type EraseCommand, eraseUsage, readEraseCommand } from './erase.command.js';
import { UsageError } from './operator.command.js';

/** How long a record may wait for a write of its user, or for a large deletion, in milliseconds. */
const recordLimitMs = 90_000;
/** How often it looks how far an erasure is, in milliseconds. */
const pollMs = 500;

const config = z.object({ ...databaseConfig.shape, ...identityConfig.shape });
type Config = z.output<typeof config>;

/** Runs the operators' command that erases users. @returns the exit code. */
export async function runErase(args: readonly string[], io: ProgramIo): Promise<number> {
  try {
    return await erase(args, io);
  } catch (error) {
    const [exitCode, text] = explained(error);
    io.stderr.write(`${text}\n`);
    return exitCode;
  }
}

/** Records erasures, and follows them until they have ended. */
async function erase(args: readonly string[], io: ProgramIo): Promise<number> {
  const command = readEraseCommand(args);
  const loaded = loadConfig(config, io.env);
  const dataSource = createDataSource({ url: loaded.DATABASE_URL, poolSize: 1, applicationName: 'erase' });
  await dataSource.initialize();
  const database = new Database(dataSource, loaded.DATABASE_PREPARED === 'on');
  try {
    const recorded: NamedUser[] = [];
    // All are refused before the first is waited for.
    for await (const user of usersOf(command, loaded)) {
      await recordErasure(database, user.id, {}, countdown(recordLimitMs));
      recorded.push(user);
    }
    let failed = 0;
    for (const user of recorded) if (!(await follow(database, user, io))) failed += 1;
    io.stdout.write(`${recorded.length - failed} of ${recorded.length} users are erased.\n`);
    return failed === 0 ? 0 : 1;
  } finally {
    await database.close();
  }
}

async function* usersOf(command: EraseCommand, identity: Config): AsyncGenerator<NamedUser> {
  if ('file' in command) yield* usersIn(createReadStream(command.file), command.file, identity);
  else yield { id: idOf(command.user, identity), name: command.user };
}

/** Waits until an erasure has ended, and says how far it is. @returns whether it ended in SUCCESS. */
async function follow(database: Database, { id, name }: NamedUser, io: ProgramIo): Promise<boolean> {
  const who = 'id' in name ? id : `${id} (${name.subject})`;
  for (let said = 0; ; await setTimeout(pollMs)) {
    const record = await readErasure(database, id);
    if (record?.status === 'SUCCESS') return true;
    if (record?.status === 'FAILURE') {
      io.stderr.write(`erase: ${who} ended in FAILURE: ${record.cause ?? ''}\n`);
      return false;
    }
    if (record && record.removed > said) io.stderr.write(`erase: ${who}: ${record.removed} rows are gone\n`);
    said = record?.removed ?? said;
  }
}

/** The exit code, and what a person needs to know. */
function explained(error: unknown): [number, string] {
  if (error instanceof UsageError) return [2, error.message ? `erase: ${error.message}\n\n${eraseUsage}` : eraseUsage];
  if (error instanceof ConfigurationError) return [78, `erase: ${error.message}`];
  if (error instanceof UnknownUserLine) return [1, `erase: ${error.message}; the users before it will be erased`];
  const { message, code, cause } = error as Error & { code?: string; cause?: Error };
  return [1, `erase: it could not be done (${cause?.message || message || code}); does the system run?`];
}
