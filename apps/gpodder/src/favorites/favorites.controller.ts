import { Controller, Get, Req } from '@nestjs/common';
import { listActions } from '#contracts';
import { Services } from '#http';
import type { FastifyRequest } from 'fastify';
import { callerOf } from '../auth/request-caller.js';
import { PodcastsService } from '../subscriptions/podcasts.service.js';
import { toEpisodeObject } from './episode-object.js';

/** Maximum episodes that the episode service returns in one reply. */
const perPage = 1_000;

/**
 * Lists the caller's favourite episodes. Clients mark favourites by the episode setting
 * `is_favorite` or by the Open Podcast API.
 */
@Controller()
export class FavoritesController {
  constructor(
    private readonly services: Services,
    private readonly podcasts: PodcastsService,
  ) {}

  @Get('api/2/favorites/:user.json')
  async list(@Req() request: FastifyRequest) {
    const { userId } = callerOf(request);
    const firstPageRequest = { userId, favorites: true, perPage };
    const podcastsByUrl = await this.podcasts.readByUrl(request);
    const favorites: object[] = [];
    for (let page = await this.services.call(listActions, request, firstPageRequest); ;) {
      const episodes = page.episodes.map((episode) => toEpisodeObject(episode, podcastsByUrl));
      request.hold?.(JSON.stringify(episodes).length);
      favorites.push(...episodes);
      if (!page.next) return favorites;
      page = await this.services.call(listActions, request, {
        ...firstPageRequest,
        further: page.next,
      });
    }
  }
}
