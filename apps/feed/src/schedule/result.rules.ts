import { createHash } from 'node:crypto';
import type { FeedEpisode } from '#contracts';
import { type FeedDocument, type FeedItem, maxEpisodes } from '../document/feed-document.js';
import type { Claim, ClaimedFeed, Content, FetchResult } from '../feed.repository.js';
import { seenNow } from '../feed.sql.js';
import type { Outcome } from './feed-fetch.js';
import {
  blockDurationMs,
  nextAfterFailure,
  nextAfterSuccess,
  lanePauseMs,
  type PublishingInterval,
  publishingIntervalOf,
  statusAfterFailure,
} from './schedule.rules.js';

/** The times of a fetch, and `random`, which returns numbers from 0 to 1. */
interface Timing {
  /** The end of the fetch in milliseconds since 1970. */
  readonly now: number;
  readonly durationMs: number;
  readonly random: () => number;
}

type FailedFetch = Extract<Outcome, { kind: 'failed' }>;

/**
 * Returns the values to store after a fetch.
 *
 * @param readStoredEpisodes reads the stored episodes as JSON.
 */
export async function resultOf(
  { blocks }: Pick<Claim, 'blocks'>,
  feed: ClaimedFeed,
  outcome: Outcome,
  timing: Timing,
  readStoredEpisodes: () => Promise<string>,
): Promise<FetchResult> {
  if (outcome.kind === 'failed') return toFailureResult(blocks, feed, outcome, timing);
  const { etag, lastModified, contentSha256 } = feed;
  const isComplete = outcome.kind === 'document' ? outcome.document.isComplete : feed.isComplete;
  const commonFields = {
    failures: 0,
    goneCount: 0,
    failingSince: null,
    fault: null,
    status: 'ok' as const,
    isComplete,
    lanePauseMs: lanePauseMs(timing.durationMs),
    laneBlocks: 0,
  };
  const computeNextAt = (interval: PublishingInterval) =>
    nextAfterSuccess({ ...interval, isComplete }, { ...timing, freshFor: outcome.freshFor });
  if (outcome.kind === 'unchanged') {
    const { latest, gapSeconds } = feed;
    const interval = {
      latest: latest ?? undefined,
      gap: gapSeconds === null ? undefined : gapSeconds * 1_000,
    };
    return {
      ...commonFields,
      nextAt: computeNextAt(interval),
      etag,
      lastModified,
      contentSha256,
      gapSeconds,
    };
  }
  const { document } = outcome;
  const publishTimes = document.items.flatMap(({ publishDate }) => publishDate?.getTime() ?? []);
  const interval = publishingIntervalOf(publishTimes, timing.now);
  const { content, sha256 } = await contentOf(document, interval, {
    stored: readStoredEpisodes,
    contentSha256,
  });
  return {
    ...commonFields,
    nextAt: computeNextAt(interval),
    etag: outcome.etag,
    lastModified: outcome.lastModified,
    contentSha256: sha256,
    gapSeconds: interval.gap === undefined ? null : Math.round(interval.gap / 1_000),
    ...(content && { content }),
  };
}

function toFailureResult(
  blocks: number,
  feed: ClaimedFeed,
  outcome: FailedFetch,
  timing: Timing,
): FetchResult {
  const { etag, lastModified, contentSha256, gapSeconds, isComplete } = feed;
  const { fault, retryAfter } = outcome;
  const isRateLimited = fault === 'http_429';
  const failures = feed.failures + 1;
  const failingSince = feed.failingSince ?? timing.now;
  const goneCount = fault === 'http_410' ? feed.goneCount + 1 : 0;
  const nextAt = Math.max(
    nextAfterFailure({ failures, failingSince }, timing),
    timing.now + Math.min(retryAfter ?? 0, 86_400_000),
  );
  const isRefused = fault === 'refused';
  return {
    nextAt,
    etag,
    lastModified,
    contentSha256,
    gapSeconds,
    isComplete,
    failures,
    goneCount,
    failingSince,
    fault,
    status: statusAfterFailure(feed.status, { failingSince, goneCount, isRefused }, timing.now),
    lanePauseMs: isRateLimited
      ? blockDurationMs(blocks + 1, retryAfter)
      : lanePauseMs(timing.durationMs),
    laneBlocks: isRateLimited ? blocks + 1 : 0,
  };
}

