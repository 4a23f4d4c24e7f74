import { All, Controller, Get, Inject, Param, Req, Res } from '@nestjs/common';
import { Failure } from '#contracts';
import { linkBase } from '#http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CONFIG, type GpodderConfig } from '../gpodder.config.js';
import { queryOf } from '../http/input.js';
import { Open } from '../http/routes.js';
import { formatOf, showFeeds } from '../subscriptions/formats.js';

/**
 * What gpodder.net has of its directory. Nothing is fetched or ranked here: on a small server a ranking would tell who
 * listens to what. So lists are empty, which clients show as such, and nothing is known by its URL.
 */
@Controller()
export class DirectoryController {
  constructor(@Inject(CONFIG) private readonly config: GpodderConfig) {}

  @Get('clientconfig.json')
  @Open()
  clientConfig(@Req() request: FastifyRequest) {
    const baseurl = `${linkBase(request, this.config)}/`;
    return { mygpo: { baseurl }, 'mygpo-feedservice': { baseurl }, update_timeout: 604_800 };
  }

  @Get(['toplist.:format', 'toplist/:number.:format', 'gpodder-examples.:format'])
  @Open()
  async toplist(@Req() request: FastifyRequest, @Res() reply: FastifyReply, @Param('format') format: string) {
    const { type, body } = showFeeds(formatOf(format), [], [], queryOf(request).get('jsonp'));
    await reply.type(type).send(body);
  }

  @Get('search.:format')
  @Open()
  async search(@Req() request: FastifyRequest, @Res() reply: FastifyReply, @Param('format') format: string) {
    if (!queryOf(request).get('q')) throw new Failure('invalid');
    await this.toplist(request, reply, format);
  }

  @Get('suggestions/:number.:format')
  async suggestions(@Req() request: FastifyRequest, @Res() reply: FastifyReply, @Param('format') format: string) {
    await this.toplist(request, reply, format);
  }

  @Get(['api/2/tags/:number.json', 'api/2/tag/:tag/:number.json'])
  @Open()
  tags(): never[] {
    return [];
  }

  @Get(['api/2/data/podcast.json', 'api/2/data/episode.json'])
  @Open()
  data(): never {
    throw new Failure('not_found');
  }

  /** What gpodder.net fetches for whoever asks, and its pages: nothing of it is here, for nobody. */
  @All(['api/2/podcasts/create', 'api/2/task/:id', 'upload', 'getlist'])
  @Open()
  absent(): never {
    throw new Failure('not_found');
  }

  /** There are no lists of podcasts to publish. */
  @Get('api/2/lists/:user.json')
  lists(): never[] {
    return [];
  }
}
