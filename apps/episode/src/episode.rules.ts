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

/** Metadata of an episode; missing values are as in {@link unknownMetadata}. */
export type Metadata = typeof unknownMetadata;
/** The metadata that identifies an episode within its subscription. */
export type Identity = Omit<Metadata, 'duration'>;
/** The metadata that a client sent of an episode. */
export type SentMetadata = { [Name in MetadataName]?: NonNullable<Metadata[Name]> };

/** A stored episode. Rows are immutable: a change creates a new row. */
export interface EpisodeRow extends Readonly<Metadata> {
  readonly id: number;
  readonly subscriptionId: number;
  readonly syncId: string;
  readonly changed: string;
  readonly statuses: Readonly<Partial<Record<StatusName, Status>>>;
}

/** Returns an episode as clients receive it, without an unknown duration and unset statuses. */
export function shown(
  row: Readonly<Metadata> & { readonly syncId: string },
  statuses: Readonly<Partial<Record<StatusName, Pick<Status, 'value' | 'at'>>>>,
  podcastGuid: string,
): Episode {
  const episode: Record<string, unknown> = { podcast_guid: podcastGuid, sync_id: row.syncId };
  for (const name of metadataNames) if (row[name] !== null) episode[wireNames[name]] = row[name];
  for (const name of statusNames) {
    const status = statuses[name];
    if (status) episode[wireNames[name]] = { value: status.value, timestamp: minute(status) };
  }
  return episode as Episode;
}

/**
 * The status after a sent one was applied. The `change` is `seen` if clients see a difference, and
 * `time` if only the time within the minute that they see differs.
 */
export type StatusChange = { status: Status; change: 'none' | 'time' | 'seen' };

/**
 * Applies a sent status to the current one (docs/reference/episodes.md, "States"): a later or
 * equal one replaces it, an earlier one is ignored. If either time was given to the minute, both
 * are compared by the minute. A time more than 5 minutes ahead of the request's arrival counts as
 * that arrival. An equal value in the same minute is no change, but its later time is stored.
 * Of two statuses, the later one wins in either order of arrival. Of two that are equally late and
 * differ in value, the one that arrives last wins.
 */
export function applyStatus(
  current: Status | undefined,
  sent: Status,
  arrivedMs: number,
): StatusChange {
  const { at, clamped } = clampedTime(sent.at, arrivedMs);
  const status = clamped ? { value: sent.value, at, minuteForm: false } : sent;
  if (!current) return { status, change: 'seen' };
  if (clamped && status.value === current.value) return { status: current, change: 'none' };
  if (compare(status, current) < 0) return { status: current, change: 'none' };
  if (status.value !== current.value || minute(status) !== minute(current))
    return { status, change: 'seen' };
  return status.at > current.at ? { status, change: 'time' } : { status: current, change: 'none' };
}

/** Returns the newer status, the first if they are equally new. In SQL: `episode.newer`. */
export function newer(first: Status | undefined, second: Status | undefined): Status | undefined {
  if (!first || !second) return first ?? second;
  return compare(second, first) > 0 ? second : first;
}

/** Returns the printed form of a time: to the minute, without a zone. */
function minute(status: Pick<Status, 'at'>): string {
  return status.at.slice(0, 16);
}

function compare(a: Status, b: Status): number {
  const byMinute = a.minuteForm || b.minuteForm;
  const [left, right] = byMinute ? [minute(a), minute(b)] : [a.at, b.at];
  if (left === right) return 0;
  return left > right ? 1 : -1;
}

/** Returns the form by which an enclosure URL is compared; null if that is the URL itself. */
export function comparableEnclosure(enclosureUrl: string): string | null {
  const comparable = comparableUrl(enclosureUrl);
  return comparable === enclosureUrl ? null : comparable;
}

/**
 * Returns the row with the sent metadata; unsent fields keep their current value, and so does an
 * equal enclosure_url.
 */
export function withMetadata(row: EpisodeRow, sent: SentMetadata): EpisodeRow {
  const keepsUrl = areEqualUrls(sent.enclosureUrl ?? '', row.enclosureUrl);
  const next = keepsUrl ? { ...sent, enclosureUrl: row.enclosureUrl } : sent;
  const isSame = metadataNames.every(
    (name) => next[name] === undefined || next[name] === row[name],
  );
  return isSame ? row : { ...row, ...next };
}

/** Returns the row after each sent status was applied to its current one. */
export function withStatuses(
  row: EpisodeRow,
  sent: EpisodeRow['statuses'],
  arrivedMs: number,
): EpisodeRow {
  const statuses = { ...row.statuses };
  let changed = false;
  for (const name of statusNames) {
    const status = sent[name];
    if (!status) continue;
    const outcome = applyStatus(statuses[name], status, arrivedMs);
    if (outcome.change === 'none') continue;
    statuses[name] = outcome.status;
    changed = true;
  }
  return changed ? { ...row, statuses } : row;
}

/**
 * Returns two episodes merged into one: the newer of each status, and the metadata of `into`,
 * completed by that of `from`. `episode.merge_subscriptions` is the same rule in SQL.
 */
export function merged(into: EpisodeRow, from: EpisodeRow): EpisodeRow {
  const statuses = { ...into.statuses };
  for (const name of statusNames) {
    const status = newer(into.statuses[name], from.statuses[name]);
    if (status) statuses[name] = status;
  }
  const completed = metadataNames
    .filter((name) => into[name] === unknownMetadata[name])
    .map((name) => [name, from[name]] as const);
  return { ...into, ...(Object.fromEntries(completed) as Partial<Metadata>), statuses };
}

/** Returns whether clients see the same values of both rows. */
export function looksAlike(one: EpisodeRow, other: EpisodeRow): boolean {
  return (
    metadataNames.every((field) => one[field] === other[field]) &&
    statusNames.every((name) => {
      const [left, right] = [one.statuses[name], other.statuses[name]];
      return left && right
        ? left.value === right.value && minute(left) === minute(right)
        : left === right;
    })
  );
}
