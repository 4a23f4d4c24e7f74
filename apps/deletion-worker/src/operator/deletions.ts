import { userInfo } from 'node:os';
import { Failure } from '#contracts';
import { createDataSource, Database, databaseConfig } from '#database';
import { ConfigurationError, loadConfig } from '#runtime';
import { type OperatorCommand, readCommand, usage, UsageError } from './operator.command.js';
import { endByOperator, findDeletion, listDeletions, makeDue } from './operator.store.js';
import { tableOf } from './operator.text.js';

/** What the program prints, and the code with which it ends. */
export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * The operators' command line: lists deletions, sends a stuck one again or ends it.
 *
 * @param environment default: that of the process.
 */
export async function runDeletions(args: readonly string[], environment?: NodeJS.ProcessEnv): Promise<Outcome> {
  try {
    const command = readCommand(args);
    const config = loadConfig(databaseConfig, environment);
    const dataSource = createDataSource({ url: config.DATABASE_URL, poolSize: 1, applicationName: 'deletions' });
    await dataSource.initialize();
    const database = new Database(dataSource, config.DATABASE_PREPARED === 'on', undefined, config.EVENTS === 'on');
    try {
      return { code: 0, stdout: await carryOut(database, command), stderr: '' };
    } finally {
      await database.close();
    }
  } catch (error) {
    const [code, text] = explained(error);
    return { code, stdout: '', stderr: `${text}\n` };
  }
}

/** @returns what to print. */
async function carryOut(database: Database, command: OperatorCommand): Promise<string> {
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

const whereItLooks =
  'Type it where the system runs, or say where its Postgres is: npm run -s deletions -- --help tells how.';

/** The exit code, and what a person needs to know. */
function explained(error: unknown): [number, string] {
  if (error instanceof UsageError) return [2, error.message ? `deletions: ${error.message}\n\n${usage}` : usage];
  if (error instanceof ConfigurationError) return [78, `deletions: ${error.message}\n${whereItLooks}`];
  if (error instanceof CommandFailed) return [1, `deletions: ${error.message}`];
  const cause = (error instanceof Failure ? error.cause : error) as { code?: string; message?: string } | undefined;
  if (waited.test(cause?.code ?? '')) return [1, 'deletions: it is being carried out just now; look again in a minute'];
  const why = cause?.message || cause?.code || String(error);
  return [1, `deletions: Postgres could not do it (${why}); does the system run?`];
}
