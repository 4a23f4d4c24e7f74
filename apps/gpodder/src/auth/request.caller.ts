import { Failure } from '#contracts';
import type { FastifyRequest } from 'fastify';
import type { Caller } from './authenticator.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated caller; absent only on paths that need no credential. */
    gpodderCaller?: Caller;
  }
}

/** Returns the authenticated caller of a request. @throws Failure `unauthorized` without one. */
export function callerOf({ gpodderCaller }: FastifyRequest): Caller {
  if (!gpodderCaller) throw new Failure('unauthorized');
  return gpodderCaller;
}

/** Returns the `reader` of a list contract: app password, session of the cookie, and `since`. */
export function readerOf({ credentialId, session }: Caller, since: number) {
  return { credentialId, since, ...(session && { sessionId: session.sessionId }) };
}
