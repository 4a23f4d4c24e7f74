import { BadRequestException, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { isPlainText } from '#contracts';
import type { FastifyRequest } from 'fastify';

/** Fields of a form. All values are strings. */
export type Form = Readonly<Record<string, string | undefined>>;

/** Returns the text fields. @throws BadRequestException for control characters, such as NUL. */
function readFields(values: unknown): Form {
  if (typeof values !== 'object' || values === null) return {};
  const texts = Object.entries(values).filter(([, value]) => typeof value === 'string') as [
    string,
    string,
  ][];
  if (!texts.every(([, text]) => isPlainText(text)))
    throw new BadRequestException('a field contains control characters');
  return Object.fromEntries(texts);
}

/** Injects the fields of the form in the body. */
export const FormOf = createParamDecorator((_: unknown, context: ExecutionContext) =>
  readFields(context.switchToHttp().getRequest<FastifyRequest>().body),
);

/** Injects the fields of the query. The last value of a repeated field counts. */
export const QueryOf = createParamDecorator((_: unknown, context: ExecutionContext): Form => {
  const { url } = context.switchToHttp().getRequest<FastifyRequest>();
  const at = url.indexOf('?');
  return readFields(at < 0 ? {} : Object.fromEntries(new URLSearchParams(url.slice(at))));
});
