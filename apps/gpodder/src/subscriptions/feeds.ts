import { Inject, Injectable } from '@nestjs/common';
import { changeFeeds, listFeeds, type ReplyOf, type RequestOf, unavailable } from '#contracts';
import { Services } from '#http';
import type { Log } from '#runtime';
import { skippedEntryMetrics } from '../gpodder.metrics.js';
import type { FastifyRequest } from 'fastify';
import { callerOf, readerOf } from '../auth/request.caller.js';
import { LOG } from '../gpodder.config.js';
import { type FeedChanges, partsOf, updatesOf } from './changes.rule.js';
import type { ListedFeed } from './formats.js';

type Question = RequestOf<typeof listFeeds>;

interface FeedDelta {
  readonly add: string[];
  readonly remove: string[];
  readonly timestamp: number;
}

/** The subscriptions of the caller. */
@Injectable()
export class Feeds {
  private readonly skipped = skippedEntryMetrics();

  constructor(
    private readonly services: Services,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /** Returns the changes since a timestamp in seconds, from an earlier answer. */
  async changedSince(request: FastifyRequest, since: number): Promise<FeedDelta> {
    return (await this.all(request, readerOf(callerOf(request), since))).delta;
  }

  /** Like {@link changedSince}, with titles, and without an update of the client's sync state. */
  async peekSince(
    request: FastifyRequest,
    since: number,
  ): Promise<{ delta: FeedDelta; added: ListedFeed[] }> {
    return this.all(request, readerOf(callerOf(request), since), true);
  }

  /** Returns all subscribed feeds. */
  async subscribed(request: FastifyRequest): Promise<ListedFeed[]> {
    return (await this.all(request)).added;
  }

  /**
   * Changes subscriptions, or replaces all if `whole`. If one of several messages fails, earlier
   * ones keep their effect. The client repeats all of them, which is idempotent.
   */
  async change(request: FastifyRequest, changes: FeedChanges, whole = false) {
    const { userId, credentialId, session } = callerOf(request);
    const holder = { userId, credentialId, ...(session && { sessionId: session.sessionId }) };
    const answers: ReplyOf<typeof changeFeeds>[] = [];
    for (const part of partsOf(changes)) {
      if (request.end?.reached) throw unavailable('the caller went away');
      answers.push(await this.services.call(changeFeeds, request, { ...holder, ...part, whole }));
    }
    const found = {
      // The lowest, so that the client misses no change.
      timestamp: Math.min(...answers.map(({ timestamp }) => timestamp)),
      add: answers.flatMap(({ add }) => add),
      remove: answers.flatMap(({ remove }) => remove),
    };
    const refused = found.add.filter((feed) => feed === null).length;
    this.skipped('unusable_feed', changes.unusable.length);
    this.skipped('refused_feed', refused);
    if (refused > 0 || changes.unusable.length > 0)
      this.log.info(
        { requestId: request.id, refused, unusable: changes.unusable.length },
        'feeds were skipped',
      );
    return { timestamp: found.timestamp, update_urls: updatesOf(changes, found) };
  }

  private async all(
    request: FastifyRequest,
    reader?: Question['reader'],
    readOnly = false,
  ): Promise<{ delta: FeedDelta; added: ListedFeed[] }> {
    const { userId } = callerOf(request);
    const question: Question = { userId, reader, readOnly };
    const first = await this.services.call(listFeeds, request, question);
    const delta = { add: [...first.add], remove: [...first.remove], timestamp: first.timestamp };
    const added = titled(first);
    for (let { next } = first; next;) {
      const page = await this.services.call(listFeeds, request, { ...question, further: next });
      const texts = [...page.add, ...(page.titles ?? []), ...page.remove];
      request.hold?.(texts.reduce((sum, text) => sum + (text?.length ?? 0), 0));
      delta.add.push(...page.add);
      delta.remove.push(...page.remove);
      added.push(...titled(page));
      next = page.next;
    }
    return { delta, added };
  }
}

/** Returns the feeds of a page with their titles. */
function titled({ add, titles = [] }: ReplyOf<typeof listFeeds>): ListedFeed[] {
  return add.map((url, index) => ({ url, title: titles[index] ?? undefined }));
}
