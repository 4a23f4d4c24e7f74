import { randomInt } from 'node:crypto';
import { Failure } from '#contracts';
import type { Log } from '#runtime';
import type { FastifyReply } from 'fastify';
import { type ErrorAnswer, errorBody, failureAnswers, httpAnswers } from './failure.responses.js';
import { RateLimited } from './rate.limits.js';

/** The error answer to whatever was thrown while a request was handled. Logs it where the server is at fault. */
export function answerFor(error: unknown, log: Log, sentCredential = false): ErrorAnswer {
  if (error instanceof Failure) {
    if (failureAnswers[error.code].status >= 500)
      log[error.code === 'unavailable' ? 'debug' : 'error']({ err: error }, error.code);
    if (error.code === 'unauthorized' && sentCredential) {
      return { ...failureAnswers.unauthorized, headers: { 'www-authenticate': 'Bearer error="invalid_token"' } };
    }
    return failureAnswers[error.code];
  }
  if (error instanceof RateLimited)
    return { ...(httpAnswers[429] as ErrorAnswer), headers: { 'retry-after': String(error.retryAfter) } };
  const { statusCode, status = statusCode } = error as { statusCode?: number; status?: number };
  const known = httpAnswers[status ?? 500];
  if (known && status !== 400) return known;
  // What Fastify and Nest call a bad request or an unsupported media type is input that could not be validated.
  if (status !== undefined && status >= 400 && status < 500) return failureAnswers.invalid;
  log.error({ err: error }, 'a request failed on a fault of ours');
  return failureAnswers.internal;
}

/** The largest `Retry-After`, in seconds. */
const longestRetry = 5;

/** Sends an error answer. `Retry-After` is random, so that refused clients do not all come back at the same time. */
export function send(reply: FastifyReply, answer: ErrorAnswer): FastifyReply {
  if (answer.status === 503) void reply.header('retry-after', String(randomInt(1, longestRetry + 1)));
  return reply
    .code(answer.status)
    .headers(answer.headers ?? {})
    .type('application/json; charset=utf-8')
    .send(errorBody(answer));
}
