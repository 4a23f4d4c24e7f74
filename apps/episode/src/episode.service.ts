import { Controller, Inject } from '@nestjs/common';
import {
  defaultAnswerBytes,
  JsonText,
  listEpisodes,
  type ListRequest,
  type RequestOf,
  type UploadAnswer,
  uploadEpisodes,
} from '#contracts';
import { Database } from '#database';
import { type CallContext, Handle } from '#transport';
import { AnswerBudget } from './answer-budget.js';
import { describeNew } from './describe.repository.js';
import { type EpisodeQuotas, QUOTAS } from './episode.config.js';
import {
  saveChanges,
  selectCandidates,
  selectIdentified,
  toIdentifiedData,
  toUploadData,
} from './episode.repository.js';
import { listChanged } from './episode-list.repository.js';
import { EpisodeSet, type UploadData } from './episode-set.js';
import { applyUploads, validateEntry } from './upload.rules.js';

/**
 * Handles the messages about episode states. Invariants:
 * - The status with the latest client time wins, in any order of arrival ({@link applyStatus}).
 * - A row gets a stamp if and only if a value that clients see changed.
 * - An upload runs a fixed number of statements under the lock of the user's clock. The read of all
 *   candidates runs only if reading by sync_id and episode_guid does not decide each match.
 * - The answer to an upload has at most `maxBytes`. An entry that would exceed this limit fails
 *   with `limit_reached`.
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
  async upload(request: RequestOf<typeof uploadEpisodes>, context: CallContext) {
    const { userId, body, maxBytes = defaultAnswerBytes } = request;
    const entries = body.episodes.map(validateEntry);
    const uploads = entries.filter((entry) => 'rawEntry' in entry);
    const applyEntries = (episodes: EpisodeSet) =>
      applyUploads(episodes, entries, new AnswerBudget(maxBytes, entries));
    const write = {
      ...context.write,
      userId,
      smallAnswer: false,
      changes: ['episodes'] as const,
      reads: selectIdentified(userId, uploads, this.quotas),
    };
    return this.database.write(write, async (transaction) => {
      const createSet = (data: UploadData) =>
        new EpisodeSet(data, transaction.stamp, context.arrivedMs);
      let episodes = createSet(toIdentifiedData(transaction.found));
      let answer = episodes.isIncomplete ? undefined : await applyEntries(episodes);
      if (!answer) {
        const [query, values] = selectCandidates(userId, uploads, this.quotas);
        episodes = createSet(toUploadData(await transaction.query(query, values)));
        answer = (await applyEntries(episodes)) as JsonText<UploadAnswer>;
      }
      const changes = episodes.changes();
      // `false` fills in no titles, because the answer is already built and would not show them.
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
