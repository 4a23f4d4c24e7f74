import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type ErrorAnswer, errorBody, httpAnswers } from './failure.responses.js';

const brokenHttp: Readonly<Record<string, number>> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 };

/** Answers requests that Node would answer by itself, or not at all. */
export function answerOddities(server: Server): void {
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const answer = httpAnswers[400] as ErrorAnswer;
    const headers = { 'content-type': 'application/json; charset=utf-8', connection: 'close' };
    response.writeHead(answer.status, headers).end(JSON.stringify(errorBody(answer)));
  });
  server.on('connect', (_request: IncomingMessage, socket: Socket) => answerBrokenHttp(new Error('CONNECT'), socket));
}

/** What is not even HTTP gets an answer all the same, and its connection closes. */
export function answerBrokenHttp(
  error: Error & { code?: string },
  socket: Socket & { _httpMessage?: ServerResponse },
): void {
  // Into an answer that is on its way, nothing can be said.
  if (error.code === 'ECONNRESET' || !socket.writable || socket._httpMessage?.headersSent) return void socket.destroy();
  const answer = httpAnswers[brokenHttp[error.code ?? ''] ?? 400] as ErrorAnswer;
  const body = JSON.stringify(errorBody(answer));
  socket.end(
    `HTTP/1.1 ${answer.status} ${answer.message}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
