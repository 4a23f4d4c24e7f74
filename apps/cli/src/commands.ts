import type { CommandDefinition, CommandGroup } from './command.js';
import { accounts, appPassword } from './commands/accounts.command.js';
import { backup } from './commands/backup.command.js';
import { copyUsers } from './commands/copy-users.command.js';
import { deletions } from './commands/deletions.command.js';
import { dump } from './commands/dump.command.js';
import { erase } from './commands/erase.command.js';
import { importCommand } from './commands/import.command.js';
import { keys } from './commands/keys.command.js';
import { load } from './commands/load.command.js';
import { login } from './commands/login.command.js';
import { migrate } from './commands/migrate.command.js';
import { restore } from './commands/restore.command.js';
import { secrets } from './commands/secrets.command.js';
import { start } from './commands/start.command.js';
import { token } from './commands/token.command.js';

/** All commands, in the order of the help. */
export const commands: readonly (CommandDefinition | CommandGroup)[] = [
  start,
  migrate,
  token,
  appPassword,
  accounts,
  login,
  load,
  dump,
  copyUsers,
  backup,
  restore,
  importCommand,
  erase,
  deletions,
  keys,
  secrets,
];