/**
 * Returns the hash of a document's content. Also returns the content by column, unless the hash
 * equals `contentSha256`. Hosts often change only other parts of a document, such as its creation
 * time. Stored episodes that a partly read document lacks are kept here, and other values by the
 * statement that stores the content.
 */
export async function contentOf(
  document: FeedDocument,
  { latest }: PublishingInterval,
  { stored, contentSha256 }: { stored: () => Promise<string>; contentSha256?: string | null },
): Promise<{ content?: Content; sha256: string }> {
  const readStored = async () => JSON.parse(await stored()) as Episode[];
  const storedEpisodes = document.isWhole ? undefined : await readStored();
  const episodes = selectNewest(document.items, storedEpisodes ?? []);
  const podcast = {
    title: document.title ?? null,
    author: document.author ?? null,
    description: document.description ?? null,
    link: document.link ?? null,
    language: document.language ?? null,
    image_url: document.imageUrl ?? null,
    declared_guid: document.declaredGuid ?? null,
    latest_publish_date: latest === undefined ? null : new Date(latest).toISOString(),
  };
  const hashedContent = [podcast, episodes.map(withoutSeen)];
  const sha256 = createHash('sha256').update(JSON.stringify(hashedContent)).digest('hex');
  if (sha256 === contentSha256) return { sha256 };
  const storedByIdentity = new Map(
    (storedEpisodes ?? (await readStored())).map((episode) => [toIdentity(episode), episode]),
  );
  const episodesWithSeen = episodes.map((episode) => {
    const storedEpisode = storedByIdentity.get(toIdentity(episode));
    return { ...episode, seen: storedEpisode ? storedEpisode.seen : seenNow };
  });
  const { isWhole: is_whole } = document;
  return { content: { ...podcast, episodes: JSON.stringify(episodesWithSeen), is_whole }, sha256 };
}

/** A stored episode: the fields of an answer, without `podcast_guid` and with `seen`. */
export interface Episode extends Omit<FeedEpisode, 'podcast_guid'> {
  /** Time at which the server first saw the episode; absent if an earlier release stored it. */
  seen?: string | undefined;
}

/** Returns a copy of an episode without `seen`, because answers do not contain that field. */
export function withoutSeen(episode: Episode): Omit<Episode, 'seen'> {
  const shown = { ...episode };
  delete shown.seen;
  return shown;
}

/** Returns the guid of an episode, or, without a guid, its enclosure URL after a space. */
const toIdentity = ({ episode_guid, enclosure_url }: Episode) =>
  episode_guid === undefined ? ` ${enclosure_url}` : episode_guid;

/** Returns the 100 newest of items and stored episodes, newest first, undated episodes last. */
function selectNewest(items: readonly FeedItem[], storedEpisodes: readonly Episode[]): Episode[] {
  const itemEpisodes: Episode[] = items.map((item) => ({
    episode_guid: item.guid,
    title: item.title,
    publish_date: item.publishDate?.toISOString(),
    enclosure_url: item.enclosureUrl,
    episode_url: item.episodeUrl,
    duration: item.duration,
    image_url: item.imageUrl,
  }));
  const identities = new Set(itemEpisodes.map(toIdentity));
  return [
    ...itemEpisodes,
    ...storedEpisodes.filter((episode) => !identities.has(toIdentity(episode))),
  ]
    .sort((one, other) => compareDates(other.publish_date, one.publish_date))
    .slice(0, maxEpisodes);
}

/** Compares dates as `toISOString` writes them. An absent date is the earliest. */
function compareDates(one = '', other = ''): number {
  return one < other ? -1 : Number(one > other);
}
