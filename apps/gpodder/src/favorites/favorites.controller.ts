import { Controller, Get, Req } from '@nestjs/common';
import { listActions } from '#contracts';
import { Services } from '#http';
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../auth/authenticator.js';
import { By } from '../auth/request.caller.js';
import { Podcasts } from '../subscriptions/podcasts.js';
import { episodeObject } from './episode.object.js';

const perPage = 1_000;

/** Favourite episodes, which the setting `is_favorite` or apps of the main API mark. */
@Controller()
export class FavoritesController {
  constructor(
    private readonly services: Services,
    private readonly podcasts: Podcasts,
  ) {}

  @Get('api/2/favorites/:user.json')
  async list(@Req() request: FastifyRequest, @By() { userId }: Caller) {
    const question = { userId, favorites: true, perPage };
    const described = await this.podcasts.described(request);
    const shown: object[] = [];
    for (let page = await this.services.call(listActions, request, question); ;) {
      const episodes = page.episodes.map((episode) => episodeObject(episode, described));
      request.hold?.(JSON.stringify(episodes).length);
      shown.push(...episodes);
      if (!page.next) return shown;
      page = await this.services.call(listActions, request, { ...question, further: page.next });
    }
  }
}
