import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { answerFor, type ErrorAnswer, type FailureAnswers, httpAnswers, send } from '#http';
import type { Log } from '#runtime';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Status and message of every failure of a call. Clients read the status alone. */
export const failureAnswers: FailureAnswers = {
  invalid: { status: 400, message: 'Input could not be validated' },
  unauthorized: {
    status: 401,
    message: 'User not authorized',
    // No other scheme: clients take the first one that they know.
    headers: { 'www-authenticate': 'Basic realm="Podcast Sync"' },
  },
  not_found: httpAnswers[404],
  gone: httpAnswers[404],
  unavailable: httpAnswers[503],
  internal: { status: 500, message: 'Internal error' },
};

export const forbidden: ErrorAnswer = { status: 403, message: 'Not allowed' };
export const wrongMethod: ErrorAnswer = { status: 405, message: 'Method not allowed' };

/** Ends a handler with an error answer that stands for no failure of a call. */
export class Refused extends Error {
  constructor(readonly answer: ErrorAnswer) {
    super(answer.message);
    this.name = 'Refused';
  }
}

/** The answer to whatever was thrown. */
export function answerTo(error: unknown, log: Log): ErrorAnswer {
  return error instanceof Refused ? error.answer : answerFor(error, log, failureAnswers);
}

/** Sends an error. No session begins with a 401. */
export function refuse(reply: FastifyReply, answer: ErrorAnswer): FastifyReply {
  if (answer.status === 401) void reply.removeHeader('set-cookie');
  return send(reply, answer);
}

/** Turns whatever a handler throws into error answers. */
@Catch()
export class FailureFilter implements ExceptionFilter {
  constructor(private readonly log: Log) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const [request, reply] = [http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>()];
    void refuse(reply, answerTo(error, this.log.child({ requestId: request.id })));
  }
}
