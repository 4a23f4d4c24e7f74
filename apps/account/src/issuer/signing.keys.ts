import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '#runtime';
import type { JWK, JSONWebKeySet } from 'jose';

/** Poll interval of the files in milliseconds. */
const pollMs = 2_000;

/**
 * Milliseconds from a key's publication to its first use, longer than verifiers wait before they
 * reload a set for an unknown key.
 */
const publishedMs = 60_000;

/** A private key with its id. */
export type SigningKey = JWK & { readonly kid: string };

/**
 * The signing key and the set of public keys, which `npm run keys` and `secrets --rotate` write to
 * files. Invariants:
 * - A key set is served as soon as its file has it. A new key signs {@link publishedMs} later, or
 *   immediately if the set no longer contains the old one, as after a leak.
 * - Unreadable or inconsistent files change nothing.
 */
export class SigningKeys {
  private current: SigningKey;
  private set: JSONWebKeySet;
  private next: { readonly key: SigningKey; readonly since: number } | undefined;
  private readonly timer: NodeJS.Timeout;
  private readonly listeners: (() => void)[] = [];

  /**
   * @param directory with `signing-key.json` and `jwks.json`.
   * @throws Error if the files are unreadable or the set does not contain the signing key.
   */
  constructor(
    private readonly directory: string,
    private readonly log: Log,
    private readonly waitMs = publishedMs,
  ) {
    const { key, set } = this.read();
    if (!isIn(set, key)) throw new Error(`${directory}: the signing key is not in the key set`);
    [this.current, this.set] = [key, set];
    this.timer = setInterval(() => this.look(), pollMs).unref();
  }

  get signing(): SigningKey {
    return this.current;
  }

  get keySet(): JSONWebKeySet {
    return this.set;
  }

  /** Calls a listener after each change of the signing key. */
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  close(): void {
    clearInterval(this.timer);
  }

  private look(): void {
    try {
      const { key, set } = this.read();
      if (!isIn(set, key)) return;
      this.set = set;
      if (key.kid === this.current.kid) return void (this.next = undefined);
      if (this.next?.key.kid !== key.kid) this.next = { key, since: performance.now() };
      if (isIn(set, this.current) && performance.now() - this.next.since < this.waitMs) return;
      this.current = key;
      this.next = undefined;
      this.log.info({ kid: key.kid }, 'tokens are signed with a new key');
      for (const listener of this.listeners) listener();
    } catch (error) {
      this.log.warn({ err: error }, 'the keys could not be read; the known ones stay');
    }
  }

  private read(): { key: SigningKey; set: JSONWebKeySet } {
    const json = (name: string): unknown =>
      JSON.parse(readFileSync(join(this.directory, name), 'utf8'));
    const key = json('signing-key.json') as SigningKey;
    const { keys } = json('jwks.json') as JSONWebKeySet;
    return { key, set: { keys: keys.map(publicPart) } };
  }
}

function isIn(set: JSONWebKeySet, { kid }: SigningKey): boolean {
  return set.keys.some((key) => key.kid === kid);
}

function publicPart({ kty, crv, x, kid, alg, use }: JWK): JWK {
  return { kty, crv, x, kid, alg, use } as JWK;
}
