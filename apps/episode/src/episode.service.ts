import { Inject, Injectable } from '@nestjs/common';
import { JsonText, type ListRequest, type RequestOf, type Uploaded, uploadEpisodes } from '#contracts';
import { Database } from '#database';
import type { CallContext } from '#transport';
import { judgeUpload, type Refusal } from './episode-entry.rule.js';
import { listChanged, meant, saveChanges, toLoaded } from './episode.store.js';
import { KnownEpisodes } from './known-episodes.js';
import { shown } from './shown.episode.js';
import { type Applied, applyUpload } from './upload.rule.js';

/**
 * The episode states of users. Invariants:
 * - a status only ever moves forward in its client's time, whatever the order of arrival;
 * - a row is stamped when what is seen of it changed, and only then;
 * - an upload of any size is a fixed number of statements, under the user's clock.
 */
@Injectable()
export class EpisodeService {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Uploads episode states (POST /episodes). */
  async upload(request: RequestOf<typeof uploadEpisodes>, context: CallContext): Promise<JsonText<Uploaded>> {
    const { userId } = request;
    const judged = request.entries.map(judgeUpload);
    const uploads = judged.filter((entry) => 'refuse' in entry);
    const write = {
      userId,
      pattern: uploadEpisodes.pattern,
      requestId: context.requestId,
      remainingMs: () => context.remainingMs(),
      reads: meant(userId, uploads),
    };
    return this.database.write(write, async (transaction) => {
      const known = new KnownEpisodes(toLoaded(transaction.found), transaction.stamp);
      const outcomes = judged.map((entry) => ('refuse' in entry ? applyUpload(known, entry) : entry));
      await saveChanges(transaction, userId, known.changes());
      return JsonText.of(toVerdicts(outcomes, known));
    });
  }

  /** One page of what changed (GET /episodes). */
  list(request: ListRequest) {
    return listChanged(this.database, request);
  }
}

/** Success items show what stands after the whole batch. */
function toVerdicts(outcomes: readonly (Applied | Refusal)[], known: KnownEpisodes): Uploaded {
  const success: Uploaded['success'] = [];
  const failure: Uploaded['failure'] = [];
  for (const outcome of outcomes) {
    if ('message' in outcome) {
      failure.push(outcome);
      continue;
    }
    const row = known.standing(outcome.row);
    const episode = shown(row, outcome.subscription.currentGuid, (name) => row.statuses[name]);
    success.push({ ...episode, temporary_id: outcome.temporaryId });
  }
  return { success, failure };
}
