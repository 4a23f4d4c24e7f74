import { Controller, Get, Req } from '@nestjs/common';
import { listActions } from '#contracts';
import { Services } from '#http';
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../auth/authenticator.js';
import { By } from '../auth/request.caller.js';
import { episodeObject } from './episode.object.js';

const perPage = 1_000;

/** Favourite episodes, which the setting `is_favorite` or apps of the main API mark. */
@Controller()
export class FavoritesController {
  constructor(private readonly services: Services) {}

  @Get('api/2/favorites/:user.json')
  async list(@Req() request: FastifyRequest, @By() { userId }: Caller) {
    const question = { userId, favorites: true, perPage };
    const shown: object[] = [];
    for (let page = await this.services.call(listActions, request, question); ;) {
      const episodes = page.episodes.map(episodeObject);
      request.hold?.(JSON.stringify(episodes).length);
      shown.push(...episodes);
      if (!page.next) return shown;
      page = await this.services.call(listActions, request, { ...question, further: page.next });
    }
  }
}
