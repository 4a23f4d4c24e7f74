import { setImmediate } from 'node:timers/promises';
import {
  echoLimits,
  type EntryFailureCode,
  type EpisodeEntry,
  isJsonObject,
  JsonText,
  parseEntry,
  unknownMetadata,
  type UploadAnswer,
} from '#contracts';
import type { AnswerBudget, FailedEntry } from './answer-budget.js';
import { type EpisodeRow, mergeRows, withMetadata, withStatuses } from './episode.rules.js';
import type { EpisodeSet, ReferencedSubscription } from './episode-set.js';

/**
 * A valid entry. `rawEntry` is its JSON as received; a failure repeats the identifiers in it. For
 * an action of a gpodder client it is empty.
 */
export interface Upload extends Omit<EpisodeEntry, 'podcastGuid'> {
  /** Identifies the subscription: a guid, or the feed URL in an action of a gpodder client. */
  podcast: string;
  rawEntry: Readonly<Record<string, unknown>>;
}

/**
 * Validates the fields of one entry without looking up its episode (docs/reference/episodes.md,
 * "Episodes" and "Texts").
 */
export function validateEntry(rawEntry: unknown): Upload | FailedEntry {
  if (!isJsonObject(rawEntry))
    return { code: 'invalid_value', message: 'An entry must be an object' };
  const parsed = parseEntry(rawEntry);
  const isFault = 'code' in parsed;
  // An entry with several faults reports a bad temporary_id first, then a missing podcast_guid.
  if (
    (rawEntry.podcast_guid ?? undefined) === undefined &&
    !(isFault && parsed.field === 'temporary_id')
  )
    return failedEntry({ rawEntry }, 'missing_identifier', 'podcast_guid is missing');
  if (isFault) return failedEntry({ rawEntry }, parsed.code, parsed.message);
  const { podcastGuid, syncId, temporaryId, metadata, statuses } = parsed;
  return { podcast: podcastGuid as string, syncId, temporaryId, metadata, statuses, rawEntry };
}

/** Returns a failure with the entry's identifiers, except those longer than their limits. */
export function failedEntry(
  { rawEntry }: Pick<Upload, 'rawEntry'>,
  code: EntryFailureCode,
  message: string,
): FailedEntry {
  const failed: Record<string, unknown> = {};
  for (const [name, limit] of Object.entries(echoLimits)) {
    const value = rawEntry[name];
    const isName = typeof value === 'string' && Buffer.byteLength(value) <= limit;
    if (isName || (name === 'temporary_id' && Number.isFinite(value))) failed[name] = value;
  }
  return { ...failed, code, message };
}

/** The outcome of an entry that was applied. */
export interface AppliedEntry {
  /** The row id of the episode. */
  id: number;
  subscription: ReferencedSubscription;
  temporaryId: string | number | undefined;
}

/** The matched or new episode of an entry, and the episodes to merge into it. */
interface Match {
  row: EpisodeRow;
  duplicates: EpisodeRow[];
}

const tooLarge = 'The answer exceeds its size limit: send fewer entries per request';
const tooManyCandidates = 'Too many episodes can match this entry: send fewer entries per request';
const quotaReached = 'The quota of episode states is reached: delete a subscription to free some';

/** Returns true if an entry failed because of unread episodes: a smaller batch can succeed. */
export const hasTooManyCandidates = ({ message }: FailedEntry): boolean =>
  message === tooManyCandidates;

const unknownSyncId = 'Unknown sync_id: send an episode_guid or an enclosure_url';
const noIdentifier = 'A sync_id, an episode_guid or an enclosure_url is missing';

/** Entries per event loop iteration. 250 entries with long texts would block the event loop. */
export const entriesPerIteration = 25;

/** A budget without a limit, for messages whose answers contain no uploaded episodes. */
export const unlimitedBudget = { reserve: () => true };

