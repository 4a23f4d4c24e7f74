import { Injectable } from '@nestjs/common';
import {
  changeSettings,
  ensureFeed,
  Failure,
  type Feed,
  findFeeds,
  type RequestOf,
  setFavorite,
} from '#contracts';
import { repairEnclosureUrl, repairFeedUrl } from '#gpodder-data';
import { Services } from '#http';
import type { FastifyRequest } from 'fastify';
import { callerOf } from '../auth/request.caller.js';
import { readDeviceId } from '../devices/device.rules.js';
import {
  favorite,
  checkSettingLimits,
  type SettingChanges,
  splitFavorite,
} from './settings.rules.js';

/** The owner of settings, with the id or URLs that the client sent. */
type Subject =
  | { readonly of: 'account' }
  | { readonly of: 'device'; readonly id: string }
  | { readonly of: 'podcast'; readonly podcast: string }
  | { readonly of: 'episode'; readonly podcast: string; readonly episode: string };

type Scope = RequestOf<typeof changeSettings>['scope'];
type Values = Record<string, unknown>;

/**
 * Reads and changes settings of the caller. Settings of podcasts and episodes are stored under the
 * podcast's first guid or the episode's sync_id, which never change.
 */
@Injectable()
export class SettingsService {
  constructor(private readonly services: Services) {}

  /**
   * Changes settings and returns all settings of the scope. Reads and removals create no feed or
   * episode.
   *
   * @throws Failure `not_found` for an unknown device; `invalid` above a limit or for an unusable
   *   URL.
   */
  async change(
    request: FastifyRequest,
    subject: Subject,
    changes: SettingChanges,
  ): Promise<Values> {
    switch (subject.of) {
      case 'account':
        return this.store(request, subject, changes);
      case 'device':
        return this.store(request, { of: 'device', id: readDeviceId(subject.id) }, changes);
      case 'podcast': {
        checkSettingLimits(changes);
        const feed = await this.feedOf(request, subject.podcast, addsSettings(changes));
        return feed
          ? this.store(request, { of: 'podcast', id: feed.firstGuid ?? feed.guid }, changes)
          : {};
      }
      case 'episode':
        return this.changeEpisode(request, subject, changes);
    }
  }

  private async changeEpisode(
    request: FastifyRequest,
    { podcast, episode }: Extract<Subject, { of: 'episode' }>,
    changes: SettingChanges,
  ): Promise<Values> {
    const enclosureUrl = repairEnclosureUrl(episode);
    if (enclosureUrl === undefined) throw new Failure('invalid');
    const feedUrl = readFeedUrl(podcast);
    const { favorite: newFavorite, set, remove } = splitFavorite(changes);
    checkSettingLimits({ set, remove });
    const { userId } = callerOf(request);
    const lookup = { userId, feedUrl, enclosureUrl, ensure: addsSettings(changes) };
    const isOnlyFavorite = Object.keys(set).length === 0 && remove.length === 0;
    const first = { ...lookup, favorite: isOnlyFavorite ? newFavorite : undefined };
    const { episode: found } = await this.services.call(setFavorite, request, first);
    if (!found) return {};
    // Other settings come first, so that a change above their limits does not set the favourite.
    const scope = { of: 'episode', id: found.syncId } as const;
    const settings = await this.store(request, scope, { set, remove });
    const isDone = isOnlyFavorite || newFavorite === undefined;
    const { episode: after } = isDone
      ? { episode: found }
      : await this.services.call(setFavorite, request, { ...lookup, favorite: newFavorite });
    return { ...settings, ...(after?.favorite !== undefined && { [favorite]: after.favorite }) };
  }

  private async store(
    request: FastifyRequest,
    scope: Scope,
    { set, remove }: SettingChanges,
  ): Promise<Values> {
    const { userId } = callerOf(request);
    const change = { userId, scope, set, remove } as RequestOf<typeof changeSettings>;
    return (await this.services.call(changeSettings, request, change)).settings;
  }

  /** Returns the feed of a URL. @param ensure true to create a missing feed, not subscribed to. */
  private async feedOf(
    request: FastifyRequest,
    sent: string,
    ensure: boolean,
  ): Promise<Feed | null> {
    const { userId } = callerOf(request);
    const feedUrl = readFeedUrl(sent);
    if (ensure) return (await this.services.call(ensureFeed, request, { userId, feedUrl })).feed;
    const lookup = { userId, feedUrls: [feedUrl] };
    return (await this.services.call(findFeeds, request, lookup)).feeds[0] ?? null;
  }
}

/** Returns the repaired URL of a feed. @throws Failure `invalid` for an unusable one. */
function readFeedUrl(sent: string): string {
  const url = repairFeedUrl(sent);
  if (url === undefined) throw new Failure('invalid');
  return url;
}

/** Returns true if an empty scope would have settings after a change. */
function addsSettings({ set, remove }: SettingChanges): boolean {
  const removed = new Set(remove);
  return Object.keys(set).some((key) => !removed.has(key));
}
