import { execFileSync } from 'node:child_process';
import { readmeCalls, withoutStamps } from '#testing';
import { baseUrl, token as tokenOf } from './stack.js';
import { describe, expect, it } from 'vitest';

describe('the README', () => {
  it('shows five calls with their real output', async () => {
    const token = await tokenOf({ sub: `readme-${crypto.randomUUID()}` });
    const { define, calls } = readmeCalls();
    expect(calls).toHaveLength(5);
    for (const { command, output } of calls) {
      const script = `BASE='${baseUrl}'; TOKEN='${token}'; ${define}; ${command}`;
      const printed = execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trimEnd();
      expect(withoutStamps(printed)).toBe(withoutStamps(output));
    }
  });
});
