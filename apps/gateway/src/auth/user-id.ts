import { Failure, guidSchema } from '#contracts';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { v5 as uuidv5 } from 'uuid';

/**
 * The user that a credential names: the subject itself where the issuer is ours and it is a UUID, otherwise UUIDv5 of
 * the subject in the namespace that is UUIDv5 of the issuer. Never changed: stored data is found by it.
 */
export function userId(issuer: string, subject: string, ownIssuer: string): string {
  const uuid = issuer === ownIssuer ? guidSchema.safeParse(subject) : undefined;
  return uuid?.success ? uuid.data : uuidv5(subject, uuidv5(issuer, uuidv5.URL));
}

/** Reads `new=first,…`: which issuer another one counts as. */
export function issuerAliases(setting: string | undefined): ReadonlyMap<string, string> {
  const pairs = setting?.split(',').map((pair) => pair.split('=').map((name) => name.trim()) as [string, string]);
  return new Map(pairs);
}

/** The id of the user whom admission found in the credential. @throws Failure `unauthorized` where there is none. */
export function userIdOf({ caller }: FastifyRequest): string {
  if (!caller) throw new Failure('unauthorized');
  return caller.userId;
}

/** Injects {@link userIdOf} of the request into a parameter of a handler. */
export const UserId = createParamDecorator((_: unknown, context: ExecutionContext) =>
  userIdOf(context.switchToHttp().getRequest<FastifyRequest>()),
);
