import { parseArgs } from 'node:util';
import { type DataUser, dataUserSchema } from '#contracts';
import { UsageError } from './operator.command.js';

/** Whom an operator wants erased: one user, or those that a file names. */
export type EraseCommand = { readonly user: DataUser } | { readonly file: string };

export const eraseUsage = `Usage: npm run -s erase -- WHO
  --issuer I --subject S   the user whose tokens say so
  --user ID                the user with this id
  --users FILE             those in a file, a line each: {"issuer","subject"} or {"id"} (docs/data.md)
Erases everything that is kept of them, for ever, and refuses them from now on. It follows what the deletion worker does
until all of it is done; when it is interrupted the worker goes on, and the same command follows it again.

Environment: DATABASE_URL or DATABASE_URL_FILE, AUTH_OWN_ISSUER and AUTH_ISSUER_ALIASES, as the deletion worker and the
gateway have them. Without the first two the system that \`npm start\` runs on .data is meant.
Exit codes: 0 erased, 1 not done, 2 not understood, 78 no usable environment.`;

/** Reads a command line. @throws UsageError with what is wrong; without a message where help was asked for. */
export function readEraseCommand(args: readonly string[]): EraseCommand {
  const { issuer, subject, user: id, users: file, help } = parsed(args);
  if (help) throw new UsageError();
  const ways = [id !== undefined, file !== undefined, issuer !== undefined || subject !== undefined];
  if (ways.filter(Boolean).length !== 1) throw new UsageError('who? --issuer with --subject, --user or --users');
  if (file !== undefined) return { file };
  const user = dataUserSchema.safeParse(id === undefined ? { issuer, subject } : { id }).data;
  if (!user) throw new UsageError(id === undefined ? '--issuer and --subject go together' : '--user takes a UUID');
  return { user };
}

function parsed(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const options = {
    issuer: text,
    subject: text,
    user: text,
    users: text,
    help: { type: 'boolean', short: 'h' },
  } as const;
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
