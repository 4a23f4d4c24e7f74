import { readFileSync, statSync } from 'node:fs';
import { ConfigurationError, type Log } from '#runtime';
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { IssuerKeys } from './issuer-keys.js';

/** Minimum time between two checks of the file, in milliseconds. */
const checkIntervalMs = 1_000;

/**
 * The keys of an issuer, read from a file (`AUTH_JWKS_FILE`). Invariants:
 * - A changed file takes effect within a second, also if a symbolic link is replaced (Kubernetes
 *   secrets).
 * - If the file becomes missing or invalid, the error is logged once and the current keys stay in
 *   use, because the file can be half written.
 */
export class FileKeys implements IssuerKeys {
  private keySet: JSONWebKeySet = { keys: [] };
  private findKey: JWTVerifyGetKey = createLocalJWKSet(this.keySet);
  private versionNumber = 0;
  /** Time, inode and size of the file at the last check; the error message if the check failed. */
  private lastCheckResult = '';
  /** Time of the last check, by `performance.now()`. */
  private checkedAt = 0;

  /** @throws ConfigurationError if the file is missing or invalid. */
  constructor(
    private readonly file: string,
    private readonly developmentKeyPolicy: 'allow' | 'refuse',
    private readonly log: Log,
  ) {
    try {
      this.readChangedFile();
    } catch (error) {
      throw new ConfigurationError([`AUTH_JWKS_FILE: ${file}: ${(error as Error).message}`]);
    }
  }

  readonly find: JWTVerifyGetKey = (header, token) => {
    this.refreshKeys();
    return this.findKey(header, token);
  };

  version(): number {
    this.refreshKeys();
    return this.versionNumber;
  }

  publishedKeySet(): JSONWebKeySet {
    this.refreshKeys();
    return this.keySet;
  }

  /** Reads a changed file, at most once per second. Logs failures and never throws. */
  private refreshKeys(): void {
    if (performance.now() < this.checkedAt + checkIntervalMs) return;
    try {
      this.readChangedFile();
    } catch (error) {
      const message = (error as Error).message;
      if (message !== this.lastCheckResult)
        this.log.error(
          { err: error, file: this.file },
          'key set file missing or invalid: restore it, the last valid keys stay in use',
        );
      this.lastCheckResult = message;
    }
  }

  /** Reads the file if it changed. @throws Error if the file is missing or invalid. */
  private readChangedFile(): void {
    this.checkedAt = performance.now();
    const { mtimeMs, ino, size } = statSync(this.file);
    const fileState = `${mtimeMs} ${ino} ${size}`;
    if (fileState === this.lastCheckResult) return;
    const keySet = JSON.parse(readFileSync(this.file, 'utf8')) as JSONWebKeySet;
    const findKey = createLocalJWKSet(keySet);
    rejectSecrets(keySet);
    if (this.developmentKeyPolicy === 'refuse') rejectDevelopmentKeys(keySet);
    this.findKey = findKey;
    this.keySet = keySet;
    this.lastCheckResult = fileState;
    this.versionNumber++;
  }
}

/** Rejects keys that can sign, because the key set is published. */
function rejectSecrets({ keys }: JSONWebKeySet): void {
  if (keys.some((key) => 'd' in key || key.kty === 'oct'))
    throw new Error('the key set contains a private or symmetric key: use a set of public keys');
}

/** Rejects the development keys that `npm start` creates, which are insecure in production. */
function rejectDevelopmentKeys({ keys }: JSONWebKeySet): void {
  const [key] = keys.filter(({ kid }) => kid?.startsWith('dev-'));
  if (!key) return;
  throw new Error(
    `${key.kid} is a development key: create a key with "npm run -s keys -- rotate --now", ` +
      'or set AUTH_DEVELOPMENT_KEYS=allow',
  );
}
