import { setImmediate } from 'node:timers/promises';
import { type Uploaded, wireNames } from '#contracts';
import type { AnswerBudget } from './answer.budget.js';
import { type FailedEntry, failedEntry, type Upload } from './episode-entry.rule.js';
import { described, type EpisodeRow, merged, type Metadata, settled, shown } from './episode.rule.js';
import type { KnownEpisodes, NamedSubscription } from './known-episodes.js';

/** An entry that was applied. */
export interface Applied {
  id: number;
  subscription: NamedSubscription;
  temporaryId: string | number | undefined;
}

/** The episode that an entry means, and another one that turned out to be the same. */
interface Meant {
  row: EpisodeRow;
  same?: EpisodeRow;
}

const tooLarge = 'The answer has no room for this episode: send fewer entries at once';
const tooManyAlike = 'Too many episodes are like this one: send fewer entries at once';

/** What a new episode needs: all but its `episode_url`. */
const identifiers = ['episodeGuid', 'title', 'publishDate', 'enclosureUrl'] as const;

/** Entries that are applied in one tick of the event loop: with texts at their limits, 250 would hold it too long. */
const entriesPerTick = 25;

/** Applies a batch in order. Each item in `success` shows the episode as the whole batch leaves it. */
export async function applyUploads(
  known: KnownEpisodes,
  entries: readonly (Upload | FailedEntry)[],
  budget: AnswerBudget,
): Promise<Uploaded> {
  let index = 0;
  const outcomes: (Applied | FailedEntry)[] = [];
  for (const entry of entries) {
    const outcome = 'sent' in entry ? applyUpload(known, entry, index++, budget) : entry;
    if (outcomes.push('message' in outcome ? budget.fit(outcome) : outcome) % entriesPerTick === 0)
      await setImmediate();
  }
  const success: Uploaded['success'] = [];
  const failure: Uploaded['failure'] = [];
  for (const outcome of outcomes) {
    if ('message' in outcome) failure.push(outcome);
    else {
      const row = known.standing(outcome.id);
      const episode = shown(row, row.statuses, outcome.subscription.currentGuid);
      success.push({ ...episode, temporary_id: outcome.temporaryId });
    }
  }
  return { success, failure };
}

/**
 * Applies one entry to what earlier entries of its batch left (docs/interface.md, "Episodes"). Of one that fails
 * nothing is applied.
 *
 * @param entry its index among those that the look-up was given.
 */
export function applyUpload(
  known: KnownEpisodes,
  upload: Upload,
  entry: number,
  budget: AnswerBudget,
): Applied | FailedEntry {
  const subscription = known.subscription(upload.podcastGuid);
  if (!subscription)
    return failedEntry(upload, 'unknown_subscription', 'There is no subscription with this podcast_guid');
  const meant = findEpisode(known, upload, entry, subscription.id);
  if ('message' in meant) return meant;
  const { row, same } = meant;
  const next = settled(described(same ? merged(row, same) : row, upload.metadata), upload.statuses, known.arrived);
  if (!budget.reserve(next, subscription.currentGuid, same)) return failedEntry(upload, 'limit_reached', tooLarge);
  known.keep(next, same);
  if (upload.syncId !== undefined) known.addAlias(next.id, upload.syncId);
  return { id: next.id, subscription, temporaryId: upload.temporaryId };
}

/** Finds the episode of an entry by its sync_id, else by its metadata; else it is a new one. */
function findEpisode(known: KnownEpisodes, upload: Upload, entry: number, subscriptionId: number): Meant | FailedEntry {
  const { syncId, metadata } = upload;
  const named = syncId === undefined ? undefined : known.bySyncId(syncId, entry);
  if (named === 'unread') return failedEntry(upload, 'limit_reached', tooManyAlike);
  if (named) return findNamed(known, upload, entry, subscriptionId, named);
  const missing = identifiers.filter((field) => metadata[field] === undefined).map((field) => wireNames[field]);
  const message = `${missing.join(', ')} missing: without a known sync_id all are needed`;
  if (missing.length > 0) return failedEntry(upload, 'missing_identifier', message);
  const complete = { episodeUrl: '', ...metadata } as Metadata;
  const match = known.match(subscriptionId, complete, entry);
  if (match === 'unread') return failedEntry(upload, 'limit_reached', tooManyAlike);
  if (!match && !known.hasRoom)
    return failedEntry(upload, 'limit_reached', 'You have as many episode states as you may');
  return { row: match ?? known.draft(subscriptionId, complete, syncId) };
}

/** The episode that a sync_id names, and another one of its subscription that has the entry's episode_guid. */
function findNamed(
  known: KnownEpisodes,
  upload: Upload,
  entry: number,
  subscriptionId: number,
  row: EpisodeRow,
): Meant | FailedEntry {
  if (row.subscriptionId !== subscriptionId)
    return failedEntry(upload, 'wrong_subscription', 'This sync_id belongs to an episode of another subscription');
  const same = known.byEpisodeGuid(subscriptionId, upload.metadata.episodeGuid ?? '', entry);
  if (same === 'unread') return failedEntry(upload, 'limit_reached', tooManyAlike);
  return same && same.id !== row.id ? { row, same } : { row };
}
