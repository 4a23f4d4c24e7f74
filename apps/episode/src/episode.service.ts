import { Controller, Inject } from '@nestjs/common';
import {
  defaultAnswerBytes,
  JsonText,
  listEpisodes,
  type ListRequest,
  type RequestOf,
  type Uploaded,
  uploadEpisodes,
} from '#contracts';
import { Database } from '#database';
import { type CallContext, Handle } from '#transport';
import { AnswerBudget } from './answer.budget.js';
import { describeNew } from './describe.repository.js';
import { type EpisodeQuotas, QUOTAS } from './episode.config.js';
import {
  listChanged,
  saveChanges,
  selectCandidates,
  selectMatches,
  toCandidates,
} from './episode.repository.js';
import { KnownEpisodes } from './known-episodes.js';
import { applyUploads, validateEntry } from './upload.rules.js';

/**
 * Handles the messages about episode states. Invariants:
 * - A status only moves forward in its client's time, in any order of arrival: to the minute if
 *   either time is in minute form.
 * - A row is stamped if and only if its values that clients see changed.
 * - An upload of any size is a fixed number of statements, under the user's clock, one less if it
 *   names all its episodes. It reads a limited number of episodes ({@link selectCandidates}).
 * - Its answer has at most the requested number of bytes: entries beyond them are not applied.
 */
@Controller()
export class EpisodeService {
  private readonly hasFeeds: boolean;

  constructor(
    private readonly database: Database,
    @Inject(QUOTAS) private readonly quotas: EpisodeQuotas,
  ) {
    this.hasFeeds = (quotas.FEEDS ?? 'off') !== 'off';
  }

  /** Uploads episode states (POST /episodes). */
  @Handle(uploadEpisodes)
  async upload(
    request: RequestOf<typeof uploadEpisodes>,
    context: CallContext,
  ): Promise<JsonText<Uploaded>> {
    const { userId, body, maxBytes = defaultAnswerBytes } = request;
    const entries = body.episodes.map(validateEntry);
    const uploads = entries.filter((entry) => 'rawEntry' in entry);
    const apply = (known: KnownEpisodes) =>
      applyUploads(known, entries, new AnswerBudget(maxBytes, entries));
    const write = {
      userId,
      smallAnswer: false,
      changes: ['episodes'] as const,
      requestId: context.requestId,
      fingerprint: context.fingerprint,
      remainingMs: () => context.remainingMs(),
      reads: selectMatches(userId, uploads, this.quotas),
    };
    return this.database.write(write, async (transaction) => {
      const toKnown = (found: typeof transaction.found) =>
        new KnownEpisodes(toCandidates(found), transaction.stamp, context.arrivedMs);
      let known = toKnown(transaction.found);
      let answer = known.isIncomplete ? undefined : await apply(known);
      if (!answer) {
        const [all, values] = selectCandidates(userId, uploads, this.quotas);
        known = toKnown(await transaction.query(all, values));
        answer = (await apply(known)) as JsonText<Uploaded>;
      }
      const changes = known.changes();
      // The answer is complete, so the titles of new rows are not read here.
      if (this.hasFeeds) await describeNew(transaction, userId, changes, false);
      await saveChanges(transaction, userId, changes);
      return answer;
    });
  }

  /** Returns one page of changed episodes (GET /episodes). */
  @Handle(listEpisodes)
  list(request: ListRequest) {
    return listChanged(this.database, request);
  }
}
