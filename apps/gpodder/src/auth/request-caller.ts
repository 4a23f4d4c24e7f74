import { Failure } from '#contracts';
import type { FastifyRequest } from 'fastify';
import type { Caller } from './authenticator.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Authenticated client of the request; absent only on paths that need no credential. */
    gpodderCaller?: Caller;
  }
}

/** Returns the authenticated caller of a request. @throws Failure `unauthorized` without one. */
export function callerOf({ gpodderCaller }: FastifyRequest): Caller {
  if (!gpodderCaller) throw new Failure('unauthorized');
  return gpodderCaller;
}

/** Returns the field `reader` of list contracts: app password, session, and `since` in seconds. */
export function toReader({ credentialId, session }: Caller, since: number) {
  return { credentialId, since, ...(session && { sessionId: session.sessionId }) };
}