/**
 * Applies a batch in order. @returns the answer; `undefined` if all candidates must be read
 * ({@link EpisodeSet.isIncomplete}).
 */
export async function applyUploads(
  episodes: EpisodeSet,
  entries: readonly (Upload | FailedEntry)[],
  budget: AnswerBudget,
): Promise<JsonText<UploadAnswer> | undefined> {
  let index = 0;
  const outcomes: (AppliedEntry | FailedEntry)[] = [];
  for (const entry of entries) {
    const outcome = 'rawEntry' in entry ? applyUpload(episodes, entry, index++, budget) : entry;
    if (episodes.isIncomplete) return undefined;
    if (
      outcomes.push('message' in outcome ? budget.reserveFailure(outcome) : outcome) %
        entriesPerIteration ===
      0
    )
      await setImmediate();
  }
  const success = outcomes.filter((outcome): outcome is AppliedEntry => 'id' in outcome);
  const failure = outcomes.filter((outcome): outcome is FailedEntry => 'message' in outcome);
  const survivors = success.map(({ id, temporaryId }) => ({
    id: episodes.byId(id).id,
    temporaryId,
  }));
  return JsonText.from(budget.answer(survivors, failure));
}

/**
 * Applies one entry after the earlier entries of its batch (docs/reference/episodes.md,
 * "Episodes"). A failed entry changes nothing.
 *
 * @param entry index of the upload among the valid entries, for which candidates were read.
 */
export function applyUpload(
  episodes: EpisodeSet,
  upload: Upload,
  entry: number,
  budget: Pick<AnswerBudget, 'reserve'>,
): AppliedEntry | FailedEntry {
  const subscription = episodes.findSubscription(upload.podcast);
  if (!subscription)
    return failedEntry(
      upload,
      'unknown_subscription',
      'There is no subscription with this podcast_guid',
    );
  const match = matchEpisode(episodes, upload, entry, subscription.id);
  if ('message' in match) return match;
  const { row, duplicates } = match;
  const next = withStatuses(
    withMetadata(duplicates.reduce(mergeRows, row), upload.metadata),
    upload.statuses,
    episodes.arrivedMs,
  );
  if (!budget.reserve(next, subscription.currentGuid, duplicates))
    return failedEntry(upload, 'limit_reached', tooLarge);
  episodes.setRow(next, duplicates);
  if (upload.syncId !== undefined) episodes.addAlias(next.id, upload.syncId);
  return { id: next.id, subscription, temporaryId: upload.temporaryId };
}

/** Finds the episode of an entry by sync_id, else by metadata; without a match drafts a new row. */
function matchEpisode(
  episodes: EpisodeSet,
  upload: Upload,
  entry: number,
  subscriptionId: number,
): Match | FailedEntry {
  const { syncId, metadata } = upload;
  const named = syncId === undefined ? undefined : episodes.bySyncId(syncId, entry);
  if (named === 'unread') return failedEntry(upload, 'limit_reached', tooManyCandidates);
  if (named && named.subscriptionId !== subscriptionId)
    return failedEntry(
      upload,
      'wrong_subscription',
      'This sync_id belongs to an episode of another subscription',
    );
  if (!named && metadata.episodeGuid === undefined && metadata.enclosureUrl === undefined)
    return failedEntry(upload, 'missing_identifier', syncId ? unknownSyncId : noIdentifier);
  const allMetadata = { ...unknownMetadata, ...metadata };
  const found = named ?? episodes.findMatch(subscriptionId, allMetadata, entry);
  const duplicates =
    found && found !== 'unread' ? episodes.duplicatesOf(found, metadata, entry) : [];
  if (found === 'unread' || duplicates === 'unread')
    return failedEntry(upload, 'limit_reached', tooManyCandidates);
  if (!found && !episodes.allowsNewEpisode)
    return failedEntry(upload, 'limit_reached', quotaReached);
  return { row: found ?? episodes.draftRow(subscriptionId, allMetadata, syncId), duplicates };
}
