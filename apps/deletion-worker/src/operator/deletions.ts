import { userInfo } from 'node:os';
import { Failure } from '#contracts';
import { type Database, databaseConfig, openDatabase } from '#database';
import { alignedTable, CommandFailed, loadConfig, type ProgramIo } from '#runtime';
import {
  endByOperator,
  findDeletion,
  type ListedDeletion,
  listDeletions,
  makeDue,
} from './operator.repository.js';

/** A subcommand of `podcast-sync deletions`. */
export type DeletionsCommand =
  | {
      readonly verb: 'list';
      readonly status: 'PENDING' | 'FAILURE';
      readonly limit: number;
      readonly json: boolean;
    }
  | { readonly verb: 'retry'; readonly deletionId: number }
  | { readonly verb: 'fail'; readonly deletionId: number; readonly operator: string | undefined };

/** Lists deletions, retries one or ends it. @throws Error with a message for the operator. */
export async function runDeletions(command: DeletionsCommand, io: ProgramIo): Promise<void> {
  const config = loadConfig(databaseConfig, io.env);
  const database = openDatabase(config, 'deletions', 1);
  try {
    io.stdout.write(await runCommand(database, command));
  } catch (error) {
    throw toOperatorError(error);
  } finally {
    await database.close();
  }
}

/** Runs a subcommand. @returns its output. */
async function runCommand(database: Database, command: DeletionsCommand): Promise<string> {
  switch (command.verb) {
    case 'list': {
      const records = await listDeletions(database, command.status, command.limit);
      return command.json ? `${JSON.stringify(records, undefined, 2)}\n` : tableOf(records);
    }
    case 'retry':
      if (await makeDue(database, command.deletionId))
        return `Deletion ${command.deletionId} is due: a deletion worker runs it again now.\n`;
      throw await notPendingError(database, command.deletionId);
    case 'fail': {
      const { deletionId, operator = operatorName() } = command;
      const cause = `ended by the operator ${operator}`;
      if (await endByOperator(database, deletionId, { status: 'FAILURE', cause }))
        return `Deletion ${deletionId} ended in FAILURE: the subscription was not deleted.\n`;
      throw await notPendingError(database, deletionId);
    }
  }
}

const headings = ['ID', 'REQUESTED', 'SENT', 'JOBS', 'ATTEMPTS', 'USER', 'SUBSCRIPTION', 'CAUSE'];

/** Formats records as an aligned table, one per line. */
function tableOf(records: readonly ListedDeletion[]): string {
  const rows = records.map(({ id, requested, sentAt, cause, ...record }) => {
    const { jobNumber, attempts, userId, subscriptionId } = record;
    // A cause can have several lines, but each record is one line of the table.
    const oneLine = (cause ?? '').replace(/\s+/g, ' ');
    const cells = [id, requested, sentAt ?? '-', jobNumber, attempts, userId, subscriptionId];
    return [...cells.map(String), oneLine];
  });
  return alignedTable([headings, ...rows]);
}

async function notPendingError(database: Database, deletionId: number): Promise<CommandFailed> {
  const found = await findDeletion(database, deletionId);
  if (!found) return new CommandFailed(`there is no deletion ${deletionId}`);
  const cause = found.cause ? `: ${found.cause}` : '';
  return new CommandFailed(
    `deletion ${deletionId} ended in ${found.status} at ${String(found.finished)}${cause}`,
  );
}

/** Returns the name of the operating system user, or its uid if it has no name (containers). */
function operatorName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** SQLSTATEs of lock and statement timeouts. */
const timeoutStates = /^(55P03|57014)$/;

/**
 * Returns an error whose message explains the failure to an operator. Errors without another cause
 * are attributed to Postgres.
 */
function toOperatorError(error: unknown): Error {
  if (error instanceof CommandFailed) return error;
  const cause = (error instanceof Failure ? error.cause : error) as
    { code?: string; message?: string } | undefined;
  const why = timeoutStates.test(cause?.code ?? '')
    ? 'the statement timed out, perhaps because the deletion is in progress; ' +
      'try again in a minute'
    : `Postgres failed (${cause?.message || cause?.code || String(error)}); ` +
      'check DATABASE_URL and that Postgres is running';
  return new CommandFailed(why, { cause: error });
}
