import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Writes a file of mode 0600 atomically. */
export function writePrivateFile(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const temporaryFile = `${path}.${process.pid}.new`;
  writeFileSync(temporaryFile, content, { mode: 0o600 });
  renameSync(temporaryFile, path);
}

/** Returns the secret in a file. A missing file is created with a random, URL-safe secret. */
export function readOrCreateSecret(path: string): string {
  if (!existsSync(path)) writePrivateFile(path, `${randomBytes(24).toString('base64url')}\n`);
  return readFileSync(path, 'utf8').trim();
}
