import { BadRequestException, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** What a form says; every value is a text, whatever was sent. */
export type Form = Readonly<Record<string, string | undefined>>;

/**
 * The texts among the fields.
 *
 * @throws BadRequestException where one has control characters: no field of ours takes any, and Postgres takes no NUL.
 */
function textsOf(values: unknown): Form {
  if (typeof values !== 'object' || values === null) return {};
  const texts = Object.entries(values).filter(([, value]) => typeof value === 'string') as [string, string][];
  if (texts.some(([, text]) => /\p{Cc}/u.test(text))) throw new BadRequestException('control characters');
  return Object.fromEntries(texts);
}

/** The fields of the form that was sent. */
export const FormOf = createParamDecorator((_: unknown, context: ExecutionContext) =>
  textsOf(context.switchToHttp().getRequest<FastifyRequest>().body),
);

/** The fields of the query: of one that repeats, the last. */
export const QueryOf = createParamDecorator((_: unknown, context: ExecutionContext): Form => {
  const { url } = context.switchToHttp().getRequest<FastifyRequest>();
  const at = url.indexOf('?');
  return textsOf(at < 0 ? {} : Object.fromEntries(new URLSearchParams(url.slice(at))));
});
