import { Controller, Inject } from '@nestjs/common';
import {
  defaultAnswerBytes,
  JsonText,
  listEpisodes,
  type ListRequest,
  loadEpisodes,
  type LoadVerdicts,
  type RequestOf,
  type Uploaded,
  uploadEpisodes,
} from '#contracts';
import { Database } from '#database';
import { type CallContext, Handle } from '#transport';
import { AnswerBudget } from './answer.budget.js';
import { type EpisodeQuotas, QUOTAS } from './episode.config.js';
import { listChanged, meant, named, probed, saveChanges, toLoaded } from './episode.store.js';
import { KnownEpisodes, type Loaded } from './known-episodes.js';
import { allTooLarge, applyLoads, judgeLoads, lookUps } from './load.rule.js';
import { applyUploads, validateEntry } from './upload.rule.js';

/**
 * The episode states of users: answers the contracts of this service. Invariants:
 * - a status only ever moves forward in its client's time, whatever the order of arrival;
 * - a row is stamped when what clients are shown of it changed, and only then;
 * - an upload of any size is a fixed number of statements, under the user's clock, one of them less where all of it is
 *   known; and reads no more than so many episodes ({@link meant});
 * - its answer has no more bytes than asked for: what it has no room for is not applied.
 */
@Controller()
export class EpisodeService {
  constructor(
    private readonly database: Database,
    @Inject(QUOTAS) private readonly quotas: EpisodeQuotas,
  ) {}

  /** Uploads episode states (POST /episodes). */
  @Handle(uploadEpisodes)
  async upload(request: RequestOf<typeof uploadEpisodes>, context: CallContext): Promise<JsonText<Uploaded>> {
    const { userId, body, maxBytes = defaultAnswerBytes } = request;
    const judged = body.episodes.map(validateEntry);
    const uploads = judged.filter((entry) => 'sent' in entry);
    const apply = (known: KnownEpisodes) => applyUploads(known, judged, new AnswerBudget(maxBytes, judged));
    const write = {
      userId,
      smallAnswer: false,
      changes: ['episodes'] as const,
      requestId: context.requestId,
      fingerprint: context.fingerprint,
      remainingMs: () => context.remainingMs(),
      reads: named(userId, uploads, this.quotas),
    };
    return this.database.write(write, async (transaction) => {
      const knownOf = (found: typeof transaction.found) =>
        new KnownEpisodes(toLoaded(found), transaction.stamp, context.arrivedMs);
      let known = knownOf(transaction.found);
      let verdicts = known.isShort ? undefined : await apply(known);
      if (!verdicts) {
        const [all, values] = meant(userId, uploads, this.quotas);
        known = knownOf(await transaction.query(all, values));
        verdicts = (await apply(known)) as JsonText<Uploaded>;
      }
      await saveChanges(transaction, userId, known.changes());
      return verdicts;
    });
  }

  /**
   * Writes a chunk of one user's episodes out of a file (docs/data.md). Nothing is looked up for a user who has no episode
   * yet: all that the entries could mean are one another. `distinct` ones are found by names alone: by what else they
   * share the system that they come from has told them apart. Of a chunk that changes nothing nothing is left.
   */
  @Handle(loadEpisodes)
  async load(request: RequestOf<typeof loadEpisodes>, context: CallContext): Promise<LoadVerdicts> {
    const { userId, entries, distinct = false } = request;
    const loads = await judgeLoads(entries);
    const sought = lookUps(loads);
    const { requestId } = context;
    const reads = probed(userId, sought, this.quotas);
    const write = {
      userId,
      smallAnswer: false,
      changes: ['episodes'] as const,
      requestId,
      remainingMs: () => context.remainingMs(),
      reads,
    };
    return this.database.write(write, async (transaction) => {
      const probe = toLoaded(transaction.found);
      const apply = async (read: Loaded) => {
        const loaded =
          distinct && read.reach !== 'none' ? { ...read, newIds: probe.newIds, reach: 'distinct' as const } : read;
        const known = new KnownEpisodes(loaded, transaction.stamp, context.arrivedMs);
        return { known, verdicts: known.isShort ? undefined : await applyLoads(known, loads) };
      };
      let applied = await apply(probe);
      for (const read of distinct ? [named] : [named, meant]) {
        if (applied.verdicts) break;
        const [query, values] = read(userId, sought, this.quotas);
        applied = await apply(toLoaded(await transaction.query(query, values)));
      }
      const changes = applied.known.changes();
      if (changes.rows.length + changes.aliases.length === 0) transaction.leaveNothing();
      else await saveChanges(transaction, userId, changes);
      return applied.verdicts ?? allTooLarge(entries.length);
    });
  }

  /** One page of what changed (GET /episodes). */
  @Handle(listEpisodes)
  list(request: ListRequest) {
    return listChanged(this.database, request);
  }
}
