import { randomInt } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { Failure, type FailureCode } from '#contracts';
import { RateLimited } from '#identity';
import type { Log } from '#runtime';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isOpenedByBrowser, sendBrowserPage } from './browser.page.js';

/** An error answer: status, text and headers (docs/reference/interface.md, "Errors"). */
export interface ErrorAnswer {
  status: number;
  message: string;
  headers?: Readonly<Record<string, string>>;
}

/** Status and message of every failure of a call. Each app has its own table. */
export type FailureAnswers = Readonly<Record<FailureCode, ErrorAnswer>>;

/** Format of an app's error answers. */
export interface ErrorFormat {
  /** Returns the answer to a thrown error, and logs errors of the server. */
  answerTo(error: unknown, request: FastifyRequest, log: Log): ErrorAnswer;
  send(reply: FastifyReply, answer: ErrorAnswer): unknown;
  /** Answer for a path that has routes of other methods only. */
  readonly wrongMethod: ErrorAnswer;
  /** Answer for a path that cannot be decoded. */
  readonly badPath: ErrorAnswer;
}

/** A missing or rejected credential. The reason is for the operator only. */
export class AuthenticationFailure extends Failure {
  constructor(
    readonly reason: string,
    options?: ErrorOptions,
    /** The missing scope, if that is the reason. */
    readonly wanted?: string,
  ) {
    super('unauthorized', options);
    this.name = 'AuthenticationFailure';
  }
}

/** Answers errors that handlers throw, in the format of the app. */
@Catch()
export class FailureFilter implements ExceptionFilter {
  constructor(
    private readonly errors: ErrorFormat,
    private readonly log: Log,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const { request } = reply;
    this.errors.send(
      reply,
      this.errors.answerTo(error, request, this.log.child({ correlationId: request.id })),
    );
  }
}

/** Answers for errors of HTTP itself, by status. */
export const httpAnswers: Readonly<Record<HttpFault, ErrorAnswer>> &
  Readonly<Record<number, ErrorAnswer>> = {
  400: { status: 400, message: 'Bad request' },
  404: { status: 404, message: 'Resource not found' },
  408: { status: 408, message: 'Request timed out' },
  413: { status: 413, message: 'Request is too large' },
  421: { status: 421, message: 'Unknown host name' },
  414: { status: 414, message: 'Request URL is too long' },
  429: { status: 429, message: 'Too many requests' },
  431: { status: 431, message: 'Request header is too large' },
  503: { status: 503, message: 'Service unavailable' },
};
type HttpFault = 400 | 404 | 408 | 413 | 414 | 421 | 429 | 431 | 503;

/** Error for a request that exceeds a limit; answered with 413. */
export class TooLarge extends Error {
  readonly statusCode = 413;

  /** @param limit text of the documented limit for people, such as `more than 5000 feeds`. */
  constructor(limit?: string) {
    super(httpAnswers[413].message + (limit === undefined ? '' : `: ${limit}`));
    this.name = 'TooLarge';
  }
}

/** Returns the JSON body of an error answer. */
export function errorBody({ status, message }: ErrorAnswer): { code: string; message: string } {
  return { code: String(status), message };
}

/** Returns the answer to an error of a request, and logs errors of the server. */
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
  const answer = httpAnswers[status ?? 500];
  if (answer && status !== 400) return answer;
  // Other 4xx errors of Fastify and Nest, such as bad requests, count as invalid input.
  if (status !== undefined && status >= 400 && status < 500) return failures.invalid;
  log.error({ err: error }, 'request failed: internal error');
  return failures.internal;
}

/** Maximum `Retry-After` in seconds. */
const maxRetrySeconds = 5;

/** Sets status and headers. A random `Retry-After` spreads the retries of clients. */
export function beginError(reply: FastifyReply, { status, headers }: ErrorAnswer): FastifyReply {
  if (status === 503) void reply.header('retry-after', String(randomInt(1, maxRetrySeconds + 1)));
  return reply.code(status).headers(headers ?? {});
}

/**
 * Sends an error answer as JSON, or as a page to a browser. A 421 is always JSON: under a foreign
 * host name, the page would appear as a page of that site.
 *
 * @param site base URL of the pages of accounts. Default: this origin.
 */
export function send(reply: FastifyReply, answer: ErrorAnswer, site = ''): FastifyReply {
  beginError(reply, answer);
  if (answer.status !== 421 && isOpenedByBrowser(reply.request))
    return sendBrowserPage(reply, answer.message, site);
  return reply.type('application/json; charset=utf-8').send(errorBody(answer));
}

const brokenHttp: Readonly<Record<string, 408 | 431>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};

/** Answers `Expect` and `CONNECT` with a JSON error, which Node does not do. */
export function answerExpectAndConnect(server: Server): void {
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const answer = httpAnswers[400];
    const headers = { 'content-type': 'application/json; charset=utf-8', connection: 'close' };
    response.writeHead(answer.status, headers).end(JSON.stringify(errorBody(answer)));
  });
  server.on('connect', (_request: IncomingMessage, socket: Socket) =>
    answerBrokenHttp(new Error('CONNECT'), socket),
  );
}

/** Answers invalid HTTP with an error and closes the connection. */
export function answerBrokenHttp(
  error: Error & { code?: string },
  socket: Socket & { _httpMessage?: ServerResponse },
): void {
  // Nothing can be sent on a lost connection or in the middle of an answer.
  if (error.code === 'ECONNRESET' || !socket.writable || socket._httpMessage?.headersSent)
    return void socket.destroy();
  const answer = httpAnswers[brokenHttp[error.code ?? ''] ?? 400];
  const body = JSON.stringify(errorBody(answer));
  socket.end(
    `HTTP/1.1 ${answer.status} ${answer.message}\r\n` +
      'Content-Type: application/json; charset=utf-8\r\n' +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
