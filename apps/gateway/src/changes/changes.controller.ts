import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Failure, listSubscriptions } from '#contracts';
import { AuthenticationFailure, RequestEnd, Services } from '#http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Operation } from '../openapi.decorators.js';
import { ChangeStreams } from './change-streams.js';

/** A `since` after every stamp: a list request with it returns the clock and no rows. */
const sinceAfterAll = '9999-12-31T23:59:59.999Z';

/**
 * Headers of a stream. They keep proxies from caching and buffering the stream. After
 * `connection: close`, a load balancer can choose another gateway for the client's next connection.
 */
const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
  connection: 'close',
};

/** Serves /changes (docs/reference/interface-opml-changes.md, "Changes"). */
@ApiTags('Changes')
@Controller('changes')
export class ChangesController {
  constructor(
    private readonly streams: ChangeStreams,
    private readonly services: Services,
  ) {}

  @Get()
  @Operation('Sends notifications of changes', 'text/event-stream', [], {
    description:
      'Server-Sent Events: `changed`, with the stamp of the clock as data, first and after ' +
      'changes.',
  })
  async streamChanges(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { caller, end = new RequestEnd() } = request;
    if (!caller) throw new Failure('unauthorized');
    // Authentication accepts an expired token for 30 s more. Such a token is rejected here, because
    // its stream would end immediately.
    if (caller.expires !== undefined && caller.expires <= Date.now())
      throw new AuthenticationFailure('expired');
    if (request.method === 'HEAD') return void startAnswer(request, reply).end();
    const { userId } = caller;
    const readClock = async () => {
      const listRequest = {
        userId,
        since: sinceAfterAll,
        perPage: 1,
        cursor: { from: 'page', page: 1 },
      } as const;
      return (await this.services.call(listSubscriptions, request, listRequest)).clock;
    };
    await this.streams.openStream(caller, end, readClock, () => startAnswer(request, reply));
  }
}

/** Sends the headers of the answer without Fastify, which would buffer the stream. */
function startAnswer(request: FastifyRequest, reply: FastifyReply) {
  request.streamStartMs = reply.elapsedTime;
  reply.headers(streamHeaders).hijack();
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value);
  return reply.raw.writeHead(200);
}
