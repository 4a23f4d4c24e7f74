import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from './launched-system.js';

/** A command in a console session of the README, and its output. */
export interface ReadmeCall {
  readonly command: string;
  readonly output: string;
}

/** Returns the commands in the README. The first three define variables, the others are calls. */
export function readmeCalls(): {
  base: string;
  token: string;
  define: string;
  calls: ReadmeCall[];
} {
  const readme = readFileSync(join(repository, 'README.md'), 'utf8');
  const blocks = [...readme.matchAll(/```console\n([^]*?)```/g)];
  const sessions = blocks.map(([, session]) => session as string);
  const [base, token, define, ...calls] = sessions.flatMap((session) =>
    session
      .split(/^\$ /m)
      .filter(Boolean)
      .map((commandAndOutput) => {
        const lines = commandAndOutput.trimEnd().split('\n');
        const end =
          lines.findIndex((_, index) => isCompleteCommand(lines.slice(0, index + 1).join('\n'))) +
          1;
        return { command: lines.slice(0, end).join('\n'), output: lines.slice(end).join('\n') };
      }),
  );
  return {
    base: base?.command ?? '',
    token: token?.command ?? '',
    define: define?.command ?? '',
    calls,
  };
}

/** Returns false for a command that continues: it has an open quote or ends with a backslash. */
const isCompleteCommand = (text: string) =>
  !text.endsWith('\\') && text.split("'").length % 2 === 1;

/** Matches the stamp in an answer of a call. */
const stampPattern = /(?<="subscription_changed":")[^"]*/g;

/** Returns an answer without its stamps, which differ from run to run. */
export const withoutStamps = (text: string) => text.replace(stampPattern, '…');
