import { type GpodderEpisode, type ActionStatuses, parseTime } from '#contracts';
import { maxSeconds, oldestTime } from '#gpodder-data';

/** An action in the format of clients (docs/reference/gpodder.md, "Actions out"). */
export interface ClientAction {
  readonly podcast: string;
  readonly episode: string;
  readonly guid?: string;
  readonly action: 'play' | 'new' | 'download' | 'delete' | 'PLAY';
  /** UTC as `YYYY-MM-DDTHH:MM:SS`, the only format that every client reads. */
  readonly timestamp: string;
  readonly started?: number;
  readonly position?: number;
  readonly total?: number;
}

/**
 * Selection of an episode's actions for a download: `all`; `aggregated`, the listening action, or
 * else the download action; `nextcloud`, only a `play`.
 */
export type ActionSelection = 'all' | 'aggregated' | 'nextcloud';

/** The `position` and `total` of a played episode of unknown duration: 24 hours, in seconds. */
const unknownLength = 86_400;
/**
 * Seconds from the position to the sent `total` if the duration is unknown. With an equal `total`,
 * clients would count the episode as played.
 */
const minRemaining = 3_600;

/** A listening or download action with its time. */
type TimedAction = Pick<ClientAction, 'action' | 'started' | 'position' | 'total'> & { at: string };

/**
 * Returns an episode's actions, oldest first: at most one `play` or `new`, and one `download` or
 * `delete`. An episode without an enclosure URL has none.
 */
export function actionsOf(episode: GpodderEpisode, selection: ActionSelection): ClientAction[] {
  if (episode.enclosureUrl === '') return [];
  const listening = listeningOf(episode);
  const download = downloadOf(episode.statuses);
  const listOf = (...actions: (TimedAction | undefined)[]) =>
    actions.flatMap((action) => (action ? [toClientAction(episode, action)] : []));
  if (selection === 'nextcloud')
    return listOf(listening?.action === 'play' ? { ...listening, action: 'PLAY' } : undefined);
  if (selection === 'aggregated') return listOf(listening ?? download);
  const isDownloadFirst =
    listening !== undefined && download !== undefined && download.at < listening.at;
  return isDownloadFirst ? listOf(download, listening) : listOf(listening, download);
}

function toClientAction(
  { feedUrl, enclosureUrl, episodeGuid }: GpodderEpisode,
  { at, ...action }: TimedAction,
): ClientAction {
  const guid = episodeGuid === '' ? {} : { guid: episodeGuid };
  const timestamp = at.slice(0, 19);
  return { podcast: feedUrl, episode: enclosureUrl, ...guid, ...action, timestamp };
}

/** A status with its time in a comparable format. */
interface TimedValue<Value> {
  value: Value;
  at: string;
}

function timed<Value>(
  status: { value: Value; at?: string | undefined } | undefined,
): TimedValue<Value> | undefined {
  if (!status) return undefined;
  return { value: status.value, at: (status.at && parseTime(status.at)?.instant) ?? oldestTime };
}

function listeningOf({ statuses, duration }: GpodderEpisode): TimedAction | undefined {
  const played = timed(statuses.playedStatus);
  const position = timed(statuses.playbackPosition);
  const isNew = timed(statuses.newStatus);
  // Clients ignore a position below one second.
  const seconds = Math.min(Math.trunc(position?.value ?? 0), maxSeconds - minRemaining);
  const reached = position && seconds >= 1 ? position : undefined;
  const length = Math.min(Math.trunc(duration ?? 0), maxSeconds);
  if (played?.value === true && !(reached && reached.at > played.at)) {
    const end = length >= 1 ? length : unknownLength;
    return { action: 'play', started: end, position: end, total: end, at: played.at };
  }
  if (reached && !(isNew?.value === true && isNew.at > reached.at)) {
    const total = length > seconds ? length : seconds + minRemaining;
    return { action: 'play', started: seconds, position: seconds, total, at: reached.at };
  }
  if (!played && !position) return undefined;
  const times = [played, position, isNew].flatMap((status) => (status ? [status.at] : []));
  return { action: 'new', at: times.toSorted().at(-1) as string };
}

function downloadOf({ downloadStatus }: ActionStatuses): TimedAction | undefined {
  const download = timed(downloadStatus);
  return download && { action: download.value ? 'download' : 'delete', at: download.at };
}
