import { createHash, randomUUID } from 'node:crypto';
import { type CallMetadata, Failure } from '#contracts';
import type { FastifyRequest } from 'fastify';
import { v5 as uuidv5 } from 'uuid';

/** Valid values of `Idempotency-Key`: printable ASCII without spaces. */
const keyPattern = /^[\x21-\x7e]{1,255}$/;

/** UUID namespace of request ids. Never change it, or repeated writes would run again. */
const requestIdNamespace = 'fd5e0a8c-7a64-4c0e-9d1e-7f1d3c2ab651';

/** The properties of a request that identify a write. */
type WriteRequest = Pick<FastifyRequest, 'method' | 'url' | 'headers' | 'bodyHash'>;

/**
 * Returns the request id and the fingerprint of a write (docs/reference/interface.md,
 * "Idempotency"). With an `Idempotency-Key`, the id is a UUIDv5 of the key, so a repetition has the
 * same id. Without a key, the id is a random UUID, and there is no fingerprint. The UUID versions
 * differ, so the two kinds of ids are never equal.
 *
 * @param part name of this write, if the request makes several writes. The first write has no name:
 *   its id depends only on the key. So a key of another request fails before anything changes.
 * @throws Failure `invalid` for an invalid key.
 */
export function writeIdentity(
  { method, url, headers, bodyHash }: WriteRequest,
  part?: string,
): Pick<CallMetadata, 'requestId' | 'fingerprint'> {
  const idempotencyKey = headers['idempotency-key'];
  if (idempotencyKey === undefined) return { requestId: randomUUID() };
  if (typeof idempotencyKey !== 'string' || !keyPattern.test(idempotencyKey))
    throw new Failure('invalid');
  const unversionedUrl = url.replace(/^\/v1\//, '/');
  const fingerprint = sha256(`${method} ${unversionedUrl} ${bodyHash ?? sha256('')}`);
  // The text for a further write differs from every key, because keys contain no spaces.
  return {
    requestId: uuidv5(
      part === undefined ? idempotencyKey : `${idempotencyKey} ${part}`,
      requestIdNamespace,
    ),
    fingerprint,
  };
}

/** Returns the hash of a body for the fingerprint; `undefined` without an idempotency key. */
export function hashOfBody(headers: FastifyRequest['headers'], body: Buffer): string | undefined {
  return headers['idempotency-key'] === undefined ? undefined : sha256(body);
}

function sha256(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
