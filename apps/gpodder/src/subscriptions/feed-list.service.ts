import { Inject, Injectable } from '@nestjs/common';
import {
  changeFeeds,
  findFeeds,
  listFeeds,
  type ReplyOf,
  type RequestOf,
  unavailable,
} from '#contracts';
import { repairFeedUrl } from '#gpodder-data';
import { Services } from '#http';
import type { Log } from '#runtime';
import type { FastifyRequest } from 'fastify';
import { callerOf, toReader } from '../auth/request-caller.js';
import { LOG } from '../gpodder.config.js';
import { skippedEntryMetrics } from '../gpodder.metrics.js';
import { type FeedChanges, splitIntoMessages, toUrlUpdates } from './changes.rules.js';
import type { ListedFeed } from './formats.js';

type PageRequest = RequestOf<typeof listFeeds>;

/** Changes of a user's list: URLs of added and removed feeds. */
interface FeedDelta {
  readonly add: string[];
  readonly remove: string[];
  /** The client's next `since`, in seconds. */
  readonly timestamp: number;
}

/** Reads and changes the subscriptions of the caller. */
@Injectable()
export class FeedListService {
  private readonly countSkipped = skippedEntryMetrics();

  constructor(
    private readonly services: Services,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /** Returns changes after `since` (seconds), and updates the client's sync state. */
  async changedSince(request: FastifyRequest, since: number): Promise<FeedDelta> {
    return (await this.readAll(request, toReader(callerOf(request), since))).delta;
  }

  /** Like {@link changedSince}, with titles, and without an update of the client's sync state. */
  async peekSince(
    request: FastifyRequest,
    since: number,
  ): Promise<{ delta: FeedDelta; added: ListedFeed[] }> {
    return this.readAll(request, toReader(callerOf(request), since), true);
  }

  /** Returns the current URL of the caller's podcast with this current or former URL, if any. */
  async currentUrl(request: FastifyRequest, sentUrl: string): Promise<string | undefined> {
    const url = repairFeedUrl(sentUrl);
    if (url === undefined) return undefined;
    const { userId } = callerOf(request);
    const { feeds } = await this.services.call(findFeeds, request, { userId, feedUrls: [url] });
    return feeds[0]?.feedUrl;
  }

  /** Returns all subscribed feeds of the caller. */
  async listSubscribedFeeds(request: FastifyRequest): Promise<ListedFeed[]> {
    return (await this.readAll(request)).added;
  }

  /**
   * Changes subscriptions, or replaces all if `isWholeList`. If one of several messages fails,
   * earlier messages keep their effect. Uploads are idempotent, so the client can repeat one.
   */
  async change(request: FastifyRequest, changes: FeedChanges, isWholeList = false) {
    const { userId, credentialId, session } = callerOf(request);
    const client = { userId, credentialId, ...(session && { sessionId: session.sessionId }) };
    const replies: ReplyOf<typeof changeFeeds>[] = [];
    for (const message of splitIntoMessages(changes, isWholeList)) {
      if (request.end?.reached) throw unavailable('the client disconnected');
      const payload = { ...client, ...message, whole: isWholeList };
      replies.push(await this.services.call(changeFeeds, request, payload));
    }
    const combinedReply = {
      // The lowest timestamp of all messages, so that the client misses no change.
      timestamp: Math.min(...replies.map(({ timestamp }) => timestamp)),
      add: replies.flatMap(({ add }) => add),
      remove: replies.flatMap(({ remove }) => remove),
    };
    const rejected = combinedReply.add.filter((feed) => feed === null).length;
    const unusable = changes.unusable.length;
    this.countSkipped('unusable_feed', unusable);
    this.countSkipped('refused_feed', rejected);
    const reasons = countByCode(replies.flatMap(({ rejections = [] }) => rejections));
    if (rejected > 0 || unusable > 0)
      this.log.info(
        { correlationId: request.id, rejected, reasons, unusable },
        'feeds of an upload skipped: URL unusable or change rejected; the other feeds are stored',
      );
    return {
      timestamp: combinedReply.timestamp,
      update_urls: toUrlUpdates(changes, combinedReply),
    };
  }

  /** Reads all pages of a list. @param readOnly true to leave the client's sync state unchanged. */
  private async readAll(
    request: FastifyRequest,
    reader?: PageRequest['reader'],
    readOnly = false,
  ): Promise<{ delta: FeedDelta; added: ListedFeed[] }> {
    const { userId } = callerOf(request);
    const pageRequest: PageRequest = { userId, reader, readOnly };
    const firstPage = await this.services.call(listFeeds, request, pageRequest);
    const delta = {
      add: [...firstPage.add],
      remove: [...firstPage.remove],
      timestamp: firstPage.timestamp,
    };
    const added = toListedFeeds(firstPage);
    for (let { next } = firstPage; next;) {
      const page = await this.services.call(listFeeds, request, { ...pageRequest, further: next });
      const pageTexts = [...page.add, ...(page.titles ?? []), ...page.remove];
      request.hold?.(pageTexts.reduce((sum, text) => sum + (text?.length ?? 0), 0));
      delta.add.push(...page.add);
      delta.remove.push(...page.remove);
      added.push(...toListedFeeds(page));
      next = page.next;
    }
    return { delta, added };
  }
}

/** Returns the number of occurrences of each code. */
function countByCode(codes: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const code of codes) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}

/** Returns the feeds of a page with their titles. */
function toListedFeeds({ add, titles = [] }: ReplyOf<typeof listFeeds>): ListedFeed[] {
  return add.map((url, index) => ({ url, title: titles[index] ?? undefined }));
}
