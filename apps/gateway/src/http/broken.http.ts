import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type ErrorAnswer, errorBody, httpAnswers } from './failure.responses.js';

const brokenHttp: Readonly<Record<string, number>> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 };

/** Gives `Expect` and `CONNECT`, which Node answers by itself or not at all, the interface's error body. */
export function answerExpectAndConnect(server: Server): void {
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    answerPlainly(response, httpAnswers[400] as ErrorAnswer);
  });
  server.on('connect', (_request: IncomingMessage, socket: Socket) => answerBrokenHttp(new Error('CONNECT'), socket));
}

/** Answers with an error before anything else is done for a request, and closes the connection. */
export function answerPlainly(response: ServerResponse, answer: ErrorAnswer): void {
  const headers = { 'content-type': 'application/json; charset=utf-8', connection: 'close' };
  response.writeHead(answer.status, headers).end(JSON.stringify(errorBody(answer)));
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
