import { Controller } from '@nestjs/common';
import {
  Failure,
  type FeedEpisode,
  JsonText,
  listFeedEpisodes,
  listPodcasts,
  type Podcast,
  refreshFeeds,
  type ReplyOf,
  type RequestOf,
} from '#contracts';
import { unlessRefused } from '#database';
import { Handle } from '#transport';
import { feedKey, isPrivate, laneOf } from './feed.address.js';
import { type Followed, FeedRepository, type StoredFeed } from './feed.repository.js';

/** Controller of the feeds that a user follows. Reading a feed is what makes it wanted. */
@Controller()
export class FeedService {
  constructor(private readonly repository: FeedRepository) {}

  /** Returns a page of podcasts. @throws Failure `unauthorized` for a refused user. */
  @Handle(listPodcasts)
  async listPodcasts({
    userId,
    after,
    perPage,
  }: RequestOf<typeof listPodcasts>): Promise<ReplyOf<typeof listPodcasts>> {
    const rows = await this.repository.followed(userId, after, perPage + 1);
    const followed = present(rows);
    const page = followed.slice(0, perPage);
    const urls = page.map(({ feedUrl }) => feedUrl).filter((url) => !isPrivate(url));
    const stored = await this.want(urls);
    const feeds = page.map((row) => toPodcast(row, stored.get(row.feedUrl)));
    const next = followed.length > perPage ? page.at(-1)?.id : undefined;
    return { feeds: JsonText.of<Podcast[]>(feeds), ...(next !== undefined && { next }) };
  }

  /** Returns the episodes of a podcast. @throws Failure `not_found` if the user follows none. */
  @Handle(listFeedEpisodes)
  async listEpisodes({
    userId,
    guid,
  }: RequestOf<typeof listFeedEpisodes>): Promise<ReplyOf<typeof listFeedEpisodes>> {
    const [row] = present(await this.repository.followedByGuid(userId, [guid]));
    if (!row) throw new Failure('not_found');
    const isHidden = row.isNew || isPrivate(row.feedUrl);
    const json = isHidden ? '[]' : await this.repository.episodes(feedKey(row.feedUrl));
    const episodes = (JSON.parse(json) as Omit<FeedEpisode, 'podcast_guid'>[]).map((episode) => ({
      podcast_guid: row.guid,
      ...episode,
    }));
    return { episodes: JsonText.of<FeedEpisode[]>(episodes) };
  }

  /** Makes feeds due, if their last fetch is long ago. */
  @Handle(refreshFeeds)
  async refresh({
    userId,
    guids,
  }: RequestOf<typeof refreshFeeds>): Promise<ReplyOf<typeof refreshFeeds>> {
    const rows = present(await this.repository.followedByGuid(userId, guids));
    if (rows.length > 0) await this.repository.refresh(rows.map(({ feedUrl }) => feedKey(feedUrl)));
    return {};
  }

  /** Returns the stored feeds by URL. */
  private async want(urls: readonly string[]): Promise<Map<string, StoredFeed>> {
    if (urls.length === 0) return new Map();
    const keys = urls.map(feedKey);
    const found = await this.repository.want(keys, urls, urls.map(laneOf));
    const byKey = new Map(found.map((feed) => [feed.key.toString('hex'), feed]));
    return new Map(
      urls.flatMap((url, index) => {
        const feed = byKey.get((keys[index] as Buffer).toString('hex'));
        return feed ? [[url, feed] as const] : [];
      }),
    );
  }
}

/** Returns the rows of a user, who can have none. @throws Failure for a refused user. */
function present<Row extends { id: number | null; refused: number | null }>(
  rows: readonly Row[],
): Row[] {
  unlessRefused(rows[0]);
  return rows.filter(({ id }) => id !== null);
}

/**
 * Returns a podcast of an answer, with the listener's own title if there is one. A feed is pending
 * for some seconds after its subscription changed: else the answer would tell whether other users
 * of the server follow it.
 */
function toPodcast(
  { guid, feedUrl, isNew, title }: Followed,
  feed: StoredFeed | undefined,
): Podcast {
  const named = { guid, feed_url: feedUrl, title: title ?? undefined };
  if (isPrivate(feedUrl)) return { ...named, status: 'private' };
  if (!feed || isNew) return { ...named, status: 'pending' };
  return {
    ...named,
    status: feed.status,
    title: title ?? feed.title ?? undefined,
    author: feed.author ?? undefined,
    description: feed.description ?? undefined,
    link: feed.link ?? undefined,
    language: feed.language ?? undefined,
    image_url: feed.imageUrl ?? undefined,
    latest_publish_date: feed.latestPublishDate ?? undefined,
  };
}
