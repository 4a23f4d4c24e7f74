import { randomInt } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { Failure, type FailureCode } from '#contracts';
import { RateLimited } from '#identity';
import type { Log } from '#runtime';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isOpenedByBrowser, sendBrowserPage } from './browser-page.js';

/** An error answer: status, text and headers (docs/reference/interface.md, "Errors"). */
export interface ErrorAnswer {
  status: number;
  message: string;
  headers?: Readonly<Record<string, string>>;
}

/** Status and message for each failure code. Each app has its own table. */
export type FailureAnswers = Readonly<Record<FailureCode, ErrorAnswer>>;

/** Converts errors to an app's answers, and sends them. */
export interface ErrorFormat {
  /** Returns the answer to a thrown error. Logs the error if the server is at fault. */
  answerTo(error: unknown, request: FastifyRequest, log: Log): ErrorAnswer;
  send(reply: FastifyReply, answer: ErrorAnswer): unknown;
  /** Answer to a request whose path has routes, but none with its method. */
  readonly wrongMethod: ErrorAnswer;
  /** Answer to a request whose path cannot be decoded. */
  readonly badPath: ErrorAnswer;
}

/** Failure for a missing or rejected credential. Only log and metrics contain the reason. */
export class AuthenticationFailure extends Failure {
  constructor(
    readonly reason: string,
    options?: ErrorOptions,
    /** Scope that the route requires, if the credential lacks it. */
    readonly missingScope?: string,
  ) {
    super('unauthorized', options);
    this.name = 'AuthenticationFailure';
  }
}

/** Nest filter that answers the errors that handlers throw. */
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

/** Answers to requests that fail before a handler runs, by HTTP status. */
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
/** Statuses of {@link httpAnswers}. */
type HttpFault = 400 | 404 | 408 | 413 | 414 | 421 | 429 | 431 | 503;

/** Error for a request that exceeds a limit; answered with 413. */
export class TooLarge extends Error {
  readonly statusCode = 413;

  /** @param excess what exceeds the limit, as a text for people, e.g. `more than 5000 feeds`. */
  constructor(excess?: string) {
    super(httpAnswers[413].message + (excess === undefined ? '' : `: ${excess}`));
    this.name = 'TooLarge';
  }
}

/** Returns the JSON body of an error answer. */
export function errorBody({ status, message }: ErrorAnswer): { code: string; message: string } {
  return { code: String(status), message };
}

/** Returns the answer to a thrown error. Logs unexpected errors, and failures of status 5xx. */
export function toErrorAnswer(error: unknown, log: Log, failures: FailureAnswers): ErrorAnswer {
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
  // Answers other 4xx errors of Fastify and Nest, such as bad requests, as invalid input.
  if (status !== undefined && status >= 400 && status < 500) return failures.invalid;
  log.error({ err: error }, 'HTTP request failed: internal error');
  return failures.internal;
}

/** Maximum of the random `Retry-After` of a 503, in seconds. */
const maxRetrySeconds = 5;

/** Sets status and headers. The random `Retry-After` of a 503 spreads the retries of clients. */
export function setErrorHeaders(
  reply: FastifyReply,
  { status, headers }: ErrorAnswer,
): FastifyReply {
  if (status === 503) void reply.header('retry-after', String(randomInt(1, maxRetrySeconds + 1)));
  return reply.code(status).headers(headers ?? {});
}

/**
 * Sends an error answer as JSON, or as a page to a browser. A 421 is always JSON, because under a
 * foreign host name the page would appear as a page of that site.
 *
 * @param site base URL of the pages of accounts. Default: this origin.
 */
export function send(reply: FastifyReply, answer: ErrorAnswer, site = ''): FastifyReply {
  setErrorHeaders(reply, answer);
  if (answer.status !== 421 && isOpenedByBrowser(reply.request))
    return sendBrowserPage(reply, answer.message, site);
  return reply.type('application/json; charset=utf-8').send(errorBody(answer));
}

/** Statuses of invalid HTTP by the error code of Node; 400 for other codes. */
const brokenHttpStatuses: Readonly<Record<string, 408 | 431>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};

/** Answers an `Expect` other than `100-continue`, and the method CONNECT, with a JSON error. */
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

/** Answers invalid HTTP with a JSON error and closes the connection. */
export function answerBrokenHttp(
  error: Error & { code?: string },
  socket: Socket & { _httpMessage?: ServerResponse },
): void {
  // Sends nothing on a lost connection or in the middle of an answer.
  if (error.code === 'ECONNRESET' || !socket.writable || socket._httpMessage?.headersSent)
    return void socket.destroy();
  const answer = httpAnswers[brokenHttpStatuses[error.code ?? ''] ?? 400];
  const body = JSON.stringify(errorBody(answer));
  socket.end(
    `HTTP/1.1 ${answer.status} ${answer.message}\r\n` +
      'Content-Type: application/json; charset=utf-8\r\n' +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
