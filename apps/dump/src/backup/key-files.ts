import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writePrivateFile } from '#embedded';

/** Paths of the key files by layout, and by the name of the key in a backup. */
const layouts = {
  /** In the data directory of `podcast-sync start`. */
  data: {
    'signing-key': 'keys/account/signing-key.json',
    'key-set': 'keys/account/jwks.json',
    'secrets-key': 'passwords/secrets-key',
    'session-key': 'passwords/session-key',
  },
  /** In the directory of `podcast-sync secrets`. */
  secrets: {
    'signing-key': 'account/signing-key.json',
    'key-set': 'account/jwks.json',
    'secrets-key': 'account/SECRETS_KEY',
    'session-key': 'gpodder/SESSION_KEY',
  },
} satisfies Record<string, Record<string, string>>;

/** A directory with the keys of a system. */
export interface KeyDirectory {
  readonly layout: keyof typeof layouts;
  readonly path: string;
}

/** Returns the keys of a directory by name. @throws Error that names a missing file. */
export function readKeys({ layout, path }: KeyDirectory): Map<string, string> {
  const keys = new Map<string, string>();
  for (const [name, file] of Object.entries(layouts[layout])) {
    const fullPath = join(path, file);
    if (!existsSync(fullPath)) throw new Error(`the key file ${fullPath} is missing`);
    keys.set(name, readFileSync(fullPath, 'utf8'));
  }
  return keys;
}

/**
 * Writes keys to the files of a directory. Files of other keys stay unchanged. In the layout
 * `secrets`, every user can read the files.
 */
export function writeKeys({ layout, path }: KeyDirectory, keys: ReadonlyMap<string, string>): void {
  for (const [name, file] of Object.entries(layouts[layout])) {
    const content = keys.get(name);
    if (content === undefined) continue;
    writePrivateFile(join(path, file), content);
    if (layout === 'secrets') chmodSync(join(path, file), 0o444);
  }
}
