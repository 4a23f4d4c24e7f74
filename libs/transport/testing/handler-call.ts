import { randomUUID } from 'node:crypto';
import { CallContext } from '../src/server/stream-server.js';

/** Creates the context of a call. @param fingerprint hash, for a write with a key. */
export function call(
  requestId: string = randomUUID(),
  timeLimitMs = 10_000,
  fingerprint?: string,
): CallContext {
  const metadata = { requestId, ...(fingerprint !== undefined && { fingerprint }) };
  const reply = { channel: 'test', id: '1' };
  const request = { pattern: 'test', data: '', timeLimitMs, metadata, reply };
  return new CallContext([
    { id: `${Date.now()}-0`, deadline: performance.now() + timeLimitMs, request },
    () => performance.now(),
  ]);
}
