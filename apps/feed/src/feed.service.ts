import { setTimeout as delay } from 'node:timers/promises';
import { Controller } from '@nestjs/common';
import {
  Failure,
  type FeedEpisode,
  type FeedPreview,
  JsonText,
  listFeedEpisodes,
  listNewEpisodes,
  listPodcasts,
  type Podcast,
  previewFeed,
  type PushAnswer,
  pushFeeds,
  readArtwork,
  refreshFeeds,
  type RequestOf,
} from '#contracts';
import { Handle } from '#transport';
import { ImageRepository } from './artwork/image.repository.js';
import { DueWork } from './due-work.js';
import { feedKey, isPrivate } from './feed-address.js';
import {
  type Content,
  FeedRepository,
  type FollowedFeed,
  type FollowedPage,
  type PageQuery,
  shownColumns,
} from './feed.repository.js';
import { PreviewRepository } from './preview/preview.repository.js';
import { validatePush, type PushedFeed } from './push/push.rules.js';
import { contentOf, type Episode, withoutSeen } from './schedule/result.rules.js';
import { publishingIntervalOf } from './schedule/schedule.rules.js';

/** Number of subscriptions that one page with `since` examines. */
const examinedSubscriptions = 250;

/** Interval between reads of a preview's result, and maximum wait for the result, in ms. */
const [previewPollMs, previewLimitMs] = [250, 18_000];

/** Handles the requests about feeds. A read by a follower keeps a feed scheduled for 14 days. */
@Controller()
export class FeedService {
  constructor(
    private readonly repository: FeedRepository,
    private readonly images: ImageRepository,
    private readonly previews: PreviewRepository,
    private readonly work: DueWork,
  ) {}

  /**
   * Returns a page of the user's podcasts; with `since` only changed ones.
   *
   * @throws Failure `unauthorized` for a refused user.
   */
  @Handle(listPodcasts)
  async listPodcasts({
    userId,
    after,
    perPage,
    since,
    artworkUrl,
    versions,
  }: RequestOf<typeof listPodcasts>) {
    const limit = since === undefined ? perPage : examinedSubscriptions;
    const page = await this.readAndSchedule({ userId, after, limit, since, versions });
    const shown = page.rows.slice(0, perPage);
    const next = shown.length < page.rows.length ? shown.at(-1)?.id : page.next;
    return {
      version: page.version,
      feeds: JsonText.of<Podcast[]>(shown.map((row) => toPodcast(row, artworkUrl))),
      next: next ?? undefined,
      syncTimestamp: page.syncTimestamp,
    };
  }

  /**
   * Returns a page of the episodes of all the user's podcasts that the server first saw after
   * `since`.
   *
   * @throws Failure `unauthorized` for a refused user.
   */
  @Handle(listNewEpisodes)
  async listNewEpisodes({ userId, after, since }: RequestOf<typeof listNewEpisodes>) {
    const page = await this.readAndSchedule({ userId, after, limit: examinedSubscriptions, since });
    const matching = page.rows.filter(
      ({ feedChanged }) => feedChanged !== null && feedChanged > since,
    );
    const keys = matching.map(({ feedUrl }) => feedKey(feedUrl));
    const found = keys.length === 0 ? [] : await this.repository.readEpisodesOfFeeds(keys);
    const episodes = found.flatMap(({ key, episodes: json }) => {
      const row = matching[keys.findIndex((one) => one.equals(key))];
      return shownEpisodes(row?.guid ?? '', json, since);
    });
    // `found` has fewer feeds than `keys` if it reached its size limit or feeds were deleted since.
    const isCut = found.length > 0 && !keys.at(-1)?.equals(found.at(-1)?.key as Buffer);
    const end = isCut && keys.findIndex((one) => one.equals(found.at(-1)?.key as Buffer));
    const next = end === false ? page.next : matching[end]?.id;
    return {
      episodes: JsonText.of<FeedEpisode[]>(episodes),
      next: next ?? undefined,
      syncTimestamp: page.syncTimestamp,
    };
  }

  /** Stores the content of feeds that a platform sends. */
  @Handle(pushFeeds)
  async push({ body }: RequestOf<typeof pushFeeds>) {
    const results = body.feeds.map(validatePush);
    // If several entries have the same URL, the last one is stored.
    const valid = new Map(results.flatMap((feed) => ('url' in feed ? [[feed.url, feed]] : [])));
    if (valid.size > 0) await this.repository.ensureFeeds([...valid.keys()]);
    for (let rest = [...valid.values()]; rest.length > 0;) {
      // Stores as many feeds at a time as `readEpisodesOfFeeds` returns within its size limit.
      const keys = rest.map(({ url }) => feedKey(url));
      const stored = await this.repository.readEpisodesOfFeeds(keys);
      const part = rest.splice(0, stored.length || rest.length);
      await this.storePushed(part, stored);
    }
    return JsonText.of<PushAnswer>({
      success: results.flatMap((feed) => ('url' in feed ? { feed_url: feed.url } : [])),
      failure: results.flatMap((feed) => ('url' in feed ? (feed.failure ?? []) : feed)),
    });
  }

