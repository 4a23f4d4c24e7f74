import { Failure } from '#contracts';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Caller } from './authenticator.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated caller; absent only on paths that need no credential. */
    by?: Caller;
  }
}

/** Returns the authenticated caller of a request. @throws Failure `unauthorized` without one. */
export function callerOf({ by }: FastifyRequest): Caller {
  if (!by) throw new Failure('unauthorized');
  return by;
}

/** Injects {@link callerOf} of the request into a handler's parameter. */
export const By = createParamDecorator((_: unknown, context: ExecutionContext) =>
  callerOf(context.switchToHttp().getRequest<FastifyRequest>()),
);

/** Returns the reader of a list: app password, session of the cookie, and `since`. */
export function readerOf({ credentialId, session }: Caller, since: number) {
  return { credentialId, since, ...(session && { sessionId: session.sessionId }) };
}
