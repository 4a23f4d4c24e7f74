import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import type { IdRange } from '#contracts';

/**
 * Content of a cursor: the start of a page, and values of the walk's first page. A walk is a
 * sequence of pages that a client reads by following links.
 */
export interface Cursor {
  direction: 'after' | 'before';
  /** The row id after or before which the page starts. */
  boundary: number;
  /** The `Sync-Timestamp` of the walk's first page. */
  syncTimestamp: string;
  /** The `total` of the walk's first page. */
  total: number;
  /** Row ids that the walk covers; only in a walk with `since`. */
  range?: IdRange | undefined;
}

/** The requests in which a cursor is valid: those of one user for one list and one `since`. */
export interface CursorScope {
  userId: string;
  list: string;
  since: string | undefined;
}

/** Bytes of the initialization vector, which is also the check value of the cursor. */
const ivBytes = 16;
/** A cursor in base64url: IV and six numbers of 8 bytes. The constant length reveals nothing. */
const cursorPattern = /^[\w-]{86}$/;

/**
 * Encodes cursors for links and decodes them (ADR 61). Invariants:
 * - With a secret key, a cursor does not reveal its content. Row ids come from sequences that all
 *   users share, so their growth would show how many rows other users add.
 * - A cursor can be decoded only with the key and the scope that it was encoded with. All replicas
 *   need the same key.
 * - A cursor has the same text each time it is encoded for a scope: the IV is a MAC of scope and
 *   content (RFC 5297, 1).
 */
export class Cursors {
  private readonly macKey: Buffer;
  private readonly cipherKey: Buffer;

  /** @param key at least 32 random characters. The default key is public and protects nothing. */
  constructor(key = 'podcast-sync cursors without CURSOR_KEY') {
    const deriveKey = (purpose: string) =>
      Buffer.from(hkdfSync('sha256', key, '', `podcast-sync cursor ${purpose}`, 32));
    this.macKey = deriveKey('check');
    this.cipherKey = deriveKey('content');
  }

  /** Returns the text of a cursor, which needs no escaping in a URL. */
  encode(cursor: Cursor, scope: CursorScope): string {
    const { direction, boundary, syncTimestamp, total, range } = cursor;
    const content = Buffer.alloc(48);
    const directionNumber = direction === 'after' ? 1 : 0;
    // Encodes an absent range as two zeros, because row ids start at 1.
    [
      directionNumber,
      boundary,
      Date.parse(syncTimestamp),
      total,
      range?.first ?? 0,
      range?.last ?? 0,
    ].map((number, index) => content.writeDoubleBE(number, index * 8));
    const iv = this.computeIv(content, scope);
    const cipher = createCipheriv('aes-256-ctr', this.cipherKey, iv);
    return Buffer.concat([iv, cipher.update(content)]).toString('base64url');
  }

  /** Decodes a cursor; `undefined` if it is invalid or of another scope. */
  decode(text: string, scope: CursorScope): Cursor | undefined {
    if (!cursorPattern.test(text)) return undefined;
    const bytes = Buffer.from(text, 'base64url');
    const iv = bytes.subarray(0, ivBytes);
    const decipher = createDecipheriv('aes-256-ctr', this.cipherKey, iv);
    const content = decipher.update(bytes.subarray(ivBytes));
    // Accepts only one text per cursor. Others decode to the same bytes, because decoding ignores
    // some bits of the last base64url character.
    if (!this.computeIv(content, scope).equals(iv) || bytes.toString('base64url') !== text)
      return undefined;
    const readNumber = (index: number) => content.readDoubleBE(index * 8);
    const [first, last] = [readNumber(4), readNumber(5)];
    return {
      direction: readNumber(0) === 1 ? 'after' : 'before',
      boundary: readNumber(1),
      syncTimestamp: new Date(readNumber(2)).toISOString(),
      total: readNumber(3),
      ...(first > 0 && { range: { first, last } }),
    };
  }

  /** Returns the initialization vector: a MAC of content and scope. */
  private computeIv(content: Buffer, { userId, list, since }: CursorScope): Buffer {
    return createHmac('sha256', this.macKey)
      .update(JSON.stringify([userId, list, since ?? '']))
      .update(content)
      .digest()
      .subarray(0, ivBytes);
  }
}
