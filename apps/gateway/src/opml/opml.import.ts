import { Inject, Injectable } from '@nestjs/common';
import { Failure, JsonText, type ReplyOf, subscribe, unavailable } from '#contracts';
import { RequestEnd, Services, TooLarge } from '#http';
import { type Opml, OpmlError, OpmlLimitError, readOpml } from '#opml';
import { parsingSlot } from '#runtime';
import type { FastifyRequest } from 'fastify';
import { userIdOf } from '../http/server.options.js';
import { CONFIG, type GatewayConfig, subscribedBytes } from '../gateway.config.js';

/** Time limit of an import in milliseconds. The writes of 5,000 feeds take about two seconds. */
const importMs = 20_000;

const maxFeeds = 5_000;

/** Limits the imports of each user to one at a time. */
const imports = { calls: 1, bytes: Infinity };

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
    return this.services.run(imports, request, { budgetMs: importMs }, (budgetMs) =>
      this.within(request, document, budgetMs),
    );
  }

  private async within(request: FastifyRequest, document: Buffer, budgetMs: number) {
    const { end = new RequestEnd() } = request;
    const until = performance.now() + budgetMs;
    const { feeds, skipped } = await opmlOf(document);
    if (answerBytes(feeds) > this.config.MAX_ANSWER_BYTES)
      throw new TooLarge('the answer would be too large, import fewer feeds at a time');
    const userId = userIdOf(request);
    const size = Math.min(this.config.MAX_SUBSCRIPTION_ENTRIES, maxEntries);
    const answers: SubscribeReply[] = [];
    // A document without feeds also makes one write, which stores the idempotency key.
    for (let first = 0; first === 0 || first < feeds.length; first += size) {
      if (end.reached) throw unavailable('the client disconnected');
      const entries = feeds
        .slice(first, first + size)
        .map(({ feedUrl, title }) => ({ feed_url: feedUrl, title }));
      // The name includes the size, because a gateway with another MAX_SUBSCRIPTION_ENTRIES splits
      // the same document into other writes.
      const part = first === 0 ? undefined : `${first}+${entries.length}`;
      const options = { part, budgetMs: until - performance.now() };
      answers.push(
        await this.services.call(
          subscribe,
          request,
          { userId, body: { subscriptions: entries } },
          options,
        ),
      );
    }
    return joined(answers, skipped);
  }
}

/**
 * Parses a document.
 *
 * @throws Failure `invalid` for a document that is not OPML, or has outlines but no feed; TooLarge.
 */
async function opmlOf(document: Buffer): Promise<Opml> {
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

/** Maximum entries of one write. A thousand would block the service for too long. */
const maxEntries = 250;

/** Returns the approximate maximum size of the answer for these feeds, in bytes. */
function answerBytes(feeds: Opml['feeds']): number {
  return feeds.reduce(
    (sum, { feedUrl }) => sum + Buffer.byteLength(JSON.stringify(feedUrl)) + subscribedBytes,
    0,
  );
}

/** Merges the answers of all writes into one, with the number of skipped entries. */
function joined(answers: readonly SubscribeReply[], skipped: number): JsonText {
  const lists: Record<'success' | 'failure', string[]> = { success: [], failure: [] };
  for (const answer of answers) {
    const { success, failure } = answer.parse();
    if (success.length > 0) lists.success.push(JSON.stringify(success).slice(1, -1));
    if (failure.length > 0) lists.failure.push(JSON.stringify(failure).slice(1, -1));
  }
  return JsonText.from(
    `{"success":[${lists.success.join(',')}],"failure":[${lists.failure.join(',')}],"skipped":${skipped}}`,
  );
}
