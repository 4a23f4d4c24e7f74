import { userInfo } from 'node:os';
import { Failure } from '#contracts';
import { createDataSource, Database, databaseConfig } from '#database';
import { loadConfig, type ProgramIo } from '#runtime';
import { endByOperator, findDeletion, listDeletions, makeDue } from './operator.store.js';
import { tableOf } from './operator.text.js';

/** What an operator wants done with deletion records. */
export type DeletionsCommand =
  | { readonly verb: 'list'; readonly status: 'PENDING' | 'FAILURE'; readonly limit: number; readonly json: boolean }
  | { readonly verb: 'retry'; readonly deletionId: number }
  | { readonly verb: 'fail'; readonly deletionId: number; readonly operator: string | undefined };

/** Lists deletions, sends a stuck one again or ends it. @throws Error with what a person needs to know. */
export async function runDeletions(command: DeletionsCommand, io: ProgramIo): Promise<void> {
  const config = loadConfig(databaseConfig, io.env);
  const dataSource = createDataSource({ url: config.DATABASE_URL, poolSize: 1, applicationName: 'deletions' });
  try {
    await dataSource.initialize();
    const database = new Database(dataSource, config.DATABASE_PREPARED === 'on', undefined, config.EVENTS === 'on');
    io.stdout.write(await carryOut(database, command));
  } catch (error) {
    throw explained(error);
  } finally {
    if (dataSource.isInitialized) await dataSource.destroy();
  }
}

/** @returns what to print. */
async function carryOut(database: Database, command: DeletionsCommand): Promise<string> {
  switch (command.verb) {
    case 'list': {
      const records = await listDeletions(database, command.status, command.limit);
      return command.json ? `${JSON.stringify(records, undefined, 2)}\n` : tableOf(records);
    }
    case 'retry':
      if (await makeDue(database, command.deletionId))
        return `Deletion ${command.deletionId} will be sent again now.\n`;
      throw await notPending(database, command.deletionId);
    case 'fail': {
      const { deletionId, operator = accountName() } = command;
      const cause = `ended by the operator ${operator}`;
      if (await endByOperator(database, deletionId, { status: 'FAILURE', cause }))
        return `Deletion ${deletionId} ended in FAILURE; nothing was deleted.\n`;
      throw await notPending(database, deletionId);
    }
  }
}

/** The command was understood and can't be done. */
class CommandFailed extends Error {}

async function notPending(database: Database, deletionId: number): Promise<CommandFailed> {
  const found = await findDeletion(database, deletionId);
  if (!found) return new CommandFailed(`there is no deletion ${deletionId}`);
  const cause = found.cause ? `: ${found.cause}` : '';
  return new CommandFailed(`deletion ${deletionId} ended in ${found.status} at ${String(found.finished)}${cause}`);
}

/** The name of the account that runs this. In some containers there is none, only a number. */
function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** SQLSTATEs of a statement that waited for a lock until its time was up. */
const waited = /^(55P03|57014)$/;

/** The error whose message is what a person needs to know. */
function explained(error: unknown): Error {
  if (error instanceof CommandFailed) return error;
  const cause = (error instanceof Failure ? error.cause : error) as { code?: string; message?: string } | undefined;
  const why = waited.test(cause?.code ?? '')
    ? 'it is being carried out just now; look again in a minute'
    : `Postgres could not do it (${cause?.message || cause?.code || String(error)}); does the system run?`;
  return new CommandFailed(why, { cause: error });
}
