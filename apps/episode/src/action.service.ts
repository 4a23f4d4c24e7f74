import { randomUUID } from 'node:crypto';
import { Controller, Inject } from '@nestjs/common';
import {
  Failure,
  listActions,
  podcastGuid,
  type RequestOf,
  setFavorite,
  uploadActions,
  urlKey,
} from '#contracts';
import { Database, selectClock, type Transaction, unlessRefused, type Write } from '#database';
import { answerList, sessionTimestamp } from '#gpodder-sync';
import { type CallContext, Handle } from '#transport';
import { readActionEpisodes } from './action.repository.js';
import { type ActedResult, ensureSubscriptions, selectActed } from './action.sql.js';
import { applyActions, validateAction, movedFeeds } from './action.rules.js';
import type { FailedEntry } from './answer-budget.js';
import { describeNew } from './describe.repository.js';
import { type EpisodeQuotas, QUOTAS } from './episode.config.js';
import { saveChanges, toUploadData } from './episode.repository.js';
import { type EpisodeChanges, EpisodeSet } from './episode-set.js';
import {
  type AppliedEntry,
  applyUpload,
  hasTooManyCandidates,
  unlimitedBudget,
  type Upload,
} from './upload.rules.js';

type ActionResult = AppliedEntry | FailedEntry;

/**
 * Handles the messages of the gpodder API about episode actions. Invariants:
 * - States change only by the rules of POST /episodes.
 * - An upload that changes nothing writes nothing, and sends no notification.
 * - The cost of a page depends on its size, not on the number of the user's episodes. Each row is
 *   on exactly one page of a list.
 */
@Controller()
export class ActionService {
  private readonly hasFeeds: boolean;

  constructor(
    private readonly database: Database,
    @Inject(QUOTAS) private readonly quotas: EpisodeQuotas,
  ) {
    this.hasFeeds = (quotas.FEEDS ?? 'off') !== 'off';
  }

  /** Uploads episode actions (gpodder API, POST episodes). */
  @Handle(uploadActions)
  async upload(request: RequestOf<typeof uploadActions>, context: CallContext) {
    const { userId, sessionId } = request;
    const validated = request.entries.map(validateAction);
    const [timestamp, { outcomes, moved }] = await Promise.all([
      sessionTimestamp(this.database, userId, 'episodes', sessionId),
      this.applyInWrites(
        userId,
        validated.filter((action) => 'rawEntry' in action),
        context,
      ),
    ]);
    const appliedOutcomes = outcomes.values();
    const verdicts = validated.map((action) => {
      const outcome = 'rawEntry' in action ? appliedOutcomes.next().value : action;
      return outcome && 'code' in outcome ? outcome.code : null;
    });
    return { timestamp, verdicts, moved };
  }

  /**
   * Sets the favourite status of an episode if `favorite` is sent, and returns the status. A
   * request without `favorite` also runs as a write, because it matches the episode as an upload
   * does.
   *
   * @returns null as `episode` if the episode is missing. `ensure` creates a missing episode.
   * @throws Failure `invalid` for an invalid URL or an episode that cannot be created.
   */
  @Handle(setFavorite)
  async favorite(request: RequestOf<typeof setFavorite>, context: CallContext) {
    const { userId, feedUrl, enclosureUrl, favorite, ensure } = request;
    const statuses = favorite === undefined ? {} : { favoriteStatus: { value: favorite } };
    const action = validateAction({ feedUrl, enclosureUrl, statuses });
    if ('code' in action) throw new Failure('invalid');
    return this.database.write(this.createWrite(userId, [action], context), async (transaction) => {
      const { episodes } = await this.readEpisodes(transaction, userId, [action], context, ensure);
      const outcome = applyUpload(episodes, action, 0, unlimitedBudget);
      if ('code' in outcome && outcome.code !== 'unknown_subscription')
        throw new Failure('invalid');
      const changes = episodes.changes();
      const isMissing = 'code' in outcome || (!ensure && changes.inserted.size > 0);
      if (isMissing || changes.rows.length === 0) transaction.discard();
      else await this.saveEpisodes(transaction, userId, changes);
      if (isMissing) return { episode: null };
      const { syncId, statuses: current } = episodes.byId(outcome.id);
      return {
        episode: { syncId, favorite: current.favoriteStatus?.value as boolean | undefined },
      };
    });
  }

