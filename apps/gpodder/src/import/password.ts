import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

/**
 * Reads the password for the other server: from the first line of `file`, or by default from a
 * prompt without echo.
 *
 * @throws Error for an empty password, or if a prompt has no terminal.
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
  const silentOutput = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lineReader = createInterface({
    input: process.stdin,
    output: silentOutput,
    terminal: true,
  });
  const abortController = new AbortController();
  lineReader.once('SIGINT', () => abortController.abort());
  try {
    return await lineReader.question('', { signal: abortController.signal });
  } finally {
    lineReader.close();
    process.stderr.write('\n');
  }
}
