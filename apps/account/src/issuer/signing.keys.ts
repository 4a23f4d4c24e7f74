import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '#runtime';
import type { JWK, JSONWebKeySet } from 'jose';

/** How often the files are looked at, in milliseconds. */
const pollMs = 2_000;

/**
 * How long a new key is published before tokens are signed with it, in milliseconds: longer than whoever checks them
 * keeps a key set without asking again for an unknown key.
 */
const publishedMs = 60_000;

/** A key that signs. */
export type SigningKey = JWK & { readonly kid: string };

/**
 * The keys of the issuer, from the files that `npm run keys` and `secrets --rotate` write: the one that signs, and the set
 * of public ones that prove tokens. Invariants:
 * - A key set is served as soon as it is in the file. A new key signs once it has been served for {@link publishedMs}, or at
 *   once where the old one is no longer in the set, as after a leak.
 * - Files that can't be read, or do not fit each other, change nothing.
 */
export class SigningKeys {
  private current: SigningKey;
  private set: JSONWebKeySet;
  private next: { readonly key: SigningKey; readonly since: number } | undefined;
  private readonly timer: NodeJS.Timeout;
  private readonly listeners: (() => void)[] = [];

  /**
   * @param directory with `signing-key.json` and `jwks.json`.
   * @throws Error where there are no keys that fit.
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

  /** What tokens are signed with. */
  get signing(): SigningKey {
    return this.current;
  }

  /** What proves tokens: public keys only. */
  get keySet(): JSONWebKeySet {
    return this.set;
  }

  /** Calls a listener whenever another key signs. */
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
    const json = (name: string): unknown => JSON.parse(readFileSync(join(this.directory, name), 'utf8'));
    const key = json('signing-key.json') as SigningKey;
    const { keys } = json('jwks.json') as JSONWebKeySet;
    return { key, set: { keys: keys.map(publicPart) } };
  }
}

function isIn(set: JSONWebKeySet, { kid }: SigningKey): boolean {
  return set.keys.some((key) => key.kid === kid);
}

/** The members of a public key of the kinds that sign here, whatever else the file has. */
function publicPart({ kty, crv, x, kid, alg, use }: JWK): JWK {
  return { kty, crv, x, kid, alg, use } as JWK;
}