  private async storePushed(
    feeds: readonly PushedFeed[],
    stored: readonly { readonly key: Buffer; readonly episodes: string }[],
  ): Promise<void> {
    const byKey = new Map(stored.map(({ key, episodes }) => [key.toString('hex'), episodes]));
    const now = Date.now();
    const rows = feeds.map(async ({ url, document, artworkUrl }) => {
      const key = feedKey(url).toString('hex');
      const dates = document.items.flatMap(({ publishDate }) => publishDate?.getTime() ?? []);
      const { content } = await contentOf(document, publishingIntervalOf(dates, now), {
        stored: async () => byKey.get(key) ?? '[]',
      });
      return { key, content: content as Content, newFeedUrl: document.newFeedUrl, artworkUrl };
    });
    await this.repository.savePushed(await Promise.all(rows));
    const keys = feeds.map(({ url }) => feedKey(url));
    await this.repository.startVisits(keys, { moves: true, guids: true });
    this.work.notify();
  }

  /**
   * Returns the stored episodes of a podcast, newest first. The list is empty for a private feed,
   * and for some seconds after the subscription changed.
   *
   * @throws Failure `not_found` if the user does not follow the podcast.
   */
  @Handle(listFeedEpisodes)
  async listEpisodes({ userId, guid }: RequestOf<typeof listFeedEpisodes>) {
    const [row] = await this.repository.readFollowedByGuid(userId, [guid]);
    if (!row) throw new Failure('not_found');
    const isHidden = row.isNew || isPrivate(row.feedUrl);
    const json = isHidden ? '[]' : await this.repository.readEpisodes(feedKey(row.feedUrl));
    return { episodes: JsonText.of<FeedEpisode[]>(shownEpisodes(row.guid, json)) };
  }

  /** Returns the thumbnail of a feed's picture. @throws Failure `not_found` for an unknown id. */
  @Handle(readArtwork)
  async readArtwork({ id }: RequestOf<typeof readArtwork>) {
    const image = await this.images.readThumbnail(id);
    if (!image) throw new Failure('not_found');
    return { webp: image.toString('base64') };
  }

  /**
   * Returns a preview of the feed at a URL. A replica with internet access fetches the feed for
   * this request. The status is `failed` if no preview arrives within 18 seconds.
   *
   * @throws Failure `unavailable` while too many other previews wait.
   */
  @Handle(previewFeed)
  async preview({ feedUrl }: RequestOf<typeof previewFeed>): Promise<FeedPreview> {
    if (isPrivate(feedUrl)) return { status: 'private' };
    const id = await this.previews.requestPreview(feedUrl);
    if (id === undefined) throw new Failure('unavailable');
    this.work.notify();
    for (let waitedMs = 0; waitedMs < previewLimitMs; waitedMs += previewPollMs) {
      await delay(previewPollMs);
      const preview = await this.previews.takeAnswer(id);
      if (preview) return preview;
    }
    return { status: 'failed' };
  }

  /** Makes feeds due, except pushed feeds and feeds fetched in the last 15 minutes. */
  @Handle(refreshFeeds)
  async refresh({ userId, guids }: RequestOf<typeof refreshFeeds>) {
    const rows = await this.repository.readFollowedByGuid(userId, guids);
    if (rows.length > 0)
      await this.repository.makeFeedsDue(rows.map(({ feedUrl }) => feedKey(feedUrl)));
    this.work.notify();
    return {};
  }

  /** Reads a page, and inserts, schedules and keeps its public feeds. */
  private async readAndSchedule(query: PageQuery): Promise<FollowedPage> {
    const page = await this.repository.readPage(query);
    const urls = (page.unread ?? []).filter((url) => !isPrivate(url));
    if (urls.length > 0) {
      await this.repository.ensureFeeds(urls);
      this.work.notify();
    }
    return page;
  }
}

/**
 * Returns stored episodes in the form of an answer.
 *
 * @param since omits the episodes that the server first saw at this time or before.
 */
function shownEpisodes(guid: string, json: string, since?: string): FeedEpisode[] {
  return (JSON.parse(json) as Episode[])
    .filter(({ seen }) => since === undefined || (seen !== undefined && seen > since))
    .map((episode) => ({ podcast_guid: guid, ...withoutSeen(episode) }));
}

/**
 * Returns a podcast of an answer. A feed is pending for some seconds after its subscription
 * changed. Otherwise the answer would reveal whether other users of the server follow it.
 */
function toPodcast(row: FollowedFeed, artworkUrl: string | undefined): Podcast {
  const { guid, feedUrl, artworkId } = row;
  return {
    guid,
    feed_url: feedUrl,
    // Private feeds are not stored.
    status: row.status ?? (isPrivate(feedUrl) ? 'private' : 'pending'),
    ...Object.fromEntries(shownColumns.map((column) => [column, row[column] ?? undefined])),
    artwork:
      artworkUrl && (artworkId === null ? (row.artworkUrl ?? undefined) : artworkUrl + artworkId),
  };
}
