import { randomInt } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { Failure, type FailureCode } from '#contracts';
import type { Log } from '#runtime';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RateLimited } from './rate.limits.js';

/** An error answer: exactly this body, and headers that help (docs/interface.md, "Errors"). */
export interface ErrorAnswer {
  status: number;
  message: string;
  headers?: Readonly<Record<string, string>>;
}

/** Status and message of every failure of a call, and headers that only it has. */
export const failureAnswers: Readonly<Record<FailureCode, ErrorAnswer>> = {
  invalid: { status: 405, message: 'Input could not be validated' },
  unauthorized: { status: 401, message: 'User not authorized', headers: { 'www-authenticate': 'Bearer' } },
  not_found: { status: 404, message: 'Resource not found' },
  gone: { status: 410, message: 'Subscription has been deleted' },
  unavailable: { status: 503, message: 'Service unavailable' },
  internal: { status: 500, message: 'Internal error' },
};

/** Faults of HTTP itself that the interface does not name, by their status. */
export const httpAnswers: Readonly<Record<number, ErrorAnswer>> = {
  400: { status: 400, message: 'Bad request' },
  404: failureAnswers.not_found,
  408: { status: 408, message: 'Request timed out' },
  413: { status: 413, message: 'Request is too large' },
  414: { status: 414, message: 'Request header is too large' },
  429: { status: 429, message: 'Too many requests' },
  431: { status: 431, message: 'Request header is too large' },
  503: failureAnswers.unavailable,
};

/** The body of an error answer; `code` is a string. */
export function errorBody({ status, message }: ErrorAnswer): { code: string; message: string } {
  return { code: String(status), message };
}

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

const brokenHttp: Readonly<Record<string, number>> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 };

/** Gives `Expect` and `CONNECT`, which Node answers by itself or not at all, the interface's error body. */
export function answerExpectAndConnect(server: Server): void {
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const answer = httpAnswers[400] as ErrorAnswer;
    const headers = { 'content-type': 'application/json; charset=utf-8', connection: 'close' };
    response.writeHead(answer.status, headers).end(JSON.stringify(errorBody(answer)));
  });
  server.on('connect', (_request: IncomingMessage, socket: Socket) => answerBrokenHttp(new Error('CONNECT'), socket));
}

/** Answers what can't be parsed as HTTP with an error, and closes the connection. */
export function answerBrokenHttp(
  error: Error & { code?: string },
  socket: Socket & { _httpMessage?: ServerResponse },
): void {
  // Nothing can be sent on a lost connection, nor in the middle of an answer that has begun.
  if (error.code === 'ECONNRESET' || !socket.writable || socket._httpMessage?.headersSent) return void socket.destroy();
  const answer = httpAnswers[brokenHttp[error.code ?? ''] ?? 400] as ErrorAnswer;
  const body = JSON.stringify(errorBody(answer));
  socket.end(
    `HTTP/1.1 ${answer.status} ${answer.message}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

/** Turns whatever a handler throws into the interface's error answers. */
@Catch()
export class FailureFilter implements ExceptionFilter {
  constructor(private readonly log: Log) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const [request, reply] = [http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>()];
    void send(reply, answerFor(error, this.log.child({ requestId: request.id })));
  }
}