  /**
   * Applies actions in one write. Actions that failed because too many episodes can match them are
   * applied again, in two further writes, each with half of these actions. An upload without a
   * valid action, which some clients send often, starts no write and only checks that the user is
   * not refused.
   */
  private async applyInWrites(
    userId: string,
    actions: readonly Upload[],
    context: CallContext,
    requestId = context.requestId,
  ): Promise<{ outcomes: ActionResult[]; moved: [string, string][] }> {
    if (actions.length === 0) {
      unlessRefused(
        (await this.database.read<{ refused: number | null }>(selectClock, [userId]))[0],
      );
      return { outcomes: [], moved: [] };
    }
    const write = { ...this.createWrite(userId, actions, context), requestId };
    const result = await this.database.write(write, async (transaction) => {
      const { episodes, moved } = await this.readEpisodes(
        transaction,
        userId,
        actions,
        context,
        true,
      );
      const outcomes = await applyActions(episodes, actions);
      const changes = episodes.changes();
      if (changes.rows.length === 0) transaction.discard();
      else await this.saveEpisodes(transaction, userId, changes);
      return { outcomes, moved };
    });
    const failedOutcomes = [...result.outcomes.entries()].filter(
      ([, outcome]) => 'code' in outcome && hasTooManyCandidates(outcome),
    );
    const failedIndexes = failedOutcomes.map(([index]) => index);
    const middle = Math.ceil(failedIndexes.length / 2);
    const halves = [failedIndexes.slice(0, middle), failedIndexes.slice(middle)];
    for (const half of actions.length > 1 ? halves : []) {
      if (half.length === 0) continue;
      const retriedActions = half.map((index) => actions[index] as Upload);
      const retry = await this.applyInWrites(userId, retriedActions, context, randomUUID());
      for (const [position, index] of half.entries())
        result.outcomes[index] = retry.outcomes[position] as ActionResult;
    }
    return result;
  }

  private async saveEpisodes(
    transaction: Transaction,
    userId: string,
    changes: EpisodeChanges,
  ): Promise<void> {
    if (this.hasFeeds) await describeNew(transaction, userId, changes);
    await saveChanges(transaction, userId, changes);
  }

  private createWrite(
    userId: string,
    actions: readonly Upload[],
    context: CallContext,
  ): Write<ActedResult> {
    return {
      ...context.write,
      userId,
      smallAnswer: false,
      changes: ['episodes'],
      reads: selectActed(userId, actions, this.quotas),
    };
  }

  /**
   * Reads the episodes that actions can match.
   *
   * @param ensure true also creates the missing subscriptions of the actions' feeds.
   */
  private async readEpisodes(
    transaction: Transaction<ActedResult>,
    userId: string,
    actions: readonly Upload[],
    context: CallContext,
    ensure: boolean,
  ): Promise<{ episodes: EpisodeSet; moved: [string, string][] }> {
    const { stamp } = transaction;
    let { found } = transaction;
    const subscriptions = new Map(found[0]?.subscriptions);
    const unknownFeeds = [...new Set(actions.map(({ podcast }) => podcast))].filter(
      (feed) => !subscriptions.has(feed),
    );
    if (ensure && unknownFeeds.length > 0) {
      const [ensureResult] = await transaction.query<{ made: number }>(ensureSubscriptions, [
        userId,
        unknownFeeds,
        unknownFeeds.map(podcastGuid),
        unknownFeeds.map((feed) => Buffer.from(urlKey(feed), 'hex')),
        stamp,
        this.quotas.QUOTA_LIVE_SUBSCRIPTIONS,
        this.quotas.QUOTA_SUBSCRIPTION_NAMES,
      ]);
      if (ensureResult?.made) {
        transaction.addEventKinds('subscriptions');
        const [query, values] = selectActed(userId, actions, this.quotas);
        found = await transaction.query(query, values);
      }
    }
    const episodes = new EpisodeSet(toUploadData(found), stamp, context.arrivedMs);
    return { episodes, moved: movedFeeds(found[0]?.renamed ?? []) };
  }

  /**
   * Returns one page of the episodes whose states changed (gpodder API, GET episodes). `timestamp`
   * is the `since` of the client's next request.
   */
  @Handle(listActions)
  async list(request: RequestOf<typeof listActions>, context: CallContext) {
    const { userId, reader, feedUrl, favorites = false, readOnly = false, further } = request;
    if (further)
      return this.readPage(request, {
        timestamp: Math.max(1, further.since),
        since: further.since,
      });
    const updatesState = reader !== undefined && feedUrl === undefined && !favorites && !readOnly;
    const answer = await answerList(
      this.database,
      { userId, list: 'episodes', reader, updatesState },
      context,
    );
    if (answer.unchanged) return { timestamp: answer.timestamp, episodes: [] };
    return this.readPage(request, { ...answer, since: answer.initial ? 0 : answer.since });
  }

  /** Reads a page of the list of actions. `next` is absent on the last page. */
  private async readPage(
    request: RequestOf<typeof listActions>,
    { timestamp, since }: { timestamp: number; since: number },
  ) {
    const { episodes, last } = await readActionEpisodes(this.database, request, since);
    return {
      timestamp,
      episodes,
      ...(last !== undefined && { next: { after: last, since, first: since === 0 } }),
    };
  }
}
