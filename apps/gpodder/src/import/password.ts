import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

/**
 * Reads the password at the other server: the first line of a file, or hidden input.
 *
 * @throws Error for an empty password, or without a terminal.
 */
export async function readPassword(file: string | undefined, asked: string): Promise<string> {
  const password = file === undefined ? await typed(asked) : await firstLine(file);
  if (password === '') throw new Error('there is no password');
  return password;
}

async function firstLine(file: string): Promise<string> {
  const text = await readFile(file, 'utf8');
  return (text.split('\n', 1)[0] as string).replace(/\r$/, '');
}

async function typed(asked: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw new Error('there is nobody to ask for the password: --password-file says where it is');
  process.stderr.write(asked);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  const stopped = new AbortController();
  lines.once('SIGINT', () => stopped.abort());
  try {
    return await lines.question('', { signal: stopped.signal });
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
