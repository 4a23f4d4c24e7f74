import { type Episode, metadataNames, type Status, type StatusName, statusNames, wireNames } from '#contracts';
import type { Metadata } from './episode-entry.rule.js';
import { minute, newer, settle } from './status.rule.js';

/** An episode as it is stored. What changes it makes another one of it. */
export interface EpisodeRow extends Readonly<Metadata> {
  readonly id: number;
  readonly subscriptionId: number;
  readonly syncId: string;
  readonly changed: string;
  readonly statuses: Readonly<Partial<Record<StatusName, Status>>>;
}

/** What is shown of an episode. */
interface Shown extends Readonly<Metadata> {
  readonly syncId: string;
  readonly statuses: Readonly<Partial<Record<StatusName, Pick<Status, 'value' | 'at'>>>>;
}

/** An episode as a client is shown it. What no client has set is not there. */
export function shown(row: Shown, podcastGuid: string): Episode {
  const episode: Record<string, unknown> = { podcast_guid: podcastGuid, sync_id: row.syncId };
  for (const name of metadataNames) episode[wireNames[name]] = row[name];
  for (const name of statusNames) {
    const status = row.statuses[name];
    if (status) episode[wireNames[name]] = { value: status.value, timestamp: minute(status) };
  }
  return episode as Episode;
}

/** The row with the metadata that was sent; an empty value does not replace one that is there. */
export function described(row: EpisodeRow, sent: Partial<Metadata>): EpisodeRow {
  const replaced = (Object.entries(sent) as [keyof Metadata, string][]).filter(
    ([field, value]) => value !== '' && row[field] !== value,
  );
  return replaced.length === 0 ? row : { ...row, ...(Object.fromEntries(replaced) as Partial<Metadata>) };
}

/** The row with the statuses that were sent, each settled against the one that stands. */
export function settled(row: EpisodeRow, sent: EpisodeRow['statuses'], stamp: string): EpisodeRow {
  const statuses = { ...row.statuses };
  let changed = false;
  for (const name of statusNames) {
    const status = sent[name];
    if (!status) continue;
    const outcome = settle(statuses[name], status, stamp);
    if (outcome.change === 'none') continue;
    statuses[name] = outcome.status;
    changed = true;
  }
  return changed ? { ...row, statuses } : row;
}

/** Two episodes as one: status by status the newest, the survivor's metadata, its gaps filled. */
export function merged(into: EpisodeRow, from: EpisodeRow): EpisodeRow {
  const statuses = { ...into.statuses };
  for (const name of statusNames) {
    const status = newer(into.statuses[name], from.statuses[name]);
    if (status) statuses[name] = status;
  }
  return {
    ...into,
    statuses,
    episodeGuid: into.episodeGuid || from.episodeGuid,
    title: into.title || from.title,
    episodeUrl: into.episodeUrl || from.episodeUrl,
  };
}

/** Whether a client sees no difference. */
export function looksAlike(one: EpisodeRow, other: EpisodeRow): boolean {
  return (
    metadataNames.every((field) => one[field] === other[field]) &&
    statusNames.every((name) => {
      const [left, right] = [one.statuses[name], other.statuses[name]];
      return left && right ? left.value === right.value && minute(left) === minute(right) : left === right;
    })
  );
}
