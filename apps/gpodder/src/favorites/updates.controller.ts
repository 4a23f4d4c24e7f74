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
import { podcastObject } from '../subscriptions/formats.js';
import { episodeObject } from './episode.object.js';

/** Episodes of one message. */
const perPage = 1_000;

/** What changed of subscriptions and episodes, in one answer. No client is known to ask for it. */
@Controller()
export class UpdatesController {
  constructor(
    private readonly services: Services,
    private readonly feeds: Feeds,
    private readonly devices: KnownDevices,
  ) {}

  @Get('api/2/updates/:user/:device.json')
  async list(@Req() request: FastifyRequest, @Param('device') device: string) {
    const id = deviceIdOf(device);
    const query = queryOf(request);
    if (!query.has('since')) throw new Failure('invalid');
    const since = sinceOf(query);
    // The lower of both time stamps, which comes first.
    const { add, remove, timestamp } = await this.feeds.peekSince(request, since);
    const [episodes] = await Promise.all([this.changed(request, since), this.devices.use(request, [id])]);
    const withActions = query.get('include_actions')?.toLowerCase() === 'true';
    return {
      add: add.map(podcastObject),
      // As gpodder.net's code says, and as its documentation does.
      rem: remove,
      remove,
      updates: episodes.map((episode) => updateOf(episode, withActions)),
      timestamp,
    };
  }

  private async changed(request: FastifyRequest, since: number): Promise<ActedEpisode[]> {
    const caller = callerOf(request);
    const question = { userId: caller.userId, reader: readerOf(caller, since), readOnly: true, perPage };
    const changed: ActedEpisode[] = [];
    for (let page = await this.services.call(listActions, request, question); ;) {
      request.hold?.(JSON.stringify(page.episodes).length);
      changed.push(...page.episodes);
      if (!page.next) return changed;
      page = await this.services.call(listActions, request, { ...question, further: page.next });
    }
  }
}

/** An episode with the action that counts, which is also its status; without one it is new. */
function updateOf(episode: ActedEpisode, withAction: boolean): object {
  const [action] = actionsOf(episode, 'aggregated');
  return { ...episodeObject(episode), status: action?.action ?? 'new', ...(withAction && action && { action }) };
}
