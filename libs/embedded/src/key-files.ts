import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  type JSONWebKeySet,
  type JWK,
} from 'jose';
import { writePrivateFile } from './secret-file.js';

const algorithm = 'EdDSA';

/** A key of the key set, without its key material. */
export interface KeySetEntry {
  readonly kid: string;
  /** True for the key that signs new tokens. */
  readonly signs: boolean;
}

/**
 * The key files of an issuer in a directory: `signing-key.json` of mode 0600, and the public key
 * set `jwks.json`.
 * - A rotation keeps the replaced key in the key set, except with `now`, and removes older keys.
 * - A key created without a rotation is a development key: its `kid` starts with `dev-`.
 */
export class KeyFiles {
  private constructor(private readonly directory: string) {}

  /** Returns the key files of a directory. Creates a development key if there is none. */
  static async open(directory: string): Promise<KeyFiles> {
    const files = new KeyFiles(directory);
    if (!existsSync(files.keyFile))
      writePrivateFile(files.keyFile, serializeKey(await generateKey('dev-')));
    if (!existsSync(files.keySetFile)) files.writeKeySet([toPublicKey(files.readSigningKey())]);
    return files;
  }

  get keySetFile(): string {
    return join(this.directory, 'jwks.json');
  }

  readSigningKey(): JWK & { kid: string } {
    return JSON.parse(readFileSync(this.keyFile, 'utf8')) as JWK & { kid: string };
  }

  /**
   * Creates a new signing key. Tokens of the old key stay valid until they expire.
   *
   * @param now invalidates tokens of the old key immediately, as after a leak.
   * @returns the keys of the new key set.
   */
  async rotate({ now = false } = {}): Promise<KeySetEntry[]> {
    const [oldKey, newKey] = [this.readSigningKey(), await generateKey('')];
    // Writes the key set first, because gateways need the new key before its first token.
    this.writeKeySet([toPublicKey(newKey), toPublicKey(oldKey)]);
    writePrivateFile(this.keyFile, serializeKey(newKey));
    if (now) this.writeKeySet([toPublicKey(newKey)]);
    return this.keys();
  }

  /** Returns the keys of the key set. The signing key comes first. */
  keys(): KeySetEntry[] {
    const { kid: signingKid } = this.readSigningKey();
    const { keys } = JSON.parse(readFileSync(this.keySetFile, 'utf8')) as JSONWebKeySet;
    return keys.map(({ kid }) => ({ kid: kid as string, signs: kid === signingKid }));
  }

  private get keyFile(): string {
    return join(this.directory, 'signing-key.json');
  }

  /** Writes the key set atomically, because a gateway can read the file at the same time. */
  private writeKeySet(keys: JWK[]): void {
    const temporaryFile = `${this.keySetFile}.${process.pid}.new`;
    writeFileSync(temporaryFile, `${JSON.stringify({ keys }, undefined, 2)}\n`);
    renameSync(temporaryFile, this.keySetFile);
  }
}

async function generateKey(kidPrefix: 'dev-' | ''): Promise<JWK> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const key = await exportJWK(privateKey);
  return {
    ...key,
    kid: `${kidPrefix}${await calculateJwkThumbprint(key)}`,
    alg: algorithm,
    use: 'sig',
  };
}

function toPublicKey({ d: _secret, ...publicKey }: JWK): JWK {
  return publicKey;
}

function serializeKey(key: JWK): string {
  return `${JSON.stringify(key)}\n`;
}
