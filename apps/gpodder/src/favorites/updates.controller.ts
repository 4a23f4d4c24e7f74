import { Controller, Get, Param, Req } from '@nestjs/common';
import { type GpodderEpisode, Failure, listActions } from '#contracts';
import { Services } from '#http';
import type { FastifyRequest } from 'fastify';
import { toClientActions } from '../actions/client-action.rules.js';
import { callerOf, toReader } from '../auth/request-caller.js';
import { parseDeviceId } from '../devices/device.rules.js';
import { DeviceRegistry } from '../devices/device-registry.js';
import { queryOf, parseSince } from '../http/input.js';
import { FeedListService } from '../subscriptions/feed-list.service.js';
import { type PodcastsByUrl, toPodcastObject } from '../subscriptions/formats.js';
import { PodcastsService } from '../subscriptions/podcasts.service.js';
import { toEpisodeObject } from './episode-object.js';

/** Maximum episodes that the episode service returns in one reply. */
const perPage = 1_000;

/** Lists changes of subscriptions and episodes in one answer. No tested client uses this path. */
@Controller()
export class UpdatesController {
  constructor(
    private readonly services: Services,
    private readonly feeds: FeedListService,
    private readonly podcasts: PodcastsService,
    private readonly devices: DeviceRegistry,
  ) {}

  @Get('api/2/updates/:user/:device.json')
  async listUpdates(@Req() request: FastifyRequest, @Param('device') device: string) {
    const deviceId = parseDeviceId(device);
    const query = queryOf(request);
    if (!query.has('since')) throw new Failure('invalid');
    const since = parseSince(query);
    // Reads subscriptions first. The answer has their timestamp, which must not be later than the
    // read of the episodes.
    const { delta, added } = await this.feeds.peekSince(request, since);
    const { remove, timestamp } = delta;
    const [episodes, podcastsByUrl] = await Promise.all([
      this.readChangedEpisodes(request, since),
      this.podcasts.readByUrl(request),
      this.devices.register(request, [deviceId]),
    ]);
    const includesActions = query.get('include_actions')?.toLowerCase() === 'true';
    return {
      add: added.map((feed) => toPodcastObject(feed, podcastsByUrl)),
      // Sends both names, because gpodder.net has `rem` in its code, but `remove` in its docs.
      rem: remove,
      remove,
      updates: episodes.map((episode) => toUpdate(episode, includesActions, podcastsByUrl)),
      timestamp,
    };
  }

  private async readChangedEpisodes(
    request: FastifyRequest,
    since: number,
  ): Promise<GpodderEpisode[]> {
    const caller = callerOf(request);
    const pageRequest = {
      userId: caller.userId,
      reader: toReader(caller, since),
      readOnly: true,
      perPage,
    };
    const changedEpisodes: GpodderEpisode[] = [];
    for (let page = await this.services.call(listActions, request, pageRequest); ;) {
      request.hold?.(JSON.stringify(page.episodes).length);
      changedEpisodes.push(...page.episodes);
      if (!page.next) return changedEpisodes;
      page = await this.services.call(listActions, request, { ...pageRequest, further: page.next });
    }
  }
}

/**
 * Returns an episode with the name of its `aggregated` action as `status`, by default `new`.
 *
 * @param includesAction true to add the whole action.
 */
function toUpdate(
  episode: GpodderEpisode,
  includesAction: boolean,
  podcastsByUrl: PodcastsByUrl,
): object {
  const [action] = toClientActions(episode, 'aggregated');
  return {
    ...toEpisodeObject(episode, podcastsByUrl),
    status: action?.action ?? 'new',
    ...(includesAction && action && { action }),
  };
}
