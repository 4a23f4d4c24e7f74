import { readFileSync, statSync } from 'node:fs';
import { ConfigurationError, type Log } from '#runtime';
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { IssuerKeys } from './issuer.keys.js';

/** How long to wait between two checks of the file, in milliseconds. */
const pollMs = 1_000;

/**
 * The keys of an issuer in a file.
 * - A changed file takes effect within a second, also where a link is swapped, as Kubernetes does with secrets.
 * - A file that is gone or unreadable changes nothing and is logged once: it may be in the middle of a change.
 */
export class FileKeys implements IssuerKeys {
  private keySet: JSONWebKeySet = { keys: [] };
  private local: JWTVerifyGetKey = createLocalJWKSet(this.keySet);
  private count = 0;
  /** The state of the file when it was read last, or what was wrong with it. */
  private seen = '';
  private readAt = 0;

  /** @throws ConfigurationError when the file can't be used at the start. */
  constructor(
    private readonly file: string,
    private readonly developmentKeys: 'allow' | 'refuse',
    private readonly log: Log,
  ) {
    try {
      this.read();
    } catch (error) {
      throw new ConfigurationError([`AUTH_JWKS_FILE: ${(error as Error).message}`]);
    }
  }

  readonly find: JWTVerifyGetKey = (header, token) => {
    this.refresh();
    return this.local(header, token);
  };

  version(): number {
    this.refresh();
    return this.count;
  }

  published(): JSONWebKeySet {
    this.refresh();
    return this.keySet;
  }

  private refresh(): void {
    if (performance.now() < this.readAt + pollMs) return;
    try {
      this.read();
    } catch (error) {
      const trouble = (error as Error).message;
      if (trouble !== this.seen) this.log.error({ err: error, file: this.file }, 'the key set stays as it was');
      this.seen = trouble;
    }
  }

  private read(): void {
    this.readAt = performance.now();
    const { mtimeMs, ino, size } = statSync(this.file);
    const state = `${mtimeMs} ${ino} ${size}`;
    if (state === this.seen) return;
    const keySet = JSON.parse(readFileSync(this.file, 'utf8')) as JSONWebKeySet;
    const local = createLocalJWKSet(keySet);
    refuseSecrets(keySet);
    if (this.developmentKeys === 'refuse') refuseDevelopmentKeys(keySet);
    this.local = local;
    this.keySet = keySet;
    this.seen = state;
    this.count++;
  }
}

/** The key set is published, so it must hold no key that can sign. */
function refuseSecrets({ keys }: JSONWebKeySet): void {
  if (keys.some((key) => 'd' in key || key.kty === 'oct')) throw new Error('the key set holds a private key');
}

/** Development keys, which `npm start` makes by itself, prove nothing in production. */
function refuseDevelopmentKeys({ keys }: JSONWebKeySet): void {
  const [key] = keys.filter(({ kid }) => kid?.startsWith('dev-'));
  if (!key) return;
  throw new Error(
    `${key.kid} is a development key: make one of your own with "npm run -s keys -- rotate --now", ` +
      'or set AUTH_DEVELOPMENT_KEYS=allow',
  );
}
