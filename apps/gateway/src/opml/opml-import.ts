import { Inject, Injectable } from '@nestjs/common';
import { Failure, JsonText, type ReplyOf, subscribe, unavailable } from '#contracts';
import { RequestEnd, Services, TooLarge } from '#http';
import { type Opml, OpmlError, OpmlLimitError, readOpml } from '#opml';
import { parsingSlot } from '#runtime';
import type { FastifyRequest } from 'fastify';
import { userIdOf } from '../http/server-options.js';
import { CONFIG, type GatewayConfig, subscribeResultBytes } from '../gateway.config.js';

/** Time limit of an import in milliseconds. The writes of 5,000 feeds take about two seconds. */
const importLimitMs = 20_000;

/** Maximum feeds of one document. A longer document is rejected as a whole. */
const maxFeeds = 5_000;

/** Limits per user: one import at a time, without a limit of bytes. */
const importLimits = { calls: 1, bytes: Infinity };

/** Reply of the service to one write. */
type SubscribeReply = ReplyOf<typeof subscribe>;

/**
 * Subscribes to all feeds of an OPML document, as POST /subscriptions does for entries with a
 * `feed_url` and a `title`. Makes several writes, in the order of the document.
 */
@Injectable()
export class OpmlImport {
  constructor(
    private readonly services: Services,
    @Inject(CONFIG) private readonly config: GatewayConfig,
  ) {}

  /**
   * Imports a document. After `unavailable` some writes can have taken effect; a repeated import
   * completes them.
   *
   * @throws Failure `invalid` without effect, for invalid OPML or an `Idempotency-Key` that another
   *   request used; `unavailable`; TooLarge.
   */
  run(request: FastifyRequest, document: Buffer): Promise<JsonText> {
    return this.services.run(importLimits, request, { timeLimitMs: importLimitMs }, (timeLimitMs) =>
      this.importWithin(request, document, timeLimitMs),
    );
  }

  /** Imports a document within `timeLimitMs` milliseconds. */
  private async importWithin(request: FastifyRequest, document: Buffer, timeLimitMs: number) {
    const { end = new RequestEnd() } = request;
    const deadline = performance.now() + timeLimitMs;
    const { feeds, skipped } = await parseOpml(document);
    if (estimateAnswerBytes(feeds) > this.config.MAX_ANSWER_BYTES)
      throw new TooLarge('the answer would be too large, import fewer feeds at a time');
    const userId = userIdOf(request);
    const feedsPerWrite = Math.min(this.config.MAX_SUBSCRIPTION_ENTRIES, maxEntriesPerWrite);
    const replies: SubscribeReply[] = [];
    // Makes one write also for a document without feeds, to store the idempotency key.
    for (
      let firstIndex = 0;
      firstIndex === 0 || firstIndex < feeds.length;
      firstIndex += feedsPerWrite
    ) {
      if (end.reached) throw unavailable('the client disconnected');
      const entries = feeds
        .slice(firstIndex, firstIndex + feedsPerWrite)
        .map(({ feedUrl, title }) => ({ feed_url: feedUrl, title }));
      // The request id of the write depends on its position and size, because a gateway with
      // another MAX_SUBSCRIPTION_ENTRIES splits the same document differently.
      const writeName = firstIndex === 0 ? undefined : `${firstIndex}+${entries.length}`;
      const options = { part: writeName, timeLimitMs: deadline - performance.now() };
      replies.push(
        await this.services.call(
          subscribe,
          request,
          { userId, body: { subscriptions: entries } },
          options,
        ),
      );
    }
    return mergeReplies(replies, skipped);
  }
}

/**
 * Parses an OPML document.
 *
 * @throws Failure `invalid` for a document that is not OPML, or has outlines but no feed; TooLarge.
 */
async function parseOpml(document: Buffer): Promise<Opml> {
  try {
    const opml = await readOpml(document, parsingSlot, { maxFeeds });
    if (opml.feeds.length === 0 && opml.skipped > 0)
      throw new OpmlError('no outline has a feed URL');
    return opml;
  } catch (cause) {
    if (cause instanceof OpmlLimitError) throw new TooLarge(cause.message);
    throw cause instanceof OpmlError ? new Failure('invalid', { cause }) : cause;
  }
}

/** Maximum entries of one write, because a thousand would block the service for too long. */
const maxEntriesPerWrite = 250;

/** Returns the approximate maximum size of the answer for these feeds, in bytes. */
function estimateAnswerBytes(feeds: Opml['feeds']): number {
  return feeds.reduce(
    (sum, { feedUrl }) => sum + Buffer.byteLength(JSON.stringify(feedUrl)) + subscribeResultBytes,
    0,
  );
}

/** Merges the replies to all writes into one answer, with the number of skipped outlines. */
function mergeReplies(replies: readonly SubscribeReply[], skipped: number): JsonText {
  const entryLists: Record<'success' | 'failure', string[]> = { success: [], failure: [] };
  for (const reply of replies) {
    const { success, failure } = reply.parse();
    if (success.length > 0) entryLists.success.push(JSON.stringify(success).slice(1, -1));
    if (failure.length > 0) entryLists.failure.push(JSON.stringify(failure).slice(1, -1));
  }
  return JsonText.from(
    `{"success":[${entryLists.success.join(',')}],"failure":[${entryLists.failure.join(',')}],"skipped":${skipped}}`,
  );
}
