import { createReadStream } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { DataUser } from '#contracts';
import { countdown, createDataSource, Database, databaseConfig } from '#database';
import { identityConfig, idOf, type NamedUser, UnknownUserLine, usersIn } from '#identity';
import { loadConfig, type ProgramIo } from '#runtime';
import { z } from 'zod';
import { readErasure, recordErasure } from '../erasure/erasure.store.js';

/** How long a record may wait for a write of its user, or for a large deletion, in milliseconds. */
const recordLimitMs = 90_000;
/** How often it looks how far an erasure is, in milliseconds. */
const pollMs = 500;

const config = z.object({ ...databaseConfig.shape, ...identityConfig.shape });
type Config = z.output<typeof config>;

/** Whom an operator wants erased: one user, or those that a file names. */
export type EraseCommand = { readonly user: DataUser } | { readonly file: string };

/**
 * Records erasures, and follows them until they have ended.
 *
 * @returns the exit code.
 * @throws Error with what a person needs to know, ConfigurationError.
 */
export async function runErase(command: EraseCommand, io: ProgramIo): Promise<number> {
  const loaded = loadConfig(config, io.env);
  const dataSource = createDataSource({ url: loaded.DATABASE_URL, poolSize: 1, applicationName: 'erase' });
  try {
    await dataSource.initialize();
    const database = new Database(dataSource, loaded.DATABASE_PREPARED === 'on');
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
  } catch (error) {
    throw new Error(explanationOf(error), { cause: error });
  } finally {
    if (dataSource.isInitialized) await dataSource.destroy();
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

function explanationOf(error: unknown): string {
  if (error instanceof UnknownUserLine) return `${error.message}; the users before it will be erased`;
  const { message, code, cause } = error as Error & { code?: string; cause?: Error };
  return `it could not be done (${cause?.message || message || code}); does the system run?`;
}
