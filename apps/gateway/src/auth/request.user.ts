import { Failure } from '#contracts';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** Returns the id of the authenticated user. @throws Failure `unauthorized` without one. */
export function userIdOf({ caller }: FastifyRequest): string {
  if (!caller) throw new Failure('unauthorized');
  return caller.userId;
}

/** Injects {@link userIdOf} of the request into a handler's parameter. */
export const UserId = createParamDecorator((_: unknown, context: ExecutionContext) =>
  userIdOf(context.switchToHttp().getRequest<FastifyRequest>()),
);
