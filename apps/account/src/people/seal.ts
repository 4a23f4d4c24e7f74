import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts and authenticates small values (AES-256-GCM) with `SECRETS_KEY`. Each purpose has its
 * own key, derived from `SECRETS_KEY` (HKDF, RFC 5869). A value can be decrypted only with the
 * purpose and context of its encryption.
 */
export class Seal {
  private readonly keysByPurpose = new Map<string, Buffer[]>();

  /** @param secrets `SECRETS_KEY`: secrets separated by commas; the first encrypts, all decrypt. */
  constructor(private readonly secrets: string) {}

  /**
   * Encrypts a value.
   *
   * @param context owner of the value, such as an account id. {@link open} needs the same context.
   * @returns nonce, encrypted value and tag.
   */
  seal(purpose: string, value: string, context = ''): Buffer {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.deriveKeys(purpose)[0] as Buffer, nonce);
    cipher.setAAD(Buffer.from(context));
    const encrypted = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, encrypted, cipher.getAuthTag()]);
  }

  /** Returns the decrypted value; undefined if it is forged or has another purpose or context. */
  open(purpose: string, sealed: Buffer, context = ''): string | undefined {
    if (sealed.length < nonceBytes + tagBytes) return undefined;
    for (const key of this.deriveKeys(purpose)) {
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, nonceBytes), {
          authTagLength: tagBytes,
        });
        decipher.setAAD(Buffer.from(context));
        decipher.setAuthTag(sealed.subarray(-tagBytes));
        const decrypted = [
          decipher.update(sealed.subarray(nonceBytes, -tagBytes)),
          decipher.final(),
        ];
        return Buffer.concat(decrypted).toString('utf8');
      } catch {
        // The value was sealed with another key or context, or is forged.
      }
    }
    return undefined;
  }

  private deriveKeys(purpose: string): Buffer[] {
    let keys = this.keysByPurpose.get(purpose);
    if (!keys) {
      const deriveKey = (secret: string) =>
        Buffer.from(hkdfSync('sha256', secret, '', `podcast-sync ${purpose}`, 32));
      keys = this.secrets.split(',').map(deriveKey);
      this.keysByPurpose.set(purpose, keys);
    }
    return keys;
  }
}
