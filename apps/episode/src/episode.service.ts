import { Inject, Injectable } from '@nestjs/common';
import { type Episode, type ListRequest, type ReplyOf, type RequestOf, uploadEpisodes } from '#contracts';
import { Database } from '#database';
import type { CallContext } from '#transport';
import { judgeUpload, type Refusal } from './episode-entry.rule.js';
import { listChanged, loadMeant, saveChanges } from './episode.store.js';
import { type EpisodeRow, KnownEpisodes } from './known-episodes.js';
import { minute, statusNames } from './status.rule.js';
import { type Applied, applyUpload } from './upload.rule.js';

type Verdicts = ReplyOf<typeof uploadEpisodes>;

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
  async upload(request: RequestOf<typeof uploadEpisodes>, context: CallContext): Promise<Verdicts> {
    const { userId } = request;
    const judged = request.entries.map(judgeUpload);
    const uploads = judged.filter((entry) => 'refuse' in entry);
    const write = {
      userId,
      pattern: uploadEpisodes.pattern,
      requestId: context.requestId,
      remainingMs: () => context.remainingMs(),
    };
    return this.database.write(write, async (transaction) => {
      const known = new KnownEpisodes(await loadMeant(transaction, userId, uploads), transaction.stamp);
      const outcomes = judged.map((entry) => ('refuse' in entry ? applyUpload(known, entry) : entry));
      await saveChanges(transaction, userId, known.changes());
      return toVerdicts(outcomes, known);
    });
  }

  /** One page of what changed (GET /episodes). */
  list(request: ListRequest) {
    return listChanged(this.database, request);
  }
}

/** Success items show what stands after the whole batch. */
function toVerdicts(outcomes: readonly (Applied | Refusal)[], known: KnownEpisodes): Verdicts {
  const success: Verdicts['success'] = [];
  const failure: Verdicts['failure'] = [];
  for (const outcome of outcomes) {
    if ('message' in outcome) {
      failure.push(outcome);
      continue;
    }
    const { subscription, temporaryId } = outcome;
    const episode = toEpisode(known.standing(outcome.row), subscription.currentGuid);
    success.push({ ...episode, ...(temporaryId !== undefined && { temporaryId }) });
  }
  return { success, failure };
}

function toEpisode(row: EpisodeRow, podcastGuid: string): Episode {
  const { syncId, episodeGuid, title, publishDate, enclosureUrl, episodeUrl } = row;
  const statuses = statusNames.flatMap((name) => {
    const status = row.statuses[name];
    return status ? [[name, { value: status.value, timestamp: minute(status) }]] : [];
  });
  return {
    ...{ podcastGuid, syncId, episodeGuid, title, publishDate, enclosureUrl, episodeUrl },
    ...(Object.fromEntries(statuses) as Partial<Episode>),
  };
}
