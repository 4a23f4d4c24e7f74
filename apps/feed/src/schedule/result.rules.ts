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

/** The time and duration of a fetch, in milliseconds. */
interface Timing {
  readonly now: number;
  readonly durationMs: number;
  readonly random: () => number;
}

type FailedFetch = Extract<Outcome, { kind: 'failed' }>;

/**
 * Returns the values to store after a fetch.
 *
 * @param stored reads the stored episodes as JSON.
 */
export async function resultOf(
  { blocks }: Pick<Claim, 'blocks'>,
  feed: ClaimedFeed,
  outcome: Outcome,
  timing: Timing,
  stored: () => Promise<string>,
): Promise<FetchResult> {
  if (outcome.kind === 'failed') return resultOfFailure(blocks, feed, outcome, timing);
  const { etag, lastModified, contentSha256 } = feed;
  const isComplete = outcome.kind === 'document' ? outcome.document.isComplete : feed.isComplete;
  const base = {
    failures: 0,
    goneCount: 0,
    failingSince: null,
    fault: null,
    status: 'ok' as const,
    isComplete,
    lanePauseMs: lanePauseMs(timing.durationMs),
    laneBlocks: 0,
  };
  const next = (rhythm: PublishingInterval) =>
    nextAfterSuccess({ ...rhythm, isComplete }, { ...timing, freshFor: outcome.freshFor });
  if (outcome.kind === 'unchanged') {
    const { latest, gapSeconds } = feed;
    const rhythm = {
      latest: latest ?? undefined,
      gap: gapSeconds === null ? undefined : gapSeconds * 1_000,
    };
    return { ...base, nextAt: next(rhythm), etag, lastModified, contentSha256, gapSeconds };
  }
  const { document } = outcome;
  const dates = document.items.flatMap(({ publishDate }) => publishDate?.getTime() ?? []);
  const rhythm = publishingIntervalOf(dates, timing.now);
  const { content, sha256 } = await contentOf(document, rhythm, { stored, contentSha256 });
  return {
    ...base,
    nextAt: next(rhythm),
    etag: outcome.etag,
    lastModified: outcome.lastModified,
    contentSha256: sha256,
    gapSeconds: rhythm.gap === undefined ? null : Math.round(rhythm.gap / 1_000),
    ...(content && { content }),
  };
}

function resultOfFailure(
  blocks: number,
  feed: ClaimedFeed,
  outcome: FailedFetch,
  timing: Timing,
): FetchResult {
  const { etag, lastModified, contentSha256, gapSeconds, isComplete } = feed;
  const { fault, retryAfter } = outcome;
  const isBlock = fault === 'http_429';
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
    lanePauseMs: isBlock ? blockDurationMs(blocks + 1, retryAfter) : lanePauseMs(timing.durationMs),
    laneBlocks: isBlock ? blocks + 1 : 0,
  };
}

/**
 * Returns the hash of a document's content, and the content by column unless its hash equals
 * `contentSha256`. Hosts often change only other parts of a document, such as its creation time.
 * Stored episodes that a partly read document lacks are kept; the statement that stores the content
 * keeps the other values.
 */
export async function contentOf(
  document: FeedDocument,
  { latest }: PublishingInterval,
  { stored, contentSha256 }: { stored: () => Promise<string>; contentSha256?: string | null },
): Promise<{ content?: Content; sha256: string }> {
  const readStored = async () => JSON.parse(await stored()) as Episode[];
  const before = document.isWhole ? undefined : await readStored();
  const episodes = selectNewest(document.items, before ?? []);
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
  const hashed = [podcast, episodes.map(withoutSeen)];
  const sha256 = createHash('sha256').update(JSON.stringify(hashed)).digest('hex');
  if (sha256 === contentSha256) return { sha256 };
  const seen = new Map(
    (before ?? (await readStored())).map((episode) => [identityOf(episode), episode]),
  );
  const dated = episodes.map((episode) => {
    const earlier = seen.get(identityOf(episode));
    return { ...episode, seen: earlier ? earlier.seen : seenNow };
  });
  const { isWhole: is_whole } = document;
  return { content: { ...podcast, episodes: JSON.stringify(dated), is_whole }, sha256 };
}

/** A stored episode: the fields of an answer, without `podcast_guid` and with `seen`. */
export interface Episode extends Omit<FeedEpisode, 'podcast_guid'> {
  /** Time at which the server first saw the episode; absent if an earlier release stored it. */
  seen?: string | undefined;
}

/** Returns an episode without `seen`, which answers do not contain. */
export function withoutSeen(episode: Episode): Omit<Episode, 'seen'> {
  const shown = { ...episode };
  delete shown.seen;
  return shown;
}

const identityOf = ({ episode_guid, enclosure_url }: Episode) =>
  episode_guid === undefined ? ` ${enclosure_url}` : episode_guid;

/** Returns the 100 newest of the items and of `before`, newest first, undated episodes last. */
function selectNewest(items: readonly FeedItem[], before: readonly Episode[]): Episode[] {
  const current: Episode[] = items.map((item) => ({
    episode_guid: item.guid,
    title: item.title,
    publish_date: item.publishDate?.toISOString(),
    enclosure_url: item.enclosureUrl,
    episode_url: item.episodeUrl,
    duration: item.duration,
    image_url: item.imageUrl,
  }));
  const names = new Set(current.map(identityOf));
  return [...current, ...before.filter((episode) => !names.has(identityOf(episode)))]
    .sort((one, other) => compareDates(other.publish_date, one.publish_date))
    .slice(0, maxEpisodes);
}

/** Compares dates as `toISOString` writes them; a missing one is the earliest. */
function compareDates(one = '', other = ''): number {
  return one < other ? -1 : Number(one > other);
}
