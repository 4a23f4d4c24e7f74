import { createHash, randomUUID } from 'node:crypto';
import { Failure } from '#contracts';
import type { FastifyRequest } from 'fastify';
import { v5 as uuidv5 } from 'uuid';

/** What a client may send as `Idempotency-Key`. */
const keyForm = /^[\x21-\x7e]{1,255}$/;

/** The namespace of request ids that are made of keys. Another one would make every write that is sent again a new one. */
const namespace = 'fd5e0a8c-7a64-4c0e-9d1e-7f1d3c2ab651';

/** What makes a write that comes again the same one (docs/reference/interface.md, "Idempotency"). */
export interface WriteIdentity {
  readonly requestId: string;
  readonly fingerprint?: string;
}

type Request = Pick<FastifyRequest, 'method' | 'url' | 'headers' | 'bodyHash'>;

/**
 * The identity of a write. By its version the id of a client's key can't be that of another request, which is random.
 *
 * @param part of a request that is several writes: which one, by a name of its own. Left out for the first: by that one a
 *   key is known to be that of another request, before anything is changed.
 * @throws Failure `invalid` for a key that is none.
 */
export function writeIdentity({ method, url, headers, bodyHash }: Request, part?: string): WriteIdentity {
  const key = headers['idempotency-key'];
  if (key === undefined) return { requestId: randomUUID() };
  if (typeof key !== 'string' || !keyForm.test(key)) throw new Failure('invalid');
  const target = url.replace(/^\/v1\//, '/');
  const fingerprint = sha256(`${method} ${target} ${bodyHash ?? sha256('')}`);
  // No key has a space.
  return { requestId: uuidv5(part === undefined ? key : `${key} ${part}`, namespace), fingerprint };
}

/** The part of a fingerprint that only the one who reads the body can make; none without a key that asks for it. */
export function hashOfBody(headers: FastifyRequest['headers'], body: Buffer): string | undefined {
  return headers['idempotency-key'] === undefined ? undefined : sha256(body);
}

function sha256(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
