import { isDeviceId, type RequestOf, type uploadActions } from '#contracts';
import { readGuid, readSeconds, readTime } from './action.values.js';
import { repairEnclosureUrl, repairFeedUrl } from './url.repair.js';

/** An action as an entry of the message {@link uploadActions}. */
export type ActionEntry = RequestOf<typeof uploadActions>['entries'][number];
type Statuses = ActionEntry['statuses'];

/**
 * Reason not to store an action; the label `reason` of `podcast_sync_skipped_entries_total`.
 * `refused`: the episode service rejected the entry for another reason than `unknown_subscription`.
 */
export type SkipReason =
  | 'not_an_object'
  | 'missing_key'
  | 'unknown_action'
  | 'unusable_podcast'
  | 'unusable_episode'
  | 'unknown_subscription'
  | 'refused';

/** A parsed element of an upload. `podcast` and `episode` are the sent URLs, for `update_urls`. */
export interface ParsedAction {
  readonly podcast?: string;
  readonly episode?: string;
  /** Repaired `episode`; absent if it is unusable. */
  readonly enclosureUrl?: string | undefined;
  /** Repaired `podcast`; absent if it is unusable. */
  readonly feedUrl?: string | undefined;
  readonly device?: string | undefined;
  /** Absent if `skipped` is set. */
  readonly entry?: ActionEntry;
  readonly skipped?: SkipReason;
}

/** An action that parsing did not skip. The episode service can still reject it. */
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
 * Parses one element of an upload (docs/reference/gpodder.md, "Actions in"). An unusable element
 * gets the reason in `skipped` instead of an `entry`.
 */
export function parseAction(sent: unknown): ParsedAction {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent))
    return { skipped: 'not_an_object' };
  const { podcast, episode, action, guid, device, timestamp, ...times } = sent as Record<
    string,
    unknown
  >;
  if (typeof podcast !== 'string' || typeof episode !== 'string' || typeof action !== 'string')
    return { skipped: 'missing_key' };
  const values = valuesOf(action, times);
  if (!values) return { skipped: 'unknown_action' };
  const feedUrl = repairFeedUrl(podcast);
  const enclosureUrl = repairEnclosureUrl(episode);
  const episodeGuid = readGuid(guid);
  const read = {
    podcast,
    episode,
    feedUrl,
    enclosureUrl,
    device: isDeviceId(device) ? device : undefined,
  };
  if (feedUrl === undefined) return { ...read, skipped: 'unusable_podcast' };
  if (enclosureUrl === undefined && episodeGuid === undefined)
    return { ...read, skipped: 'unusable_episode' };
  const { duration, ...statuses } = values;
  const at = readTime(timestamp);
  return {
    ...read,
    entry: {
      feedUrl,
      ...(episodeGuid === undefined ? {} : { episodeGuid }),
      ...(enclosureUrl === undefined ? {} : { enclosureUrl }),
      ...(duration === undefined ? {} : { duration }),
      statuses: withTime(statuses, at),
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

function valuesOf(
  action: string,
  { position, total }: Record<string, unknown>,
): ActionValues | undefined {
  switch (action.length <= 16 ? action.trim().toLowerCase() : '') {
    case 'play':
      return playValues(readSeconds(position), readSeconds(total));
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

/** Returns the values of a `play`. A position at or beyond a credible `total` means played. */
function playValues(position: number | undefined, sentTotal: number | undefined): ActionValues {
  if (position === undefined) return { newStatus: false };
  const total = isCredible(sentTotal, position) ? sentTotal : undefined;
  const duration = total !== undefined && total > 1 ? { duration: total } : {};
  if (total !== undefined && total > 0 && position >= total)
    return { playedStatus: true, newStatus: false, playbackPosition: 0, ...duration };
  return { playbackPosition: position, newStatus: false, ...duration };
}

/**
 * Returns true if `total` can be the episode's length in seconds. The position can exceed it by 5 %
 * and 1 s, because players round. Some players send 1 or another small number if they do not know
 * the length.
 */
function isCredible(total: number | undefined, position: number): boolean {
  return total !== undefined && (position <= total || (total > 1 && position <= total * 1.05 + 1));
}

function withTime(values: Omit<ActionValues, 'duration'>, at: string | undefined): Statuses {
  const statuses = Object.entries(values).map(([name, value]) => [
    name,
    at === undefined ? { value } : { value, at },
  ]);
  return Object.fromEntries(statuses) as Statuses;
}
