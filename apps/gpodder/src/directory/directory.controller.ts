import { All, Controller, Get, Inject, Param, Req, Res } from '@nestjs/common';
import { Failure } from '#contracts';
import { linkBase } from '#http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CONFIG, type GpodderConfig } from '../gpodder.config.js';
import { queryOf } from '../http/input.js';
import { Public } from '../auth/route-access.js';
import { FeedListService } from '../subscriptions/feed-list.service.js';
import { parseFormat, toPodcastObject, serializeFeeds } from '../subscriptions/formats.js';
import { PodcastsService } from '../subscriptions/podcasts.service.js';

/**
 * Answers the directory paths of gpodder.net with empty lists, because a ranking on a small server
 * would reveal the podcasts of its users. Only `data/podcast.json` returns podcasts of the caller.
 */
@Controller()
export class DirectoryController {
  constructor(
    private readonly podcasts: PodcastsService,
    private readonly feeds: FeedListService,
    @Inject(CONFIG) private readonly config: GpodderConfig,
  ) {}

  @Get('clientconfig.json')
  @Public()
  clientConfig(@Req() request: FastifyRequest) {
    const baseurl = `${linkBase(request, this.config)}/`;
    return { mygpo: { baseurl }, 'mygpo-feedservice': { baseurl }, update_timeout: 604_800 };
  }

  @Get(['toplist.:format', 'toplist/:number.:format', 'gpodder-examples.:format'])
  @Public()
  async toplist(@Res() reply: FastifyReply, @Param('format') format: string) {
    const callback = queryOf(reply.request).get('jsonp');
    const { type, body } = serializeFeeds(parseFormat(format), [], [], callback);
    await reply.type(type).send(body);
  }

  @Get('search.:format')
  @Public()
  async search(@Res() reply: FastifyReply, @Param('format') format: string) {
    if (!queryOf(reply.request).get('q')) throw new Failure('invalid');
    await this.toplist(reply, format);
  }

  @Get('suggestions/:number.:format')
  async suggestions(@Res() reply: FastifyReply, @Param('format') format: string) {
    await this.toplist(reply, format);
  }

  @Get(['api/2/tags/:number.json', 'api/2/tag/:tag/:number.json'])
  @Public()
  tags(): never[] {
    return [];
  }

  /** Returns a podcast of the caller, else 404, to hide the podcasts of other users. */
  @Get('api/2/data/podcast.json')
  async podcast(@Req() request: FastifyRequest) {
    const url = await this.feeds.currentUrl(request, queryOf(request).get('url') ?? '');
    if (url === undefined) throw new Failure('not_found');
    const podcastsByUrl = await this.podcasts.readByUrl(request);
    if (!podcastsByUrl.has(url)) throw new Failure('not_found');
    return toPodcastObject({ url }, podcastsByUrl);
  }

  @Get('api/2/data/episode.json')
  @Public()
  episode(): never {
    throw new Failure('not_found');
  }

  /** Answers 404 to pages and services of gpodder.net that this server does not have. */
  @All(['api/2/podcasts/create', 'api/2/task/:id', 'upload', 'getlist'])
  @Public()
  notFound(): never {
    throw new Failure('not_found');
  }

  /** Returns an empty list, because users of this server cannot publish lists of podcasts. */
  @Get('api/2/lists/:user.json')
  publishedLists(): never[] {
    return [];
  }
}
