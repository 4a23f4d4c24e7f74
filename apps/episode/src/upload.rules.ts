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
 * A valid entry. `rawEntry` is the entry's JSON as received, and is empty for an action of a
 * gpodder client. A failure repeats the identifiers in `rawEntry`.
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
  const parsedEntry = parseEntry(rawEntry);
  const isFault = 'code' in parsedEntry;
  // An entry with several faults reports a bad temporary_id first, then a missing podcast_guid.
  if (
    (rawEntry.podcast_guid ?? undefined) === undefined &&
    !(isFault && parsedEntry.field === 'temporary_id')
  )
    return failedEntry({ rawEntry }, 'missing_identifier', 'podcast_guid is missing');
  if (isFault) return failedEntry({ rawEntry }, parsedEntry.code, parsedEntry.message);
  const { podcastGuid, syncId, temporaryId, metadata, statuses } = parsedEntry;
  return { podcast: podcastGuid as string, syncId, temporaryId, metadata, statuses, rawEntry };
}

/** Returns a failure with the entry's identifiers, except those longer than their limits. */
export function failedEntry(
  { rawEntry }: Pick<Upload, 'rawEntry'>,
  code: EntryFailureCode,
  message: string,
): FailedEntry {
  const identifiers: Record<string, unknown> = {};
  for (const [name, limit] of Object.entries(echoLimits)) {
    const value = rawEntry[name];
    const isShortText = typeof value === 'string' && Buffer.byteLength(value) <= limit;
    if (isShortText || (name === 'temporary_id' && Number.isFinite(value)))
      identifiers[name] = value;
  }
  return { ...identifiers, code, message };
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

/**
 * Returns true if an entry failed because too many episodes can match the entries of its batch. In
 * a smaller batch, the entry can succeed.
 */
export const hasTooManyCandidates = ({ message }: FailedEntry): boolean =>
  message === tooManyCandidates;

const unknownSyncId = 'Unknown sync_id: send an episode_guid or an enclosure_url';
const noIdentifier = 'A sync_id, an episode_guid or an enclosure_url is missing';

/**
 * Maximum number of entries that are applied in one event loop iteration. 250 entries with long
 * texts would block the event loop.
 */
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
  let validEntries = 0;
  const outcomes: (AppliedEntry | FailedEntry)[] = [];
  for (const entry of entries) {
    const outcome =
      'rawEntry' in entry ? applyUpload(episodes, entry, validEntries++, budget) : entry;
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
 * @param entry index of the upload among the valid entries of its batch.
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
  const newRow = withStatuses(
    withMetadata(duplicates.reduce(mergeRows, row), upload.metadata),
    upload.statuses,
    episodes.arrivedMs,
  );
  if (!budget.reserve(newRow, subscription.currentGuid, duplicates))
    return failedEntry(upload, 'limit_reached', tooLarge);
  episodes.setRow(newRow, duplicates);
  if (upload.syncId !== undefined) episodes.addAlias(newRow.id, upload.syncId);
  return { id: newRow.id, subscription, temporaryId: upload.temporaryId };
}

/** Finds the episode of an entry by sync_id, else by metadata; without a match drafts a new row. */
function matchEpisode(
  episodes: EpisodeSet,
  upload: Upload,
  entry: number,
  subscriptionId: number,
): Match | FailedEntry {
  const { syncId, metadata } = upload;
  const rowOfSyncId = syncId === undefined ? undefined : episodes.bySyncId(syncId, entry);
  if (rowOfSyncId === 'unread') return failedEntry(upload, 'limit_reached', tooManyCandidates);
  if (rowOfSyncId && rowOfSyncId.subscriptionId !== subscriptionId)
    return failedEntry(
      upload,
      'wrong_subscription',
      'This sync_id belongs to an episode of another subscription',
    );
  if (!rowOfSyncId && metadata.episodeGuid === undefined && metadata.enclosureUrl === undefined)
    return failedEntry(upload, 'missing_identifier', syncId ? unknownSyncId : noIdentifier);
  const allMetadata = { ...unknownMetadata, ...metadata };
  const found = rowOfSyncId ?? episodes.findMatch(subscriptionId, allMetadata, entry);
  const duplicates =
    found && found !== 'unread' ? episodes.duplicatesOf(found, metadata, entry) : [];
  if (found === 'unread' || duplicates === 'unread')
    return failedEntry(upload, 'limit_reached', tooManyCandidates);
  if (!found && !episodes.allowsNewEpisode)
    return failedEntry(upload, 'limit_reached', quotaReached);
  return { row: found ?? episodes.draftRow(subscriptionId, allMetadata, syncId), duplicates };
}
