import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { Failure } from '#contracts';
import type { Log } from '#runtime';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { repeatedAnswer } from './write.answers.js';
import { answerFor, send } from './answers.js';

/** Turns whatever a handler throws into the interface's error answers. */
@Catch()
export class FailureFilter implements ExceptionFilter {
  constructor(private readonly log: Log) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const [request, reply] = [http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>()];
    const first = error instanceof Failure && error.code === 'conflict' ? repeatedAnswer(error.first) : undefined;
    if (first && 'body' in first) void reply.code(first.status).send(first.body);
    else void send(reply, answerFor(first?.failure ?? error, this.log.child({ requestId: request.id })));
  }
}
