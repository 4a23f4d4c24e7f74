import { Body, Controller, Get, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type EpisodeEntry, Failure, listEpisodes, uploadedSchema, uploadEpisodes } from '#contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { CONFIG, type GatewayConfig } from '../gateway.config.js';
import { prefixes } from '../http/routes.js';
import { fromWire } from '../http/wire.js';
import { writeAnswer } from '../http/write.answers.js';
import { ListResponder } from '../list/list.responder.js';
import { ListParameters, Operation, Repeatable } from '../openapi.decorators.js';
import { Services } from '../services.js';
import { episodePageSchema, uploadSchema } from '../wire.schemas.js';

/** The fields of an entry and their names inside. */
const entryNames = {
  ...{ podcast_guid: 'podcastGuid', sync_id: 'syncId', episode_guid: 'episodeGuid', title: 'title' },
  ...{ publish_date: 'publishDate', enclosure_url: 'enclosureUrl', episode_url: 'episodeUrl' },
  ...{ playback_position: 'playbackPosition', played_status: 'playedStatus', new_status: 'newStatus' },
  ...{ download_status: 'downloadStatus', favorite_status: 'favoriteStatus', temporary_id: 'temporaryId' },
};

/** /episodes (interface, Endpoints; POST as decided for what it leaves open). */
@ApiTags('Episodes')
@Controller({ path: prefixes.map((prefix) => `${prefix}/episodes`) })
export class EpisodeController {
  constructor(
    @Inject(Services) private readonly services: Services,
    @Inject(ListResponder) private readonly lists: ListResponder,
    @Inject(CONFIG) private readonly config: GatewayConfig,
  ) {}

  @Post()
  @HttpCode(200)
  @Repeatable()
  @Operation('Uploads episode states', { status: 200, schema: uploadedSchema }, [405])
  async upload(@Req() request: FastifyRequest, @Body({ schema: uploadSchema }) body: z.output<typeof uploadSchema>) {
    if (body.episodes.length > this.config.MAX_ENTRIES) throw new Failure('invalid');
    const userId = this.services.userId(request);
    const entries = body.episodes.map(toEntry);
    return writeAnswer(uploadEpisodes, await this.services.call(uploadEpisodes, request, { userId, entries })).body;
  }

  @Get()
  @ListParameters()
  @Operation('Lists episodes whose state changed since a timestamp', { status: 200, schema: episodePageSchema }, [])
  list(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.lists.answer(listEpisodes, request, reply);
  }
}

function toEntry(entry: unknown): EpisodeEntry {
  return typeof entry === 'object' && entry !== null && !Array.isArray(entry) ? fromWire(entry, entryNames) : null;
}
