import { Controller, Get, Param, Req } from '@nestjs/common';
import { type ActedEpisode, Failure, listActions } from '#contracts';
import { Services } from '#http';
import type { FastifyRequest } from 'fastify';
import { actionsOf } from '../actions/shown.action.js';
import { callerOf, readerOf } from '../auth/request.caller.js';
import { deviceIdOf } from '../devices/device.rule.js';
import { KnownDevices } from '../devices/known.devices.js';
import { queryOf, sinceOf } from '../http/input.js';
import { Feeds } from '../subscriptions/feeds.js';
import { type Described, podcastObject } from '../subscriptions/formats.js';
import { Podcasts } from '../subscriptions/podcasts.js';
import { episodeObject } from './episode.object.js';

const perPage = 1_000;

/** Changes of subscriptions and episodes in one answer. No known client uses it. */
@Controller()
export class UpdatesController {
  constructor(
    private readonly services: Services,
    private readonly feeds: Feeds,
    private readonly podcasts: Podcasts,
    private readonly devices: KnownDevices,
  ) {}

  @Get('api/2/updates/:user/:device.json')
  async list(@Req() request: FastifyRequest, @Param('device') device: string) {
    const id = deviceIdOf(device);
    const query = queryOf(request);
    if (!query.has('since')) throw new Failure('invalid');
    const since = sinceOf(query);
    // Called first, so that its timestamp is the lower of both.
    const { add, remove, timestamp } = await this.feeds.peekSince(request, since);
    const [episodes, described] = await Promise.all([
      this.changed(request, since),
      this.podcasts.described(request),
      this.devices.use(request, [id]),
    ]);
    const withActions = query.get('include_actions')?.toLowerCase() === 'true';
    return {
      add: add.map((url) => podcastObject(url, described)),
      // gpodder.net's code and its documentation use different names.
      rem: remove,
      remove,
      updates: episodes.map((episode) => updateOf(episode, withActions, described)),
      timestamp,
    };
  }

  private async changed(request: FastifyRequest, since: number): Promise<ActedEpisode[]> {
    const caller = callerOf(request);
    const question = {
      userId: caller.userId,
      reader: readerOf(caller, since),
      readOnly: true,
      perPage,
    };
    const changed: ActedEpisode[] = [];
    for (let page = await this.services.call(listActions, request, question); ;) {
      request.hold?.(JSON.stringify(page.episodes).length);
      changed.push(...page.episodes);
      if (!page.next) return changed;
      page = await this.services.call(listActions, request, { ...question, further: page.next });
    }
  }
}

/** Returns an episode with its relevant action, which is also its status (default `new`). */
function updateOf(episode: ActedEpisode, withAction: boolean, described: Described): object {
  const [action] = actionsOf(episode, 'aggregated');
  return {
    ...episodeObject(episode, described),
    status: action?.action ?? 'new',
    ...(withAction && action && { action }),
  };
}
