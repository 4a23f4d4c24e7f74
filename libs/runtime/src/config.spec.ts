import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ConfigurationError, loadConfig } from './config.js';

const schema = z.object({
  PORT: z.coerce.number().int().max(65_535).default(3000),
  SECRET: z.string(),
  NAME: z.string(),
});

describe('loadConfig', () => {
  it('reads variables and applies defaults', () => {
    expect(loadConfig(schema, { SECRET: 's', NAME: 'n' })).toEqual({
      PORT: 3000,
      SECRET: 's',
      NAME: 'n',
    });
  });

  it('reads a secret from the file that NAME_FILE names', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'config-')), 'secret');
    writeFileSync(file, 'from a file\n');
    expect(loadConfig(schema, { SECRET_FILE: file, NAME: 'n' }).SECRET).toBe('from a file');
  });

  it('lists the problems of all invalid variables together', () => {
    const problems = (() => {
      try {
        loadConfig(schema, { PORT: '70000', SECRET_FILE: '/does/not/exist' });
        return [];
      } catch (error) {
        return (error as ConfigurationError).problems;
      }
    })();
    expect(problems.map((problem) => problem.split(':')[0])).toEqual([
      'SECRET_FILE',
      'PORT',
      'NAME',
    ]);
  });

  it('refuses a variable that is set both directly and by file', () => {
    expect(() => loadConfig(schema, { SECRET: 'a', SECRET_FILE: 'b', NAME: 'n' })).toThrow(
      /either SECRET or SECRET_FILE/,
    );
  });
});
