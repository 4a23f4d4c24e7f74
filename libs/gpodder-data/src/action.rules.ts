import { isDeviceId, type RequestOf, type uploadActions } from '#contracts';
import { parseEpisodeGuid, parseWholeSeconds, parseActionTime } from './action-values.js';
import { repairEnclosureUrl, repairFeedUrl } from './url-repair.js';

/** An action in the form of an entry of {@link uploadActions}. */
export type ActionEntry = RequestOf<typeof uploadActions>['entries'][number];
type EntryStatuses = ActionEntry['statuses'];

/**
 * Why an action was not stored: the label `reason` of `podcast_sync_skipped_entries_total`. With
 * `refused` the episode service rejected the action for any reason but `unknown_subscription`.
 */
export type SkipReason =
  | 'not_an_object'
  | 'missing_key'
  | 'unknown_action'
  | 'unusable_podcast'
  | 'unusable_episode'
  | 'unknown_subscription'
  | 'refused';

/** A parsed action. `podcast` and `episode` are the sent URLs, for `update_urls` in the answer. */
export interface ParsedAction {
  readonly podcast?: string;
  readonly episode?: string;
  /** URL of the enclosure, repaired from `episode`; absent if `episode` is unusable. */
  readonly enclosureUrl?: string | undefined;
  /** URL of the feed, repaired from `podcast`; absent if `podcast` is unusable. */
  readonly feedUrl?: string | undefined;
  readonly device?: string | undefined;
  /** Entry for the episode service; absent if the action is skipped. */
  readonly entry?: ActionEntry;
  readonly skipped?: SkipReason;
}

/** An action that parsing did not skip. The episode service can still reject the action. */
export interface UsableAction extends ParsedAction {
  readonly podcast: string;
  readonly feedUrl: string;
  readonly entry: ActionEntry;
}

/** Returns true for an action that parsing did not skip. */
export function isUsable(action: ParsedAction): action is UsableAction {
  return action.entry !== undefined;
}

/**
 * Parses one action of an upload (docs/reference/gpodder.md, "Actions in"). The result for an
 * unusable action has the reason in `skipped`, and no `entry`.
 */
export function parseAction(sent: unknown): ParsedAction {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent))
    return { skipped: 'not_an_object' };
  const { podcast, episode, action, guid, device, timestamp, ...playbackFields } = sent as Record<
    string,
    unknown
  >;
  if (typeof podcast !== 'string' || typeof episode !== 'string' || typeof action !== 'string')
    return { skipped: 'missing_key' };
  const values = toValues(action, playbackFields);
  if (!values) return { skipped: 'unknown_action' };
  const feedUrl = repairFeedUrl(podcast);
  const enclosureUrl = repairEnclosureUrl(episode);
  const episodeGuid = parseEpisodeGuid(guid);
  const parsed = {
    podcast,
    episode,
    feedUrl,
    enclosureUrl,
    device: isDeviceId(device) ? device : undefined,
  };
  if (feedUrl === undefined) return { ...parsed, skipped: 'unusable_podcast' };
  if (enclosureUrl === undefined && episodeGuid === undefined)
    return { ...parsed, skipped: 'unusable_episode' };
  const { duration, ...statuses } = values;
  const actionTime = parseActionTime(timestamp);
  return {
    ...parsed,
    entry: {
      feedUrl,
      ...(episodeGuid === undefined ? {} : { episodeGuid }),
      ...(enclosureUrl === undefined ? {} : { enclosureUrl }),
      ...(duration === undefined ? {} : { duration }),
      statuses: addTime(statuses, actionTime),
    },
  };
}

/** The statuses that an action sets, and the episode's duration in seconds. */
interface ActionValues {
  playbackPosition?: number;
  playedStatus?: boolean;
  newStatus?: boolean;
  downloadStatus?: boolean;
  duration?: number;
}

/** Returns the values that an action reports; `undefined` for an unknown action. */
function toValues(
  action: string,
  { position, total }: Record<string, unknown>,
): ActionValues | undefined {
  switch (action.length <= 16 ? action.trim().toLowerCase() : '') {
    case 'play':
      return toPlayValues(parseWholeSeconds(position), parseWholeSeconds(total));
    case 'new':
      return { newStatus: true, playedStatus: false };
    case 'download':
      return { downloadStatus: true };
    case 'delete':
      return { downloadStatus: false };
    default:
      return undefined;
  }
}

/** Returns the values of a `play`. A position at or after a credible `total` means played. */
function toPlayValues(position: number | undefined, sentTotal: number | undefined): ActionValues {
  if (position === undefined) return { newStatus: false };
  const total = isCredible(sentTotal, position) ? sentTotal : undefined;
  const duration = total !== undefined && total > 1 ? { duration: total } : {};
  if (total !== undefined && total > 0 && position >= total)
    return { playedStatus: true, newStatus: false, playbackPosition: 0, ...duration };
  return { playbackPosition: position, newStatus: false, ...duration };
}

/**
 * Returns true if `total` can be the duration of the episode in seconds. The position can exceed
 * the duration by 5 % and 1 s, because players round. Some players send 1 or another small number
 * for an unknown duration.
 */
function isCredible(total: number | undefined, position: number): boolean {
  return total !== undefined && (position <= total || (total > 1 && position <= total * 1.05 + 1));
}

/** Adds the time of the action, if there is one, to each status. */
function addTime(values: Omit<ActionValues, 'duration'>, at: string | undefined): EntryStatuses {
  const statuses = Object.entries(values).map(([name, value]) => [
    name,
    at === undefined ? { value } : { value, at },
  ]);
  return Object.fromEntries(statuses) as EntryStatuses;
}
