import {
  areEqualUrls,
  comparableUrl,
  clampedTime,
  type Episode,
  type MetadataName,
  metadataNames,
  type Status,
  type StatusName,
  statusNames,
  unknownMetadata,
  wireNames,
} from '#contracts';

/** Metadata of an episode. An unknown field has its value in {@link unknownMetadata}. */
export type Metadata = typeof unknownMetadata;
/** The metadata that identifies an episode within its subscription. */
export type Identity = Omit<Metadata, 'duration'>;
/** The metadata fields that a client sent for an episode. */
export type SentMetadata = { [Name in MetadataName]?: NonNullable<Metadata[Name]> };

/** A stored episode. Rows are immutable: a change creates a new row. */
export interface EpisodeRow extends Readonly<Metadata> {
  readonly id: number;
  readonly subscriptionId: number;
  readonly syncId: string;
  /** The stamp of the last change. */
  readonly changed: string;
  readonly statuses: Readonly<Partial<Record<StatusName, Status>>>;
}

/**
 * Returns an episode as clients receive it. An unknown duration and unset statuses are omitted,
 * times are cut to the minute.
 */
export function toShownEpisode(
  row: Readonly<Metadata> & { readonly syncId: string },
  statuses: Readonly<Partial<Record<StatusName, Pick<Status, 'value' | 'at'>>>>,
  podcastGuid: string,
): Episode {
  const episode: Record<string, unknown> = { podcast_guid: podcastGuid, sync_id: row.syncId };
  for (const name of metadataNames) if (row[name] !== null) episode[wireNames[name]] = row[name];
  for (const name of statusNames) {
    const status = statuses[name];
    if (status) episode[wireNames[name]] = { value: status.value, timestamp: cutToMinute(status) };
  }
  return episode as Episode;
}

/**
 * The stored status after {@link applyStatus}. `change` is `visible` if clients see a different
 * value or minute. It is `time` if only the time within the minute differs, which clients do not
 * see.
 */
export type StatusChange = { status: Status; change: 'none' | 'time' | 'visible' };

/**
 * Applies a sent status to the current one (docs/reference/episodes.md, "States").
 *
 * - The status with the later time wins. At equal times the sent one wins.
 * - If either time is in minute form, only the minutes are compared.
 * - A time more than 5 minutes after the arrival of the request is replaced by the arrival time.
 *   If such a status has the current value, it changes nothing.
 * - For an equal value in the same minute, only the later time is stored.
 */
export function applyStatus(
  current: Status | undefined,
  sent: Status,
  arrivedMs: number,
): StatusChange {
  const { at, clamped } = clampedTime(sent.at, arrivedMs);
  const status = clamped ? { value: sent.value, at, minuteForm: false } : sent;
  if (!current) return { status, change: 'visible' };
  if (clamped && status.value === current.value) return { status: current, change: 'none' };
  if (compareTimes(status, current) < 0) return { status: current, change: 'none' };
  if (status.value !== current.value || cutToMinute(status) !== cutToMinute(current))
    return { status, change: 'visible' };
  return status.at > current.at ? { status, change: 'time' } : { status: current, change: 'none' };
}

/**
 * Returns the status with the later time, or `first` if the times are equal; undefined without a
 * status. `episode.newer` is the same rule in SQL.
 */
export function newerStatus(
  first: Status | undefined,
  second: Status | undefined,
): Status | undefined {
  if (!first || !second) return first ?? second;
  return compareTimes(second, first) > 0 ? second : first;
}

/** Returns the time of a status to the minute, without a zone, as clients see it. */
function cutToMinute(status: Pick<Status, 'at'>): string {
  return status.at.slice(0, 16);
}

/** Returns 1 if the time of `a` is later, -1 if it is earlier, and 0 if the times are equal. */
function compareTimes(a: Status, b: Status): number {
  const byMinute = a.minuteForm || b.minuteForm;
  const [left, right] = byMinute ? [cutToMinute(a), cutToMinute(b)] : [a.at, b.at];
  if (left === right) return 0;
  return left > right ? 1 : -1;
}

/** Returns {@link comparableUrl} of an enclosure URL; null if that is the URL itself. */
export function comparableEnclosure(enclosureUrl: string): string | null {
  const comparable = comparableUrl(enclosureUrl);
  return comparable === enclosureUrl ? null : comparable;
}

/**
 * Returns the row with the sent metadata; fields that were not sent keep their value. If the sent
 * enclosure_url is equal in its comparable form, the stored text stays.
 */
export function withMetadata(row: EpisodeRow, sent: SentMetadata): EpisodeRow {
  const keepsUrl = areEqualUrls(sent.enclosureUrl ?? '', row.enclosureUrl);
  const newValues = keepsUrl ? { ...sent, enclosureUrl: row.enclosureUrl } : sent;
  const isSame = metadataNames.every(
    (name) => newValues[name] === undefined || newValues[name] === row[name],
  );
  return isSame ? row : { ...row, ...newValues };
}

/** Returns the row after {@link applyStatus} for each sent status. */
export function withStatuses(
  row: EpisodeRow,
  sent: EpisodeRow['statuses'],
  arrivedMs: number,
): EpisodeRow {
  const statuses = { ...row.statuses };
  let isChanged = false;
  for (const name of statusNames) {
    const status = sent[name];
    if (!status) continue;
    const outcome = applyStatus(statuses[name], status, arrivedMs);
    if (outcome.change === 'none') continue;
    statuses[name] = outcome.status;
    isChanged = true;
  }
  return isChanged ? { ...row, statuses } : row;
}

/**
 * Returns `into` with the newer of each status. Metadata that is unknown in `into` has the value of
 * `from`. `episode.merge_subscriptions` is the same rule in SQL.
 */
export function mergeRows(into: EpisodeRow, from: EpisodeRow): EpisodeRow {
  const statuses = { ...into.statuses };
  for (const name of statusNames) {
    const status = newerStatus(into.statuses[name], from.statuses[name]);
    if (status) statuses[name] = status;
  }
  const filledFields = metadataNames
    .filter((name) => into[name] === unknownMetadata[name])
    .map((name) => [name, from[name]] as const);
  return { ...into, ...(Object.fromEntries(filledFields) as Partial<Metadata>), statuses };
}

/** Returns true if clients see equal metadata and statuses, with times to the minute. */
export function areEqualForClients(one: EpisodeRow, other: EpisodeRow): boolean {
  return (
    metadataNames.every((field) => one[field] === other[field]) &&
    statusNames.every((name) => {
      const [left, right] = [one.statuses[name], other.statuses[name]];
      return left && right
        ? left.value === right.value && cutToMinute(left) === cutToMinute(right)
        : left === right;
    })
  );
}
