import { Controller, Get, Param, Req } from '@nestjs/common';
import { type GpodderEpisode, Failure, listActions } from '#contracts';
import { Services } from '#http';
import type { FastifyRequest } from 'fastify';
import { actionsOf } from '../actions/download.rules.js';
import { callerOf, readerOf } from '../auth/request.caller.js';
import { readDeviceId } from '../devices/device.rules.js';
import { DeviceRegistry } from '../devices/device.registry.js';
import { queryOf, readSince } from '../http/input.js';
import { FeedListService } from '../subscriptions/feed-list.service.js';
import { type PodcastsByUrl, podcastObject } from '../subscriptions/formats.js';
import { PodcastsService } from '../subscriptions/podcasts.service.js';
import { episodeObject } from './episode.object.js';

/** Maximum episodes in one reply of the episode service. */
const perPage = 1_000;

/** Returns changes of subscriptions and episodes in one answer. No tested client uses it. */
@Controller()
export class UpdatesController {
  constructor(
    private readonly services: Services,
    private readonly feeds: FeedListService,
    private readonly podcasts: PodcastsService,
    private readonly devices: DeviceRegistry,
  ) {}

  @Get('api/2/updates/:user/:device.json')
  async list(@Req() request: FastifyRequest, @Param('device') device: string) {
    const id = readDeviceId(device);
    const query = queryOf(request);
    if (!query.has('since')) throw new Failure('invalid');
    const since = readSince(query);
    // Subscriptions are read first, so that the answer's timestamp is not later than the episodes.
    const { delta, added } = await this.feeds.peekSince(request, since);
    const { remove, timestamp } = delta;
    const [episodes, podcastsByUrl] = await Promise.all([
      this.changedEpisodes(request, since),
      this.podcasts.readByUrl(request),
      this.devices.register(request, [id]),
    ]);
    const withActions = query.get('include_actions')?.toLowerCase() === 'true';
    return {
      add: added.map((feed) => podcastObject(feed, podcastsByUrl)),
      // gpodder.net's code and its documentation use different names.
      rem: remove,
      remove,
      updates: episodes.map((episode) => updateOf(episode, withActions, podcastsByUrl)),
      timestamp,
    };
  }

  private async changedEpisodes(request: FastifyRequest, since: number): Promise<GpodderEpisode[]> {
    const caller = callerOf(request);
    const first = {
      userId: caller.userId,
      reader: readerOf(caller, since),
      readOnly: true,
      perPage,
    };
    const changed: GpodderEpisode[] = [];
    for (let page = await this.services.call(listActions, request, first); ;) {
      request.hold?.(JSON.stringify(page.episodes).length);
      changed.push(...page.episodes);
      if (!page.next) return changed;
      page = await this.services.call(listActions, request, { ...first, further: page.next });
    }
  }
}

/**
 * Returns an episode with a status: its listening action, else its download action, else `new`.
 * `withAction` adds that action.
 */
function updateOf(
  episode: GpodderEpisode,
  withAction: boolean,
  podcastsByUrl: PodcastsByUrl,
): object {
  const [action] = actionsOf(episode, 'aggregated');
  return {
    ...episodeObject(episode, podcastsByUrl),
    status: action?.action ?? 'new',
    ...(withAction && action && { action }),
  };
}
