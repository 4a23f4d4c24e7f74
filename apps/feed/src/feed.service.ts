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

/** Maximum number of subscriptions that one page with `since` examines. */
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
    const shownRows = page.rows.slice(0, perPage);
    const next = shownRows.length < page.rows.length ? shownRows.at(-1)?.id : page.next;
    return {
      version: page.version,
      feeds: JsonText.of<Podcast[]>(shownRows.map((row) => toPodcast(row, artworkUrl))),
      next: next ?? undefined,
      syncTimestamp: page.syncTimestamp,
    };
  }

  /**
   * Returns a page of new episodes of the user's podcasts. An episode is new if the server first
   * saw it after `since`.
   *
   * @throws Failure `unauthorized` for a refused user.
   */
  @Handle(listNewEpisodes)
  async listNewEpisodes({ userId, after, since }: RequestOf<typeof listNewEpisodes>) {
    const page = await this.readAndSchedule({ userId, after, limit: examinedSubscriptions, since });
    const changedRows = page.rows.filter(
      ({ feedChanged }) => feedChanged !== null && feedChanged > since,
    );
    const keys = changedRows.map(({ feedUrl }) => feedKey(feedUrl));
    const episodeRows = keys.length === 0 ? [] : await this.repository.readEpisodesOfFeeds(keys);
    const episodes = episodeRows.flatMap(({ key, episodes: json }) => {
      const row = changedRows[keys.findIndex((changedKey) => changedKey.equals(key))];
      return toFeedEpisodes(row?.guid ?? '', json, since);
    });
    // The last key has no row if the rows reached the size limit, or its feed was deleted since.
    const isTruncated =
      episodeRows.length > 0 && !keys.at(-1)?.equals(episodeRows.at(-1)?.key as Buffer);
    const lastReadIndex =
      isTruncated &&
      keys.findIndex((changedKey) => changedKey.equals(episodeRows.at(-1)?.key as Buffer));
    const next = lastReadIndex === false ? page.next : changedRows[lastReadIndex]?.id;
    return {
      episodes: JsonText.of<FeedEpisode[]>(episodes),
      next: next ?? undefined,
      syncTimestamp: page.syncTimestamp,
    };
  }

  /** Stores the content of feeds that a platform pushes. Returns the stored URLs and failures. */
  @Handle(pushFeeds)
  async push({ body }: RequestOf<typeof pushFeeds>) {
    const results = body.feeds.map(validatePush);
    // If several entries have the same URL, the last one is stored.
    const feedsByUrl = new Map(
      results.flatMap((feed) => ('url' in feed ? [[feed.url, feed]] : [])),
    );
    if (feedsByUrl.size > 0) await this.repository.ensureFeeds([...feedsByUrl.keys()]);
    for (let remaining = [...feedsByUrl.values()]; remaining.length > 0;) {
      // A batch has as many feeds as `readEpisodesOfFeeds` returns within its size limit.
      const keys = remaining.map(({ url }) => feedKey(url));
      const stored = await this.repository.readEpisodesOfFeeds(keys);
      const batch = remaining.splice(0, stored.length || remaining.length);
      await this.storePushed(batch, stored);
    }
    return JsonText.of<PushAnswer>({
      success: results.flatMap((feed) => ('url' in feed ? { feed_url: feed.url } : [])),
      failure: results.flatMap((feed) => ('url' in feed ? (feed.failure ?? []) : feed)),
    });
  }

  private async storePushed(
    feeds: readonly PushedFeed[],
    storedEpisodes: readonly { readonly key: Buffer; readonly episodes: string }[],
  ): Promise<void> {
    const episodesByKey = new Map(
      storedEpisodes.map(({ key, episodes }) => [key.toString('hex'), episodes]),
    );
    const now = Date.now();
    const rowPromises = feeds.map(async ({ url, document, artworkUrl }) => {
      const key = feedKey(url).toString('hex');
      const publishTimes = document.items.flatMap(
        ({ publishDate }) => publishDate?.getTime() ?? [],
      );
      const { content } = await contentOf(document, publishingIntervalOf(publishTimes, now), {
        stored: async () => episodesByKey.get(key) ?? '[]',
      });
      return { key, content: content as Content, newFeedUrl: document.newFeedUrl, artworkUrl };
    });
    await this.repository.savePushed(await Promise.all(rowPromises));
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
    const episodesJson = isHidden ? '[]' : await this.repository.readEpisodes(feedKey(row.feedUrl));
    return { episodes: JsonText.of<FeedEpisode[]>(toFeedEpisodes(row.guid, episodesJson)) };
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

  /** Makes followed feeds due, except pushed feeds and feeds fetched in the last 15 minutes. */
  @Handle(refreshFeeds)
  async refresh({ userId, guids }: RequestOf<typeof refreshFeeds>) {
    const rows = await this.repository.readFollowedByGuid(userId, guids);
    if (rows.length > 0)
      await this.repository.makeFeedsDue(rows.map(({ feedUrl }) => feedKey(feedUrl)));
    this.work.notify();
    return {};
  }

  /** Reads a page. Inserts its missing public feeds, and keeps its stored feeds scheduled. */
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
 * Converts the stored episodes of a feed to the form of an answer.
 *
 * @param since omits the episodes that the server first saw at this time or before, or at an
 *   unknown time. Absent: omits none.
 */
function toFeedEpisodes(guid: string, json: string, since?: string): FeedEpisode[] {
  return (JSON.parse(json) as Episode[])
    .filter(({ seen }) => since === undefined || (seen !== undefined && seen > since))
    .map((episode) => ({ podcast_guid: guid, ...withoutSeen(episode) }));
}

/**
 * Returns a podcast of an answer. A feed is pending for some seconds after its subscription
 * changed. Otherwise the answer would reveal whether other users of the server follow the feed.
 *
 * @param artworkUrl base URL of thumbnails; undefined to omit the artwork.
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
