import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { answerFor, type ErrorAnswer, type FailureAnswers, httpAnswers, send } from '#http';
import type { Log } from '#runtime';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayConfig } from '../gateway.config.js';
import { challenge } from './challenge.js';

/** Status and message of every failure of a call (docs/interface.md, "Errors"). */
export const failureAnswers: FailureAnswers = {
  invalid: { status: 405, message: 'Input could not be validated' },
  unauthorized: { status: 401, message: 'User not authorized' },
  not_found: httpAnswers[404],
  gone: { status: 410, message: 'Subscription has been deleted' },
  unavailable: httpAnswers[503],
  internal: { status: 500, message: 'Internal error' },
};

/** Turns whatever a handler throws into the interface's error answers. */
@Catch()
export class FailureFilter implements ExceptionFilter {
  constructor(
    private readonly config: GatewayConfig,
    private readonly log: Log,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const [request, reply] = [http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>()];
    const answer: ErrorAnswer = answerFor(error, this.log.child({ requestId: request.id }), failureAnswers);
    // A service refuses a user who is disabled or erased, whatever the credential says.
    void send(reply, answer.status === 401 ? { ...answer, headers: challenge(request, this.config, error) } : answer);
  }
}
