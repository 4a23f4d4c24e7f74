import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FaultLog, type Log } from '#runtime';
import type { JSONWebKeySet, JWK } from 'jose';

/** Interval in milliseconds at which the key files are read. */
const keyPollMs = 2_000;

/**
 * Milliseconds between the publication of a key and its first use. Longer than the cool-down after
 * which a verifier fetches the key set again for an unknown key (10 s in the gateway).
 */
const publicationMs = 60_000;

/** Private key that signs tokens, with its id (`kid`). */
export type SigningKey = JWK & { readonly kid: string };

/**
 * Signing key and set of public keys, from files that `npm run keys` and `secrets --rotate` write.
 * Invariants:
 * - A changed key set is published immediately. A new key signs {@link publicationMs} later, or
 *   immediately if the set no longer contains the old key, as after a leak.
 * - Unreadable files, and a key set without the signing key, change nothing and are logged once.
 */
export class SigningKeys {
  private currentKey: SigningKey;
  private publicKeys: JSONWebKeySet;
  /** New key that does not sign yet; `since` is when it was first read (`performance.now()`). */
  private pendingKey: { readonly key: SigningKey; readonly since: number } | undefined;
  private readonly timer: NodeJS.Timeout;
  private readonly changeListeners: (() => void)[] = [];
  private readonly reloadFaultLog: FaultLog;

  /**
   * @param directory folder of `signing-key.json` and `jwks.json`.
   * @throws Error if the files are unreadable or the set does not contain the signing key.
   */
  constructor(
    private readonly directory: string,
    private readonly log: Log,
    private readonly waitMs = publicationMs,
  ) {
    this.reloadFaultLog = new FaultLog(log, {
      failed: 'signing keys not reloaded, keeping the current ones',
      recovered: 'signing keys reloaded',
    });
    const { key, keySet } = this.readKeys();
    [this.currentKey, this.publicKeys] = [key, keySet];
    this.timer = setInterval(() => this.reloadKeys(), keyPollMs).unref();
  }

  /** Key that signs new tokens. */
  get signingKey(): SigningKey {
    return this.currentKey;
  }

  /** Public keys of `jwks.json`: of the signing key, of earlier keys and of a pending key. */
  get publicKeySet(): JSONWebKeySet {
    return this.publicKeys;
  }

  /** Registers a function to call after {@link signingKey} has been replaced. */
  onChange(listener: () => void): void {
    this.changeListeners.push(listener);
  }

  /** Stops reading the key files. */
  close(): void {
    clearInterval(this.timer);
  }

  private reloadKeys(): void {
    try {
      const { key, keySet } = this.readKeys();
      this.reloadFaultLog.recordSuccess();
      this.publicKeys = keySet;
      if (key.kid === this.currentKey.kid) return void (this.pendingKey = undefined);
      if (this.pendingKey?.key.kid !== key.kid) this.pendingKey = { key, since: performance.now() };
      if (
        containsKey(keySet, this.currentKey) &&
        performance.now() - this.pendingKey.since < this.waitMs
      )
        return;
      this.currentKey = key;
      this.pendingKey = undefined;
      this.log.info({ kid: key.kid }, 'signing key replaced: the new key signs new tokens');
      for (const listener of this.changeListeners) listener();
    } catch (error) {
      this.reloadFaultLog.recordFailure(error);
    }
  }

  /** @throws Error if a file is unreadable or the set does not contain the signing key. */
  private readKeys(): { key: SigningKey; keySet: JSONWebKeySet } {
    const readJsonFile = (name: string): unknown =>
      JSON.parse(readFileSync(join(this.directory, name), 'utf8'));
    const key = readJsonFile('signing-key.json') as SigningKey;
    const { keys } = readJsonFile('jwks.json') as JSONWebKeySet;
    const keySet = { keys: keys.map(toPublicKey) };
    if (!containsKey(keySet, key))
      throw new Error(`${this.directory}: the signing key is not in the key set`);
    return { key, keySet };
  }
}

function containsKey(keySet: JSONWebKeySet, { kid }: SigningKey): boolean {
  return keySet.keys.some((key) => key.kid === kid);
}

function toPublicKey({ kty, crv, x, kid, alg, use }: JWK): JWK {
  return { kty, crv, x, kid, alg, use } as JWK;
}
