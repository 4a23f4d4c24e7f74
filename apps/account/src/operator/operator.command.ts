import { parseArgs } from 'node:util';

/** What an operator wants done with accounts. */
export type OperatorCommand =
  | { readonly verb: 'list'; readonly json: boolean }
  | { readonly verb: 'create'; readonly name: string; readonly adopt: boolean }
  | { readonly verb: 'reset' | 'disable' | 'enable' | 'erase'; readonly name: string }
  | { readonly verb: 'app-password'; readonly name: string; readonly label?: string }
  | { readonly verb: 'invite' | 'first-link' };

export const usage = `Usage: npm run -s accounts -- COMMAND

  list [--json]          everybody who has an account
  create NAME [--adopt]  makes an account, and prints a link by which its person chooses a password (7 days, once);
                         --adopt: it takes over the data of the command line's user of this name (npm run token)
  invite                 prints a link by which somebody makes an account with a name of their own (7 days, once)
  first-link             prints a link for the first account; nothing where somebody has one
  app-password NAME [--label L]
                         prints an app password of the account, for a device or an app that L names, and nothing else
                         (also npm run -s app-password -- NAME)
  reset NAME             prints a link by which the person chooses a new password (1 hour, once)
  disable NAME           keeps a person from signing in and from their data, until enabled again; nothing is lost
  enable NAME            undoes disable
  erase NAME             erases the account and everything of its person, for ever

Environment: DATABASE_URL, REDIS_URL and PUBLIC_URL, or each with _FILE, as the account app has them. When none is set, the
system that \`npm start\` runs on .data is meant.

Exit codes: 0 done, 1 not done, 2 not understood, 78 no usable environment.`;

/** The command line can't be understood, or asks how to use it. */
export class UsageError extends Error {}

/** What each command takes. */
const commands: Readonly<
  Record<OperatorCommand['verb'], { readonly operands: 0 | 1; readonly option?: 'json' | 'adopt' | 'label' }>
> = {
  list: { operands: 0, option: 'json' },
  create: { operands: 1, option: 'adopt' },
  invite: { operands: 0 },
  'first-link': { operands: 0 },
  'app-password': { operands: 1, option: 'label' },
  reset: { operands: 1 },
  disable: { operands: 1 },
  enable: { operands: 1 },
  erase: { operands: 1 },
};

/** Reads a command line. @throws UsageError with what is wrong; without a message where help was asked for. */
export function readCommand(args: readonly string[]): OperatorCommand {
  const { values, positionals } = parsed(args);
  if (values.help) throw new UsageError();
  const [verb, ...operands] = positionals;
  if (verb === undefined) throw new UsageError('a command is needed');
  if (!Object.hasOwn(commands, verb)) throw new UsageError(`there is no command ${verb}`);
  const known = commands[verb as OperatorCommand['verb']];
  const foreign = Object.keys(values).find((option) => option !== known.option);
  if (foreign) throw new UsageError(`${verb} knows no --${foreign}`);
  if (operands.length !== known.operands)
    throw new UsageError(known.operands === 0 ? `${verb} takes no NAME` : `${verb} takes exactly one NAME`);
  const { json = false, adopt = false, label } = values;
  return { verb, name: operands[0], json, adopt, label } as OperatorCommand;
}

function parsed(args: readonly string[]) {
  const options = {
    json: { type: 'boolean' },
    adopt: { type: 'boolean' },
    label: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
