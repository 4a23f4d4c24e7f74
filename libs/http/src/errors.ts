import { randomInt } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { Failure, type FailureCode } from '#contracts';
import { RateLimited } from '#identity';
import type { Log } from '#runtime';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** An error answer: a status, a text for people, and headers that help (docs/reference/interface.md, "Errors"). */
export interface ErrorAnswer {
  status: number;
  message: string;
  headers?: Readonly<Record<string, string>>;
}

/** Status and message of every failure of a call: each edge process has its own. */
export type FailureAnswers = Readonly<Record<FailureCode, ErrorAnswer>>;

/** How an app answers with errors. */
export interface ErrorFormat {
  /** Returns the answer to whatever was thrown, and logs it where the server is at fault. */
  answerTo(error: unknown, request: FastifyRequest, log: Log): ErrorAnswer;
  /** Sends an answer. */
  send(reply: FastifyReply, answer: ErrorAnswer): unknown;
  /** The answer for a method that a path does not have. */
  readonly wrongMethod: ErrorAnswer;
  /** The answer for a path that can't be decoded. */
  readonly badPath: ErrorAnswer;
}

/** A credential that is missing or can't be accepted; the reason is for the operator alone. */
export class AuthenticationFailure extends Failure {
  constructor(
    readonly reason: string,
    options?: ErrorOptions,
    /** The scope that it lacks, where that is the reason. */
    readonly wanted?: string,
  ) {
    super('unauthorized', options);
    this.name = 'AuthenticationFailure';
  }
}

/** Answers whatever a handler throws. */
@Catch()
export class FailureFilter implements ExceptionFilter {
  constructor(
    private readonly errors: ErrorFormat,
    private readonly log: Log,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const { request } = reply;
    this.errors.send(reply, this.errors.answerTo(error, request, this.log.child({ requestId: request.id })));
  }
}

/** Faults of HTTP itself, by their status. */
export const httpAnswers: Readonly<Record<HttpFault, ErrorAnswer>> & Readonly<Record<number, ErrorAnswer>> = {
  400: { status: 400, message: 'Bad request' },
  404: { status: 404, message: 'Resource not found' },
  408: { status: 408, message: 'Request timed out' },
  413: { status: 413, message: 'Request is too large' },
  421: { status: 421, message: 'This server is not known by that name' },
  414: { status: 414, message: 'Request header is too large' },
  429: { status: 429, message: 'Too many requests' },
  431: { status: 431, message: 'Request header is too large' },
  503: { status: 503, message: 'Service unavailable' },
};
type HttpFault = 400 | 404 | 408 | 413 | 414 | 421 | 429 | 431 | 503;

/** The request exceeds a limit: the answer is 413. */
export class TooLarge extends Error {
  readonly statusCode = 413;

  /** @param limit the documented limit, for the person who reads the error, such as `more than 5000 feeds`. */
  constructor(limit?: string) {
    super(httpAnswers[413].message + (limit === undefined ? '' : `: ${limit}`));
    this.name = 'TooLarge';
  }
}

/** The body of an error answer; `code` is a string. */
export function errorBody({ status, message }: ErrorAnswer): { code: string; message: string } {
  return { code: String(status), message };
}

/** The error answer to whatever was thrown while a request was handled. Logs it where the server is at fault. */
export function answerFor(error: unknown, log: Log, failures: FailureAnswers): ErrorAnswer {
  if (error instanceof Failure) {
    if (failures[error.code].status >= 500)
      log[error.code === 'unavailable' ? 'debug' : 'error']({ err: error }, error.code);
    return failures[error.code];
  }
  if (error instanceof RateLimited)
    return { ...httpAnswers[429], headers: { 'retry-after': String(error.retryAfter) } };
  if (error instanceof TooLarge) return { ...httpAnswers[413], message: error.message };
  const { statusCode, status = statusCode } = error as { statusCode?: number; status?: number };
  const known = httpAnswers[status ?? 500];
  if (known && status !== 400) return known;
  // What Fastify and Nest call a bad request or an unsupported media type is input that could not be validated.
  if (status !== undefined && status >= 400 && status < 500) return failures.invalid;
  log.error({ err: error }, 'a request failed on a fault of ours');
  return failures.internal;
}

/** The largest `Retry-After`, in seconds. */
const longestRetry = 5;

/** Sets status and headers of an error. `Retry-After` is random, so that refused clients do not all come back at once. */
export function beginError(reply: FastifyReply, { status, headers }: ErrorAnswer): FastifyReply {
  if (status === 503) void reply.header('retry-after', String(randomInt(1, longestRetry + 1)));
  return reply.code(status).headers(headers ?? {});
}

/** Sends an error answer as JSON. */
export function send(reply: FastifyReply, answer: ErrorAnswer): FastifyReply {
  return beginError(reply, answer).type('application/json; charset=utf-8').send(errorBody(answer));
}

const brokenHttp: Readonly<Record<string, 408 | 431>> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 };

/** Gives `Expect` and `CONNECT`, which Node answers by itself or not at all, the body of every error. */
export function answerExpectAndConnect(server: Server): void {
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const answer = httpAnswers[400];
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
  const answer = httpAnswers[brokenHttp[error.code ?? ''] ?? 400];
  const body = JSON.stringify(errorBody(answer));
  socket.end(
    `HTTP/1.1 ${answer.status} ${answer.message}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
