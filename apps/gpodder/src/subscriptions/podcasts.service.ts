import { Inject, Injectable } from '@nestjs/common';
import { Failure, listPodcasts, maxPodcasts, type Podcast, type ReplyOf } from '#contracts';
import { linkBase, Services } from '#http';
import type { FastifyRequest } from 'fastify';
import { callerOf } from '../auth/request-caller.js';
import { CONFIG, type GpodderConfig } from '../gpodder.config.js';

/** Reads the publishers' descriptions of the caller's podcasts from the feed service. */
@Injectable()
export class PodcastsService {
  constructor(
    private readonly services: Services,
    @Inject(CONFIG) private readonly config: GpodderConfig,
  ) {}

  /**
   * Returns the subscribed podcasts by feed URL. With FEEDS=off the result is empty. If the feed
   * service becomes unavailable, the result has only the podcasts that were already read.
   */
  async readByUrl(request: FastifyRequest): Promise<ReadonlyMap<string, Podcast>> {
    const podcastsByUrl = new Map<string, Podcast>();
    if (this.config.FEEDS === 'off') return podcastsByUrl;
    const { userId } = callerOf(request);
    try {
      for (let after: number | undefined = 0; after !== undefined;) {
        const page: ReplyOf<typeof listPodcasts> = await this.services.call(listPodcasts, request, {
          userId,
          after,
          perPage: maxPodcasts,
          artworkUrl: `${linkBase(request, this.config)}/feeds/artwork/`,
        });
        request.hold?.(page.feeds.text.length);
        for (const podcast of page.feeds.parse()) podcastsByUrl.set(podcast.feed_url, podcast);
        after = page.next;
      }
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'unavailable') throw error;
    }
    return podcastsByUrl;
  }
}
