import { setImmediate } from 'node:timers/promises';
import {
  areAlikeUrls,
  type EntryFailureCode,
  faultInHttpUrl,
  parseEntry,
  type RequestOf,
  statusNames,
  type uploadActions,
  wireNames,
} from '#contracts';
import type { FailedEntry } from './answer-budget.js';
import type { EpisodeSet } from './episode-set.js';
import {
  type AppliedEntry,
  applyUpload,
  entriesPerIteration,
  failedEntry,
  unlimitedBudget,
  type Upload,
} from './upload.rules.js';

/** An action of a gpodder client on one episode. */
export type Action = RequestOf<typeof uploadActions>['entries'][number];

/**
 * The time of a status that was sent without a time. It is in the future, so the rules replace it
 * by the arrival time of the request (docs/reference/interface.md, "Times").
 */
const latestTime = '9999-12-31T23:59:59Z';

/**
 * Converts an action to an upload with the feed URL as `podcast`. Returns a FailedEntry for an
 * invalid action.
 */
export function validateAction({
  feedUrl,
  episodeGuid,
  enclosureUrl,
  duration,
  statuses,
}: Action): Upload | FailedEntry {
  if (faultInHttpUrl(feedUrl) !== undefined) return createActionFailure('invalid_url');
  const fields: Record<string, unknown> = {
    episode_guid: episodeGuid,
    enclosure_url: enclosureUrl,
    duration,
  };
  for (const name of statusNames) {
    const status = statuses[name];
    if (status)
      fields[wireNames[name]] = { value: status.value, timestamp: status.at ?? latestTime };
  }
  const parsedEntry = parseEntry(fields);
  if ('code' in parsedEntry) return createActionFailure(parsedEntry.code);
  const { metadata, statuses: parsedStatuses } = parsedEntry;
  return { podcast: feedUrl, metadata, statuses: parsedStatuses, rawEntry: {} };
}

/** Applies actions in order. @returns the outcome of each action. */
export async function applyActions(
  episodes: EpisodeSet,
  actions: readonly Upload[],
): Promise<(AppliedEntry | FailedEntry)[]> {
  const outcomes: (AppliedEntry | FailedEntry)[] = [];
  for (const [index, action] of actions.entries())
    if (
      outcomes.push(applyUpload(episodes, action, index, unlimitedBudget)) % entriesPerIteration ===
      0
    )
      await setImmediate();
  return outcomes;
}

/**
 * Returns [sent URL, current URL] of feeds that moved. Pairs of URLs that differ only in scheme or
 * trailing slashes are omitted.
 */
export function movedFeeds(
  feeds: readonly { feedUrl: string; currentUrl: string }[],
): [string, string][] {
  return feeds
    .filter(({ feedUrl, currentUrl }) => !areAlikeUrls(feedUrl, currentUrl))
    .map(({ feedUrl, currentUrl }) => [feedUrl, currentUrl]);
}

const createActionFailure = (code: EntryFailureCode) => failedEntry({ rawEntry: {} }, code, '');
