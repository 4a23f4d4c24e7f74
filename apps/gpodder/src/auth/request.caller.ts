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

/** The caller whom admission found in the credential. @throws Failure `unauthorized` where there is none. */
export function callerOf({ by }: FastifyRequest): Caller {
  if (!by) throw new Failure('unauthorized');
  return by;
}

/** Injects {@link callerOf} of the request into a parameter of a handler. */
export const By = createParamDecorator((_: unknown, context: ExecutionContext) =>
  callerOf(context.switchToHttp().getRequest<FastifyRequest>()),
);

/** Who reads a list, for the services: its app password, its session if its cookie came, and from where on. */
export function readerOf({ credentialId, session }: Caller, since: number) {
  return { credentialId, since, ...(session && { sessionId: session.sessionId }) };
}
