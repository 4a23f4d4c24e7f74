import { Body, Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { listEpisodes, uploadedSchema, uploadEpisodes } from '#contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { UserId } from '../auth/user-id.decorator.js';
import { episodeEntries } from '../http/batch.js';
import { writeAnswer } from '../http/write.answers.js';
import { largestAnswer, maxEpisodeEntries } from '../interface.limits.js';
import { ListResponder } from '../list/list.responder.js';
import { ListParameters, Operation, Repeatable } from '../openapi.decorators.js';
import { Services } from '../services.js';
import { episodePageSchema, uploadSchema } from '../wire.schemas.js';

/** /episodes (docs/interface.md, "Episodes"). */
@ApiTags('Episodes')
@Controller('episodes')
export class EpisodeController {
  constructor(
    private readonly services: Services,
    private readonly lists: ListResponder,
  ) {}

  @Post()
  @HttpCode(200)
  @Repeatable()
  @Operation('Uploads episode states', { status: 200, schema: uploadedSchema }, [405])
  async upload(
    @UserId() userId: string,
    @Req() request: FastifyRequest,
    @Body({ schema: uploadSchema }) body: z.output<typeof uploadSchema>,
  ) {
    const upload = {
      userId,
      entries: episodeEntries(body.episodes, maxEpisodeEntries),
      maxBytes: largestAnswer,
    };
    return writeAnswer(uploadEpisodes, await this.services.call(uploadEpisodes, request, upload)).body;
  }

  @Get()
  @ListParameters()
  @Operation('Lists episodes whose state changed since a timestamp', { status: 200, schema: episodePageSchema }, [])
  list(@UserId() userId: string, @Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.lists.answer(listEpisodes, userId, request, reply);
  }
}
