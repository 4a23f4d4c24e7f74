import { Controller, Inject } from '@nestjs/common';
import { listActions, type ReplyOf, type RequestOf, uploadActions } from '#contracts';
import { Database, readClock, tell, toldInSession, unlessRefused } from '#database';
import { type CallContext, Handle } from '#transport';
import { readActions } from './action.list.js';
import { acted } from './action.load.js';
import { applyActions, judgeAction, movedFeeds } from './action.rule.js';
import type { FailedEntry } from './upload.rule.js';
import { type EpisodeQuotas, QUOTAS } from './episode.config.js';
import { saveChanges, toLoaded } from './episode.store.js';
import { KnownEpisodes } from './known-episodes.js';

type Upload = RequestOf<typeof uploadActions>;

/**
 * The episode states of users, as clients of the gpodder API change and read them. Invariants:
 * - states change by the rules of POST /episodes alone;
 * - an upload that changes nothing leaves nothing behind, and wakes nobody up;
 * - a page costs what it answers, not what the user has, and the rows of all pages are each in one.
 */
@Controller()
export class ActionService {
  constructor(
    private readonly database: Database,
    @Inject(QUOTAS) private readonly quotas: EpisodeQuotas,
  ) {}

  /** Uploads what was done with episodes (gpodder API, POST episodes). */
  @Handle(uploadActions)
  async upload(request: Upload, context: CallContext): Promise<ReplyOf<typeof uploadActions>> {
    const { userId, sessionId, entries } = request;
    const told = toldInSession(this.database, userId, 'episodes', sessionId);
    const [timestamp, applied] = await Promise.all([told, this.apply(userId, entries, context)]);
    return { timestamp, ...applied };
  }

  private async apply(userId: string, entries: Upload['entries'], context: CallContext) {
    const judged = entries.map(judgeAction);
    const actions = judged.filter((action) => 'sent' in action);
    const failed = judged.filter((action) => 'code' in action);
    if (actions.length === 0) return this.nothing(userId, failed);
    const write = {
      userId,
      smallAnswer: false,
      changes: ['episodes'] as const,
      requestId: context.requestId,
      remainingMs: () => context.remainingMs(),
      reads: acted(userId, actions, this.quotas),
    };
    return this.database.write(write, async (transaction) => {
      const { found } = transaction;
      const known = new KnownEpisodes(toLoaded(found), transaction.stamp, context.arrivedMs);
      const verdicts = await applyActions(known, judged);
      const changes = known.changes();
      if (changes.rows.length === 0) transaction.leaveNothing();
      else await saveChanges(transaction, userId, changes);
      return { verdicts, moved: movedFeeds(found[0]?.renamed ?? []) };
    });
  }

  /** What is answered where no action has a form that could be applied; most uploads of some clients have none at all. */
  private async nothing(userId: string, failed: readonly FailedEntry[]) {
    const [clock] = await this.database.read<{ refused: number | null }>(readClock, [userId]);
    unlessRefused(clock);
    return { verdicts: failed.map(({ code }) => code), moved: [] };
  }

  /** One page of the episodes whose state changed (gpodder API, GET episodes). */
  @Handle(listActions)
  async list(request: RequestOf<typeof listActions>, context: CallContext): Promise<ReplyOf<typeof listActions>> {
    const { userId, reader, feedUrl, favorites = false, passing = false, further } = request;
    if (further) return this.page(request, { timestamp: Math.max(1, further.since), since: further.since });
    const remembers = reader !== undefined && feedUrl === undefined && !favorites && !passing;
    const told = await tell(this.database, { userId, list: 'episodes', reader, remembers }, context);
    if (told.unchanged) return { timestamp: told.timestamp, episodes: [] };
    return this.page(request, { ...told, since: told.initial ? 0 : told.since });
  }

  private async page(
    request: RequestOf<typeof listActions>,
    { timestamp, since }: { timestamp: number; since: number },
  ) {
    const { episodes, last } = await readActions(this.database, request, since);
    return { timestamp, episodes, ...(last !== undefined && { next: { after: last, since, first: since === 0 } }) };
  }
}
