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
import { Services } from '#http';
import type { FastifyRequest } from 'fastify';
import { repairEnclosureUrl, repairFeedUrl } from '../actions/url.repair.js';
import { callerOf } from '../auth/request.caller.js';
import { deviceIdOf } from '../devices/device.rule.js';
import { favorite, limitSettings, type SettingChanges, withoutFavorite } from './settings.rule.js';

/** The subject of settings, by the names of clients. */
export type Subject =
  | { readonly of: 'account' }
  | { readonly of: 'device'; readonly id: string }
  | { readonly of: 'podcast'; readonly podcast: string }
  | { readonly of: 'episode'; readonly podcast: string; readonly episode: string };

type Scope = RequestOf<typeof changeSettings>['scope'];
type Values = Record<string, unknown>;

/**
 * Settings of the caller. Settings of podcasts and episodes use stable ids: the podcast's first
 * guid and the episode's sync_id. So they follow a feed that moves or gets another guid.
 */
@Injectable()
export class Settings {
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
        return this.store(request, { of: 'device', id: deviceIdOf(subject.id) }, changes);
      case 'podcast': {
        limitSettings(changes);
        const feed = await this.feedOf(request, subject.podcast, hasMore(changes));
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
    const feedUrl = usableFeedUrl(podcast);
    const { favorite: wanted, set, remove } = withoutFavorite(changes);
    limitSettings({ set, remove });
    const { userId } = callerOf(request);
    const asked = { userId, feedUrl, enclosureUrl, ensure: hasMore(changes) };
    const isAlone = Object.keys(set).length === 0 && remove.length === 0;
    const first = { ...asked, favorite: isAlone ? wanted : undefined };
    const { episode: found } = await this.services.call(setFavorite, request, first);
    if (!found) return {};
    // Before the favourite, so that nothing is applied above a limit of these settings.
    const settings = await this.store(
      request,
      { of: 'episode', id: found.syncId },
      { set, remove },
    );
    const isDone = isAlone || wanted === undefined;
    const { episode: after } = isDone
      ? { episode: found }
      : await this.services.call(setFavorite, request, { ...asked, favorite: wanted });
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

  /** @param isMade creates a feed without a subscription if there is none. */
  private async feedOf(
    request: FastifyRequest,
    sent: string,
    isMade: boolean,
  ): Promise<Feed | null> {
    const { userId } = callerOf(request);
    const feedUrl = usableFeedUrl(sent);
    if (isMade) return (await this.services.call(ensureFeed, request, { userId, feedUrl })).feed;
    return (
      (await this.services.call(findFeeds, request, { userId, feedUrls: [feedUrl] })).feeds[0] ??
      null
    );
  }
}

/** @throws Failure `invalid` for an unusable URL. */
function usableFeedUrl(sent: string): string {
  const url = repairFeedUrl(sent);
  if (url === undefined) throw new Failure('invalid');
  return url;
}

/** Returns true if an empty scope would have settings after a change. */
function hasMore({ set, remove }: SettingChanges): boolean {
  const removed = new Set(remove);
  return Object.keys(set).some((key) => !removed.has(key));
}
