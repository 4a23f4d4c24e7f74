import { setImmediate } from 'node:timers/promises';
import {
  type EntryFailureCode,
  faultInHttpUrl,
  metadataNames,
  podcastGuid,
  type RequestOf,
  type StatusName,
  statusNames,
  type uploadActions,
  validEntrySchema,
} from '#contracts';
import { failedEntry, type FailedEntry, pick, type Upload } from './episode-entry.rule.js';
import type { KnownEpisodes } from './known-episodes.js';
import { type Applied, applyUpload, entriesPerTick, noAnswer } from './upload.rule.js';

/** What a client of the gpodder API did with an episode. */
export type Action = RequestOf<typeof uploadActions>['entries'][number];

const actionSchema = validEntrySchema.omit({ podcastGuid: true, syncId: true, temporaryId: true });

/** Later than all times that count: such a status counts as set at the arrival (docs/interface.md, "Times"). */
const afterAll = '9999-12-31T23:59:59Z';

/** Judges the form of one action by itself: an upload that names its podcast by the URL of the feed. */
export function judgeAction({ feedUrl, statuses, ...described }: Action): Upload | FailedEntry {
  if (faultInHttpUrl(feedUrl) !== undefined) return failed('invalid_url');
  const sent: Partial<Record<StatusName, unknown>> = {};
  for (const name of statusNames) {
    const status = statuses[name];
    if (status) sent[name] = { value: status.value, timestamp: status.at ?? afterAll };
  }
  const { data, error } = actionSchema.safeParse({ ...described, ...sent });
  if (data)
    return { podcast: feedUrl, metadata: pick(data, metadataNames), statuses: pick(data, statusNames), sent: {} };
  const issue = error.issues[0] as (typeof error.issues)[number];
  return failed(issue.code === 'custom' ? (issue.params?.code as EntryFailureCode) : 'invalid_value');
}

/** Applies a batch of actions in order, and returns what became of each. */
export async function applyActions(
  known: KnownEpisodes,
  actions: readonly Upload[],
): Promise<(Applied | FailedEntry)[]> {
  const outcomes: (Applied | FailedEntry)[] = [];
  for (const [index, action] of actions.entries())
    if (outcomes.push(applyUpload(known, action, index, noAnswer)) % entriesPerTick === 0) await setImmediate();
  return outcomes;
}

/** The feeds that actions name by another URL than the current one; what differs in scheme or slashes alone is no other. */
export function movedFeeds(feeds: readonly { feedUrl: string; currentUrl: string }[]): [string, string][] {
  return feeds
    .filter(({ feedUrl, currentUrl }) => feedUrl !== currentUrl && podcastGuid(feedUrl) !== podcastGuid(currentUrl))
    .map(({ feedUrl, currentUrl }) => [feedUrl, currentUrl]);
}

const failed = (code: EntryFailureCode) => failedEntry({ sent: {} }, code, '');
