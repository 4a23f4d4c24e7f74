import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from './launched.system.js';

/** A command of the README and what it shows below it. */
export interface ReadmeCall {
  readonly command: string;
  readonly output: string;
}

/** The console sessions of the README: what names the server and gets a token, what defines `api`, and the calls. */
export function readmeCalls(): { base: string; token: string; define: string; calls: ReadmeCall[] } {
  const readme = readFileSync(join(repository, 'README.md'), 'utf8');
  const sessions = [...readme.matchAll(/```console\n([^]*?)```/g)].map(([, session]) => session as string);
  const [base, token, define, ...calls] = sessions.flatMap((session) =>
    session
      .split(/^\$ /m)
      .filter(Boolean)
      .map((part) => {
        const [command = '', ...output] = part.trimEnd().split('\n');
        return { command, output: output.join('\n') };
      }),
  );
  return { base: base?.command ?? '', token: token?.command ?? '', define: define?.command ?? '', calls };
}

/** Without the one thing in an answer that differs from run to run. */
export const withoutStamps = (text: string) => text.replace(/"(subscription_changed)":"[^"]*"/g, '"$1":"…"');
