import { applyDecorators } from '@nestjs/common';
import { ApiBearerAuth, ApiHeader, ApiOperation, ApiQuery, ApiResponse } from '@nestjs/swagger';
import type { z } from 'zod';
import { failureAnswers } from './http/errors.js';
import { errorSchema } from './wire.schemas.js';

const reasons: Readonly<Record<number, string>> = Object.fromEntries(
  Object.values(failureAnswers).map(({ status, message }) => [status, message]),
);

/** The success answer of an operation: JSON of a schema, or text of another type. */
type Success = { status: number } & ({ schema: z.ZodType } | { type: string });

/** Describes an operation with its success answer and its errors. */
export function Operation(summary: string, success: Success, errors: readonly number[]) {
  const content =
    'schema' in success
      ? { standardSchema: success.schema }
      : { content: { [success.type]: { schema: { type: 'string' } } } };
  return applyDecorators(
    ApiBearerAuth(),
    ApiOperation({ summary }),
    ApiResponse({ status: success.status, description: 'Success', ...content }),
    ...[401, ...errors, 503].map((status) =>
      ApiResponse({ status, description: reasons[status] ?? '', standardSchema: errorSchema }),
    ),
  );
}

/** Describes `since`, `cursor`, `If-None-Match` and the status 304. */
export function ApiSince() {
  return applyDecorators(
    ApiQuery({
      name: 'since',
      required: false,
      description: 'Only later changes: the `Sync-Timestamp` of an earlier answer.',
      schema: { type: 'string', format: 'date-time' },
    }),
    ApiQuery({
      name: 'cursor',
      required: false,
      description: 'The cursor in `next` or `previous` of another page.',
      schema: { type: 'string' },
    }),
    ApiHeader({
      name: 'If-None-Match',
      required: false,
      description: 'The `ETag` of an earlier answer: 304 if nothing changed.',
    }),
    ApiResponse({
      status: 304,
      description: 'Nothing changed; with `ETag`, `Sync-Timestamp` and `Ignored-Parameters`.',
    }),
  );
}

/** Describes the query parameters of lists, and `If-None-Match`. Invalid values are ignored. */
export function ApiListParameters() {
  const number = (name: string, description: string) =>
    ApiQuery({ name, required: false, description, schema: { type: 'integer', minimum: 1 } });
  return applyDecorators(
    ApiSince(),
    number('page', 'Number of the page, from 1. With `cursor` it does not select rows.'),
    number('per_page', 'Rows on a page, 50 unless sent, clamped to the limit.'),
  );
}

/** Describes an operation that answers with an event stream. */
export function ApiEventStream(summary: string) {
  const description =
    'Server-Sent Events: `changed`, with the stamp of the clock as data, first and after changes.';
  return applyDecorators(
    ApiBearerAuth(),
    ApiOperation({ summary }),
    ApiResponse({
      status: 200,
      description,
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    }),
    ...[401, 503].map((status) =>
      ApiResponse({ status, description: reasons[status] ?? '', standardSchema: errorSchema }),
    ),
  );
}

/** Describes the header `Idempotency-Key` of a write. */
export function ApiIdempotencyKey() {
  return ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description:
      'Up to 255 visible characters. Within an hour the same request with the same key gets the ' +
      'first answer again and has no effect; another request with the key is 405.',
  });
}
