import { type ActedEpisode, type ActedStatuses, parseTime } from '#contracts';
import { mostSeconds } from './action.values.js';

/** An action as clients read it (docs/reference/gpodder.md, "Actions out"). */
export interface ShownAction {
  readonly podcast: string;
  readonly episode: string;
  readonly guid?: string;
  readonly action: 'play' | 'new' | 'download' | 'delete' | 'PLAY';
  /** UTC to the second without a zone, the only form that every client reads. */
  readonly timestamp: string;
  readonly started?: number;
  readonly position?: number;
  readonly total?: number;
}

/** Selection of an episode's actions: all, only the relevant one, or only a relevant `play`. */
export type Showing = 'all' | 'aggregated' | 'nextcloud';

/** Length of a played episode of unknown length: longer than real ones. */
const unknownLength = 86_400;
/** Minimum rest of an episode of unknown length. A position at its end would count as played. */
const leftAtLeast = 3_600;

/** An action of one family, with the time that orders the families. */
type Shown = Pick<ShownAction, 'action' | 'started' | 'position' | 'total'> & { at: string };

/** Returns an episode's actions, oldest first: at most one of listening and one of download. */
export function actionsOf(episode: ActedEpisode, showing: Showing): ShownAction[] {
  if (episode.enclosureUrl === '') return [];
  const listening = listeningOf(episode);
  const download = downloadOf(episode.statuses);
  const shown = (of: Shown | undefined): ShownAction[] => (of ? [actionOf(episode, of)] : []);
  if (showing === 'nextcloud')
    return shown(listening?.action === 'play' ? { ...listening, action: 'PLAY' } : undefined);
  if (showing === 'aggregated') return shown(listening ?? download);
  const isDownloadFirst =
    listening !== undefined && download !== undefined && download.at < listening.at;
  return isDownloadFirst
    ? [...shown(download), ...shown(listening)]
    : [...shown(listening), ...shown(download)];
}

function actionOf(
  { feedUrl, enclosureUrl, episodeGuid }: ActedEpisode,
  { at, ...shown }: Shown,
): ShownAction {
  const guid = episodeGuid === '' ? {} : { guid: episodeGuid };
  return { podcast: feedUrl, episode: enclosureUrl, ...guid, ...shown, timestamp: at.slice(0, 19) };
}

/** A status with its time in a comparable form. */
interface Standing<Value> {
  value: Value;
  at: string;
}

const epoch = '1970-01-01T00:00:00.000000Z';

function standing<Value>(
  status: { value: Value; at?: string | undefined } | undefined,
): Standing<Value> | undefined {
  return (
    status && { value: status.value, at: (status.at && parseTime(status.at)?.instant) ?? epoch }
  );
}

function listeningOf({ statuses, duration }: ActedEpisode): Shown | undefined {
  const played = standing(statuses.playedStatus);
  const position = standing(statuses.playbackPosition);
  const isNew = standing(statuses.newStatus);
  // Clients treat a position within the first second as none.
  const seconds = Math.min(Math.trunc(position?.value ?? 0), mostSeconds - leftAtLeast);
  const reached = position && seconds >= 1 ? position : undefined;
  const length = Math.min(Math.trunc(duration ?? 0), mostSeconds);
  if (played?.value === true && !(reached && reached.at > played.at)) {
    const end = length >= 1 ? length : unknownLength;
    return { action: 'play', started: end, position: end, total: end, at: played.at };
  }
  if (reached && !(isNew?.value === true && isNew.at > reached.at)) {
    const total = length > seconds ? length : seconds + leftAtLeast;
    return { action: 'play', started: seconds, position: seconds, total, at: reached.at };
  }
  if (!played && !position) return undefined;
  const times = [played, position, isNew].flatMap((status) => (status ? [status.at] : []));
  return { action: 'new', at: times.toSorted().at(-1) as string };
}

function downloadOf({ downloadStatus }: ActedStatuses): Shown | undefined {
  const download = standing(downloadStatus);
  return download && { action: download.value ? 'download' : 'delete', at: download.at };
}
