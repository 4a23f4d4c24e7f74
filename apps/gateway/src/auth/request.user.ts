import { Failure } from '#contracts';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** The id of the user whom admission found in the credential. @throws Failure `unauthorized` where there is none. */
export function userIdOf({ caller }: FastifyRequest): string {
  if (!caller) throw new Failure('unauthorized');
  return caller.userId;
}

/** Injects {@link userIdOf} of the request into a parameter of a handler. */
export const UserId = createParamDecorator((_: unknown, context: ExecutionContext) =>
  userIdOf(context.switchToHttp().getRequest<FastifyRequest>()),
);
