import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Writes a file that only this user can read, whole or not at all. */
export function writePrivateFile(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const unfinished = `${path}.${process.pid}.new`;
  writeFileSync(unfinished, content, { mode: 0o600 });
  renameSync(unfinished, path);
}

/** The secret kept in a file of mode 0600: made at random the first time, the same ever after. Safe inside a URL. */
export function secretFile(path: string): string {
  if (!existsSync(path)) writePrivateFile(path, `${randomBytes(24).toString('base64url')}\n`);
  return readFileSync(path, 'utf8').trim();
}
