import {
  countedTime,
  type Episode,
  type MetadataName,
  metadataNames,
  type Status,
  type StatusName,
  statusNames,
  unknownMetadata,
  wireNames,
} from '#contracts';

/** What describes an episode; what of it is not known is as in {@link unknownMetadata}. */
export type Metadata = typeof unknownMetadata;
/** What identifies an episode within its subscription. */
export type Identity = Omit<Metadata, 'duration'>;
/** The metadata that a client knows of an episode. */
export type SentMetadata = { [Name in MetadataName]?: NonNullable<Metadata[Name]> };

/** An episode as it is stored. A row is never changed: what changes an episode makes a new row of it. */
export interface EpisodeRow extends Readonly<Metadata> {
  readonly id: number;
  readonly subscriptionId: number;
  readonly syncId: string;
  readonly changed: string;
  readonly statuses: Readonly<Partial<Record<StatusName, Status>>>;
}

/** An episode as a client is shown it, without a duration that is not known and statuses that no client has set. */
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
 * The status that stands after one was sent. `seen` is a change of what clients are shown; `time` is one of the time
 * alone, within the minute that they are shown.
 */
export type Settled = { status: Status; change: 'none' | 'time' | 'seen' };

/**
 * Applies a status that was sent to the one that stands (docs/reference/interface.md, "States"): later or equal replaces, earlier
 * is ignored. Where either time was given to the minute, both are compared by the minute. A time more than 5
 * minutes ahead of the request's arrival counts as that arrival. The same value in the same minute is no change; a
 * later time is kept all the same, so that the order in which writes arrive does not matter.
 */
export function settle(standing: Status | undefined, sent: Status, arrivedMs: number): Settled {
  const { at, clamped } = countedTime(sent.at, arrivedMs);
  const status = clamped ? { value: sent.value, at, minuteForm: false } : sent;
  if (!standing) return { status, change: 'seen' };
  if (clamped && status.value === standing.value) return { status: standing, change: 'none' };
  if (order(status, standing) < 0) return { status: standing, change: 'none' };
  if (status.value !== standing.value || minute(status) !== minute(standing)) return { status, change: 'seen' };
  return status.at > standing.at ? { status, change: 'time' } : { status: standing, change: 'none' };
}

/** The newer of two statuses; the first where they are equally new. `episode.newer` is the same rule in SQL. */
export function newer(first: Status | undefined, second: Status | undefined): Status | undefined {
  if (!first || !second) return first ?? second;
  return order(second, first) > 0 ? second : first;
}

/** The printed form of a time: to the minute, no zone. */
function minute(status: Pick<Status, 'at'>): string {
  return status.at.slice(0, 16);
}

function order(a: Status, b: Status): number {
  const byMinute = a.minuteForm || b.minuteForm;
  const [left, right] = byMinute ? [minute(a), minute(b)] : [a.at, b.at];
  if (left === right) return 0;
  return left > right ? 1 : -1;
}

/** The row with the metadata that was sent; what was not sent stands. */
export function described(row: EpisodeRow, sent: SentMetadata): EpisodeRow {
  const isSame = metadataNames.every((name) => sent[name] === undefined || sent[name] === row[name]);
  return isSame ? row : { ...row, ...sent };
}

/** The row with the statuses that were sent, each settled against the one that stands. */
export function settled(row: EpisodeRow, sent: EpisodeRow['statuses'], arrivedMs: number): EpisodeRow {
  const statuses = { ...row.statuses };
  let changed = false;
  for (const name of statusNames) {
    const status = sent[name];
    if (!status) continue;
    const outcome = settle(statuses[name], status, arrivedMs);
    if (outcome.change === 'none') continue;
    statuses[name] = outcome.status;
    changed = true;
  }
  return changed ? { ...row, statuses } : row;
}

/**
 * Two episodes as one: of each status the newer, and the metadata of the one that stays; what of it is not known is
 * taken from the other.
 * `episode.merge_subscriptions` is the same rule in SQL.
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

/** Whether clients are shown the same of both. */
export function looksAlike(one: EpisodeRow, other: EpisodeRow): boolean {
  return (
    metadataNames.every((field) => one[field] === other[field]) &&
    statusNames.every((name) => {
      const [left, right] = [one.statuses[name], other.statuses[name]];
      return left && right ? left.value === right.value && minute(left) === minute(right) : left === right;
    })
  );
}
