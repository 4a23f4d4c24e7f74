import { readFileSync, statSync } from 'node:fs';
import { ConfigurationError, type Log } from '#runtime';
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { IssuerKeys } from './issuer.keys.js';

/** How long a look at the file counts, in milliseconds. */
const lookMs = 1_000;

/**
 * The keys of an issuer in a file.
 * - A changed file counts within a second, also one that is swapped by a link, as Kubernetes does with secrets.
 * - A file that is gone or unreadable changes nothing, but is logged once: it may be in the middle of a change.
 */
export class FileKeys implements IssuerKeys {
  private keySet: JSONWebKeySet = { keys: [] };
  private local: JWTVerifyGetKey = createLocalJWKSet(this.keySet);
  private count = 0;
  private seen = '';
  private lookedAt = 0;

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
    this.look();
    return this.local(header, token);
  };

  version(): number {
    this.look();
    return this.count;
  }

  published(): JSONWebKeySet {
    this.look();
    return this.keySet;
  }

  private look(): void {
    if (performance.now() < this.lookedAt + lookMs) return;
    try {
      this.read();
    } catch (error) {
      const trouble = (error as Error).message;
      if (trouble !== this.seen) this.log.error({ err: error, file: this.file }, 'the key set stays as it was');
      this.seen = trouble;
    }
  }

  private read(): void {
    this.lookedAt = performance.now();
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

/** What is served to everybody must hold nothing that signs. */
function refuseSecrets({ keys }: JSONWebKeySet): void {
  if (keys.some((key) => 'd' in key || key.kty === 'oct')) throw new Error('the key set holds a private key');
}

/** Keys that nobody asked for, made by the embedded default for a first look, prove nothing in production. */
function refuseDevelopmentKeys({ keys }: JSONWebKeySet): void {
  const [key] = keys.filter(({ kid }) => kid?.startsWith('dev-'));
  if (!key) return;
  throw new Error(
    `${key.kid} is a development key: make one of your own with "npm run -s keys -- rotate --now", ` +
      'or set AUTH_DEVELOPMENT_KEYS=allow',
  );
}
