import { applyDecorators, HttpCode } from '@nestjs/common';
import { ApiBearerAuth, ApiHeader, ApiOperation, ApiQuery, ApiResponse } from '@nestjs/swagger';
import type { z } from 'zod';
import { failureAnswers } from './http/errors.js';
import { errorSchema } from './wire.schemas.js';

/** Description of each error status: the message of its answer. */
const errorDescriptions: Readonly<Record<number, string>> = Object.fromEntries(
  Object.values(failureAnswers).map(({ status, message }) => [status, message]),
);

/**
 * Describes an operation and its errors in the API description, and sets its success status.
 *
 * @param success schema of a JSON answer, or media type of another answer.
 * @param errors statuses of errors in addition to 401 and 503.
 */
export function Operation(
  summary: string,
  success: z.ZodType | string,
  errors: readonly number[] = [],
  { status = 200, description = 'Success' } = {},
) {
  const content =
    typeof success === 'string'
      ? { content: { [success]: { schema: { type: 'string' } } } }
      : { standardSchema: success };
  return applyDecorators(
    ApiBearerAuth(),
    HttpCode(status),
    ApiOperation({ summary }),
    ApiResponse({ status, description, ...content }),
    ...[401, ...errors, 503].map((code) =>
      ApiResponse({
        status: code,
        description: errorDescriptions[code] ?? '',
        standardSchema: errorSchema,
      }),
    ),
  );
}

/** Adds `since`, `cursor`, `If-None-Match` and the status 304 to the API description. */
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

/** Adds the query parameters of lists and `If-None-Match` to the API description. */
export function ApiListParameters() {
  const integerParameter = (name: string, description: string) =>
    ApiQuery({ name, required: false, description, schema: { type: 'integer', minimum: 1 } });
  return applyDecorators(
    ApiSince(),
    integerParameter('page', 'Number of the page, from 1. With `cursor` it does not select rows.'),
    integerParameter('per_page', 'Rows on a page, 50 unless sent, clamped to the limit.'),
  );
}

/** Adds the header `Idempotency-Key` of a write to the API description. */
export function ApiIdempotencyKey() {
  return ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description:
      'Up to 255 visible characters. Within an hour the same request with the same key gets the ' +
      'first answer again and has no effect; another request with the key is 405.',
  });
}
