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
import { callerOf } from '../auth/request-caller.js';
import { parseDeviceId } from '../devices/device.rules.js';
import {
  favoriteKey,
  checkSettingLimits,
  type SettingChanges,
  splitFavorite,
} from './settings.rules.js';

/** The owner of settings, with the id or URLs that the client sent. */
type SettingsOwner =
  | { readonly of: 'account' }
  | { readonly of: 'device'; readonly id: string }
  | { readonly of: 'podcast'; readonly podcast: string }
  | { readonly of: 'episode'; readonly podcast: string; readonly episode: string };

type Scope = RequestOf<typeof changeSettings>['scope'];
/** Values of settings by key. */
type SettingValues = Record<string, unknown>;

/**
 * Reads and changes settings of the caller. Settings of podcasts and episodes are stored under the
 * podcast's first guid or the episode's sync_id, which never change.
 */
@Injectable()
export class SettingsService {
  constructor(private readonly services: Services) {}

  /**
   * Changes settings and returns all settings of the owner. A change that adds a setting creates a
   * missing feed or episode; any other change has no effect on a missing one and returns `{}`.
   *
   * @throws Failure `not_found` for an unknown device; `invalid` above a limit or for an unusable
   *   URL.
   */
  async change(
    request: FastifyRequest,
    owner: SettingsOwner,
    changes: SettingChanges,
  ): Promise<SettingValues> {
    switch (owner.of) {
      case 'account':
        return this.storeSettings(request, owner, changes);
      case 'device':
        return this.storeSettings(request, { of: 'device', id: parseDeviceId(owner.id) }, changes);
      case 'podcast': {
        checkSettingLimits(changes);
        const feed = await this.findOrEnsureFeed(request, owner.podcast, addsSettings(changes));
        return feed
          ? this.storeSettings(request, { of: 'podcast', id: feed.firstGuid ?? feed.guid }, changes)
          : {};
      }
      case 'episode':
        return this.changeEpisode(request, owner, changes);
    }
  }

  private async changeEpisode(
    request: FastifyRequest,
    { podcast, episode }: Extract<SettingsOwner, { of: 'episode' }>,
    changes: SettingChanges,
  ): Promise<SettingValues> {
    const enclosureUrl = repairEnclosureUrl(episode);
    if (enclosureUrl === undefined) throw new Failure('invalid');
    const feedUrl = repairFeedUrlOrThrow(podcast);
    const { favorite: newFavorite, set, remove } = splitFavorite(changes);
    checkSettingLimits({ set, remove });
    const { userId } = callerOf(request);
    const lookup = { userId, feedUrl, enclosureUrl, ensure: addsSettings(changes) };
    const isOnlyFavorite = Object.keys(set).length === 0 && remove.length === 0;
    const firstChange = { ...lookup, favorite: isOnlyFavorite ? newFavorite : undefined };
    const { episode: storedEpisode } = await this.services.call(setFavorite, request, firstChange);
    if (!storedEpisode) return {};
    // Stores the other settings first, because the favourite status must not change if they exceed
    // a limit.
    const scope = { of: 'episode', id: storedEpisode.syncId } as const;
    const settings = await this.storeSettings(request, scope, { set, remove });
    const isFavoriteStored = isOnlyFavorite || newFavorite === undefined;
    const { episode: currentEpisode } = isFavoriteStored
      ? { episode: storedEpisode }
      : await this.services.call(setFavorite, request, { ...lookup, favorite: newFavorite });
    return {
      ...settings,
      ...(currentEpisode?.favorite !== undefined && { [favoriteKey]: currentEpisode.favorite }),
    };
  }

  private async storeSettings(
    request: FastifyRequest,
    scope: Scope,
    { set, remove }: SettingChanges,
  ): Promise<SettingValues> {
    const { userId } = callerOf(request);
    const change = { userId, scope, set, remove } as RequestOf<typeof changeSettings>;
    return (await this.services.call(changeSettings, request, change)).settings;
  }

  /**
   * Returns the feed of a URL; `null` if the user has no such feed.
   *
   * @param ensure true to create a missing feed, unsubscribed.
   */
  private async findOrEnsureFeed(
    request: FastifyRequest,
    sentUrl: string,
    ensure: boolean,
  ): Promise<Feed | null> {
    const { userId } = callerOf(request);
    const feedUrl = repairFeedUrlOrThrow(sentUrl);
    if (ensure) return (await this.services.call(ensureFeed, request, { userId, feedUrl })).feed;
    const lookup = { userId, feedUrls: [feedUrl] };
    return (await this.services.call(findFeeds, request, lookup)).feeds[0] ?? null;
  }
}

/** Returns the repaired URL of a feed. @throws Failure `invalid` for an unusable URL. */
function repairFeedUrlOrThrow(sentUrl: string): string {
  const url = repairFeedUrl(sentUrl);
  if (url === undefined) throw new Failure('invalid');
  return url;
}

/** Returns true if a change sets a key that it does not also remove. */
function addsSettings({ set, remove }: SettingChanges): boolean {
  const removedKeys = new Set(remove);
  return Object.keys(set).some((key) => !removedKeys.has(key));
}
