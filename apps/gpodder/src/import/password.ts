import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

/**
 * Returns the password of the other server: the first line of a file, or hidden input.
 *
 * @throws Error for an empty password, or without a terminal.
 */
export async function readPassword(file: string | undefined, prompt: string): Promise<string> {
  const password = file === undefined ? await readHidden(prompt) : await readFirstLine(file);
  if (password === '')
    throw new Error(
      file === undefined
        ? 'the password is empty: run the command again'
        : `the first line of ${file} is empty: write the password into it`,
    );
  return password;
}

async function readFirstLine(file: string): Promise<string> {
  const text = await readFile(file, 'utf8');
  return (text.split('\n', 1)[0] as string).replace(/\r$/, '');
}

async function readHidden(prompt: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw new Error('no terminal for a password prompt: use --password-file');
  process.stderr.write(prompt);
  const noEcho = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: noEcho, terminal: true });
  const stopped = new AbortController();
  lines.once('SIGINT', () => stopped.abort());
  try {
    return await lines.question('', { signal: stopped.signal });
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
