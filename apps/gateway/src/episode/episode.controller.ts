import { Body, Controller, Get, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiQuery, ApiTags } from '@nestjs/swagger';
import { listEpisodes, uploadedSchema, uploadEpisodes } from '#contracts';
import { sentBatch, Services } from '#http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { UserId } from '../http/server-options.js';
import { CONFIG, type GatewayConfig } from '../gateway.config.js';
import { episodePageSchema, uploadSchema } from '../wire.schemas.js';
import { ListResponder } from '../list/list-responder.js';
import { ApiIdempotencyKey, ApiListParameters, Operation } from '../openapi.decorators.js';

/** Serves /episodes (docs/reference/episodes.md, "Episodes"). */
@ApiTags('Episodes')
@Controller('episodes')
export class EpisodeController {
  constructor(
    private readonly services: Services,
    private readonly lists: ListResponder,
    @Inject(CONFIG) private readonly config: GatewayConfig,
  ) {}

  @Post()
  @ApiIdempotencyKey()
  @Operation('Uploads episode states', uploadedSchema, [405])
  upload(
    @UserId() userId: string,
    @Req() request: FastifyRequest,
    @Body({ schema: uploadSchema }) { episodes }: z.output<typeof uploadSchema>,
  ) {
    const body = sentBatch(request, episodes, this.config.MAX_EPISODE_ENTRIES);
    return this.services.call(uploadEpisodes, request, {
      userId,
      body,
      maxBytes: this.config.MAX_ANSWER_BYTES,
    });
  }

  @Get()
  @ApiListParameters()
  @ApiQuery({
    name: 'podcast_guid',
    required: false,
    description: 'Only episodes of the podcast with this current or former guid.',
    schema: { type: 'string', format: 'uuid' },
  })
  @Operation('Lists episodes whose state changed since a timestamp', episodePageSchema)
  list(
    @UserId() userId: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.lists.answer(listEpisodes, userId, request, reply);
  }
}
