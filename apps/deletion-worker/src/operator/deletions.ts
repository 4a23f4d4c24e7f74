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

/** Runs a subcommand, and returns its output. @throws CommandFailed. */
async function runCommand(database: Database, command: DeletionsCommand): Promise<string> {
  switch (command.verb) {
    case 'list': {
      const records = await listDeletions(database, command.status, command.limit);
      return command.json ? `${JSON.stringify(records, undefined, 2)}\n` : formatTable(records);
    }
    case 'retry':
      if (await makeDue(database, command.deletionId))
        return `Deletion ${command.deletionId} is due: a deletion worker runs it again now.\n`;
      throw await createNotPendingError(database, command.deletionId);
    case 'fail': {
      const { deletionId, operator = readOperatorName() } = command;
      const cause = `ended by the operator ${operator}`;
      if (await endByOperator(database, deletionId, { status: 'FAILURE', cause }))
        return `Deletion ${deletionId} ended in FAILURE: the subscription was not deleted.\n`;
      throw await createNotPendingError(database, deletionId);
    }
  }
}

const headings = ['ID', 'REQUESTED', 'SENT', 'JOBS', 'ATTEMPTS', 'USER', 'SUBSCRIPTION', 'CAUSE'];

/** Formats records as an aligned table with one line per record. */
function formatTable(records: readonly ListedDeletion[]): string {
  const rows = records.map(({ id, requested, sentAt, cause, ...record }) => {
    const { jobNumber, attempts, userId, subscriptionId } = record;
    // A cause can have several lines, but each record is one line of the table.
    const causeLine = (cause ?? '').replace(/\s+/g, ' ');
    const cells = [id, requested, sentAt ?? '-', jobNumber, attempts, userId, subscriptionId];
    return [...cells.map(String), causeLine];
  });
  return alignedTable([headings, ...rows]);
}

/** Returns an error that says how a deletion ended, or that it does not exist. */
async function createNotPendingError(
  database: Database,
  deletionId: number,
): Promise<CommandFailed> {
  const deletion = await findDeletion(database, deletionId);
  if (!deletion) return new CommandFailed(`there is no deletion ${deletionId}`);
  const cause = deletion.cause ? `: ${deletion.cause}` : '';
  return new CommandFailed(
    `deletion ${deletionId} ended in ${deletion.status} at ${String(deletion.finished)}${cause}`,
  );
}

/** Returns the name of the operating system user, or its uid if it has no name (containers). */
function readOperatorName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** SQLSTATEs of lock and statement timeouts. */
const timeoutSqlStates = /^(55P03|57014)$/;

/**
 * Returns an error whose message explains the failure to an operator. All errors except
 * CommandFailed are attributed to Postgres.
 */
function toOperatorError(error: unknown): Error {
  if (error instanceof CommandFailed) return error;
  const cause = (error instanceof Failure ? error.cause : error) as
    { code?: string; message?: string } | undefined;
  const explanation = timeoutSqlStates.test(cause?.code ?? '')
    ? 'the statement timed out, perhaps because the deletion is in progress; ' +
      'try again in a minute'
    : `Postgres failed (${cause?.message || cause?.code || String(error)}); ` +
      'check DATABASE_URL and that Postgres is running';
  return new CommandFailed(explanation, { cause: error });
}
