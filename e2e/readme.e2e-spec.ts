import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { baseUrl, token as tokenOf } from './stack.js';
import { describe, expect, it } from 'vitest';

/** The console sessions of the README: each command and what it shows below it. */
function calls(): { command: string; output: string }[] {
  const readme = readFileSync('README.md', 'utf8');
  const sessions = [...readme.matchAll(/```console\n([^]*?)```/g)].map(([, session]) => session as string);
  return sessions.flatMap((session) =>
    session
      .split(/^\$ /m)
      .filter(Boolean)
      .map((part) => {
        const [command = '', ...output] = part.trimEnd().split('\n');
        return { command, output: output.join('\n') };
      }),
  );
}

/** The one thing that differs from run to run. */
const withoutStamps = (text: string) => text.replace(/"(subscription_changed)":"[^"]*"/g, '"$1":"…"');

describe('the README', () => {
  it('shows five calls that print what it shows', async () => {
    const token = await tokenOf({ sub: `readme-${crypto.randomUUID()}` });
    const [base, makeToken, define, ...rest] = calls();
    expect(base?.command).toMatch(/^BASE=/);
    expect(makeToken?.command).toMatch(/^TOKEN=/);
    expect(rest).toHaveLength(5);
    for (const { command, output } of rest) {
      const script = `BASE='${baseUrl}'; TOKEN='${token}'; ${define?.command}; ${command}`;
      const printed = execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trimEnd();
      expect(withoutStamps(printed)).toBe(withoutStamps(output));
    }
  });
});
