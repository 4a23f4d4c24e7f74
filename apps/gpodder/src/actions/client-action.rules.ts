import { type GpodderEpisode, type ActionStatuses, parseTime } from '#contracts';
import { maxSeconds, oldestTime } from '#gpodder-data';

/** An action in the JSON format of gpodder clients (docs/reference/gpodder.md, "Actions out"). */
export interface ClientAction {
  /** URL of the feed. */
  readonly podcast: string;
  /** URL of the enclosure. */
  readonly episode: string;
  readonly guid?: string;
  /** `PLAY` only in answers of the Nextcloud API. */
  readonly action: 'play' | 'new' | 'download' | 'delete' | 'PLAY';
  /** UTC as `YYYY-MM-DDTHH:MM:SS`, the only format that every client reads. */
  readonly timestamp: string;
  /** Second at which the playback started. */
  readonly started?: number;
  /** Second at which the playback stopped. */
  readonly position?: number;
  /** Duration of the episode in seconds. */
  readonly total?: number;
}

/**
 * Selects the actions of an episode in a download: `all` of them; as `aggregated` its `play` or
 * `new` action, else its `download` or `delete` action; for `nextcloud` only a `play` action.
 */
export type ActionSelection = 'all' | 'aggregated' | 'nextcloud';

/** The `position` and `total` of a played episode of unknown duration, in seconds: 24 hours. */
const assumedDuration = 86_400;
/**
 * Seconds from the `position` to the `total` of an episode of unknown duration. If both were equal,
 * clients would count the episode as played.
 */
const assumedRemaining = 3_600;

/** An action with its time (ISO 8601 in UTC), still without podcast and episode. */
type TimedAction = Pick<ClientAction, 'action' | 'started' | 'position' | 'total'> & { at: string };

/**
 * Returns an episode's actions, oldest first: at most one `play` or `new`, and one `download` or
 * `delete`. An episode without an enclosure URL has none.
 */
export function toClientActions(
  episode: GpodderEpisode,
  selection: ActionSelection,
): ClientAction[] {
  if (episode.enclosureUrl === '') return [];
  const playAction = toPlayOrNew(episode);
  const downloadAction = toDownloadOrDelete(episode.statuses);
  const toList = (...actions: (TimedAction | undefined)[]) =>
    actions.flatMap((action) => (action ? [toClientAction(episode, action)] : []));
  if (selection === 'nextcloud')
    return toList(playAction?.action === 'play' ? { ...playAction, action: 'PLAY' } : undefined);
  if (selection === 'aggregated') return toList(playAction ?? downloadAction);
  const isDownloadActionOlder =
    playAction !== undefined && downloadAction !== undefined && downloadAction.at < playAction.at;
  return isDownloadActionOlder
    ? toList(downloadAction, playAction)
    : toList(playAction, downloadAction);
}

function toClientAction(
  { feedUrl, enclosureUrl, episodeGuid }: GpodderEpisode,
  { at, ...action }: TimedAction,
): ClientAction {
  const guid = episodeGuid === '' ? {} : { guid: episodeGuid };
  const timestamp = at.slice(0, 19);
  return { podcast: feedUrl, episode: enclosureUrl, ...guid, ...action, timestamp };
}

/** A status with the time of its last change in UTC. Such times are comparable as text. */
interface TimedValue<Value> {
  value: Value;
  at: string;
}

/** Returns a status with its time, by default {@link oldestTime}; `undefined` without a status. */
function withTime<Value>(
  status: { value: Value; at?: string | undefined } | undefined,
): TimedValue<Value> | undefined {
  if (!status) return undefined;
  return { value: status.value, at: (status.at && parseTime(status.at)?.instant) ?? oldestTime };
}

/** Returns the `play` or `new` action; `undefined` without played status and position. */
function toPlayOrNew({ statuses, duration }: GpodderEpisode): TimedAction | undefined {
  const played = withTime(statuses.playedStatus);
  const position = withTime(statuses.playbackPosition);
  const newStatus = withTime(statuses.newStatus);
  // Sends no position below one second, because clients ignore it.
  const positionSeconds = Math.min(Math.trunc(position?.value ?? 0), maxSeconds - assumedRemaining);
  const reachedPosition = position && positionSeconds >= 1 ? position : undefined;
  const durationSeconds = Math.min(Math.trunc(duration ?? 0), maxSeconds);
  if (played?.value === true && !(reachedPosition && reachedPosition.at > played.at)) {
    const total = durationSeconds >= 1 ? durationSeconds : assumedDuration;
    return { action: 'play', started: total, position: total, total, at: played.at };
  }
  if (reachedPosition && !(newStatus?.value === true && newStatus.at > reachedPosition.at)) {
    const total =
      durationSeconds > positionSeconds ? durationSeconds : positionSeconds + assumedRemaining;
    return {
      action: 'play',
      started: positionSeconds,
      position: positionSeconds,
      total,
      at: reachedPosition.at,
    };
  }
  if (!played && !position) return undefined;
  const statusTimes = [played, position, newStatus].flatMap((status) =>
    status ? [status.at] : [],
  );
  return { action: 'new', at: statusTimes.toSorted().at(-1) as string };
}

/** Returns the `download` or `delete` action; `undefined` without a download status. */
function toDownloadOrDelete({ downloadStatus }: ActionStatuses): TimedAction | undefined {
  const downloaded = withTime(downloadStatus);
  return downloaded && { action: downloaded.value ? 'download' : 'delete', at: downloaded.at };
}
