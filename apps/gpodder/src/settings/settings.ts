import { Injectable } from '@nestjs/common';
import {
  type ActedEpisode,
  changeFeeds,
  changeSettings,
  Failure,
  type Feed,
  findFeeds,
  listActions,
  type RequestOf,
  uploadActions,
} from '#contracts';
import { Services } from '#http';
import type { FastifyRequest } from 'fastify';
import { repairEnclosureUrl, repairFeedUrl } from '../actions/url.repair.js';
import { callerOf } from '../auth/request.caller.js';
import { deviceIdOf } from '../devices/device.rule.js';
import { favorite, limitSettings, type SettingChanges, withoutFavorite } from './settings.rule.js';

/** What settings are of, by the names that clients have for it. */
export type Subject =
  | { readonly of: 'account' }
  | { readonly of: 'device'; readonly id: string }
  | { readonly of: 'podcast'; readonly podcast: string }
  | { readonly of: 'episode'; readonly podcast: string; readonly episode: string };

type Scope = RequestOf<typeof changeSettings>['scope'];
type Values = Record<string, unknown>;

/**
 * Settings of whoever asks. Those of podcasts and episodes are kept by our own ids that stay, the guid that a podcast had
 * first and the sync_id of an episode, so that they follow a feed that moves or gets another guid.
 */
@Injectable()
export class Settings {
  constructor(private readonly services: Services) {}

  /**
   * Changes settings, and reads all of the scope afterwards. To read or to remove alone makes nothing known.
   *
   * @throws Failure `not_found` for a device that there is not; `invalid` beyond a limit, or for a URL that can't be used.
   */
  async change(request: FastifyRequest, subject: Subject, changes: SettingChanges): Promise<Values> {
    switch (subject.of) {
      case 'account':
        return this.store(request, subject, changes);
      case 'device':
        return this.store(request, { of: 'device', id: deviceIdOf(subject.id) }, changes);
      case 'podcast': {
        limitSettings(changes);
        const feed = await this.feedOf(request, subject.podcast, hasMore(changes));
        return feed ? this.store(request, { of: 'podcast', id: feed.firstGuid ?? feed.guid }, changes) : {};
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
    const { favorite: wanted, set, remove } = withoutFavorite(changes);
    limitSettings({ set, remove });
    const feed = await this.feedOf(request, podcast, hasMore(changes));
    if (!feed) return {};
    const known = { feedUrl: feed.feedUrl, enclosureUrl };
    const found = await this.episodeOf(request, known);
    if (!found && !hasMore(changes)) return {};
    // What is opaque first, as it has limits: beyond one nothing is applied.
    const made = found ?? (await this.make(request, known, undefined));
    const settings = await this.store(request, { of: 'episode', id: made.syncId }, { set, remove });
    const after = wanted === undefined ? made : await this.make(request, known, wanted);
    const { favoriteStatus } = after.statuses;
    return { ...settings, ...(favoriteStatus && { [favorite]: favoriteStatus.value }) };
  }

  private async store(request: FastifyRequest, scope: Scope, { set, remove }: SettingChanges): Promise<Values> {
    const { userId } = callerOf(request);
    const change = { userId, scope, set, remove } as RequestOf<typeof changeSettings>;
    return (await this.services.call(changeSettings, request, change)).settings;
  }

  /** @param isMade whether a feed that there is not becomes known. */
  private async feedOf(request: FastifyRequest, sent: string, isMade: boolean): Promise<Feed | undefined> {
    const { userId, credentialId } = callerOf(request);
    const url = repairFeedUrl(sent);
    if (url === undefined) throw new Failure('invalid');
    const { feeds } = await this.services.call(findFeeds, request, { userId, feedUrls: [url] });
    if (feeds[0] || !isMade) return feeds[0] ?? undefined;
    const know = { userId, credentialId, add: [], remove: [], know: [url], whole: false };
    return (await this.services.call(changeFeeds, request, know)).know[0] ?? undefined;
  }

  private async episodeOf(
    request: FastifyRequest,
    of: { feedUrl: string; enclosureUrl: string },
  ): Promise<ActedEpisode | undefined> {
    const { userId } = callerOf(request);
    const { episodes } = await this.services.call(listActions, request, { userId, ...of, perPage: 1 });
    return episodes[0];
  }

  /** Makes an episode known, and a favourite or none. @throws Failure `invalid` where the service refuses it. */
  private async make(
    request: FastifyRequest,
    of: { feedUrl: string; enclosureUrl: string },
    isFavorite: boolean | undefined,
  ): Promise<ActedEpisode> {
    const { userId } = callerOf(request);
    const statuses = isFavorite === undefined ? {} : { favoriteStatus: { value: isFavorite } };
    await this.services.call(uploadActions, request, { userId, entries: [{ ...of, statuses }] });
    const made = await this.episodeOf(request, of);
    if (!made) throw new Failure('invalid');
    return made;
  }
}

/** Whether there is something of a scope after a change that had nothing before. */
function hasMore({ set, remove }: SettingChanges): boolean {
  const removed = new Set(remove);
  return Object.keys(set).some((key) => !removed.has(key));
}
