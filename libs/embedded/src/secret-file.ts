import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Writes a file of mode 0600 atomically. */
export function writePrivateFile(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const unfinished = `${path}.${process.pid}.new`;
  writeFileSync(unfinished, content, { mode: 0o600 });
  renameSync(unfinished, path);
}

/** Returns the secret in a file, and creates a random one the first time. URLs can contain it. */
export function readOrCreateSecret(path: string): string {
  if (!existsSync(path)) writePrivateFile(path, `${randomBytes(24).toString('base64url')}\n`);
  return readFileSync(path, 'utf8').trim();
}
