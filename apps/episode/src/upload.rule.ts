import type { Metadata, Refusal, Upload } from './episode-entry.rule.js';
import { wireName } from './episode-entry.rule.js';
import type { EpisodeRow, KnownEpisodes, NamedSubscription } from './known-episodes.js';

/** An entry that was applied. */
export interface Applied {
  row: EpisodeRow;
  subscription: NamedSubscription;
  temporaryId?: string | number;
}

/** What a new episode needs; its `episode_url` may be unknown. */
const identifiers = ['episodeGuid', 'title', 'publishDate', 'enclosureUrl'] as const;

/** Applies one entry to what earlier entries of its batch left (POST /episodes). */
export function applyUpload(known: KnownEpisodes, upload: Upload): Applied | Refusal {
  const subscription = known.subscription(upload.podcastGuid);
  if (!subscription) return upload.refuse('unknown_subscription', 'There is no subscription with this podcast_guid');
  const found = findEpisode(known, upload, subscription.id);
  if ('message' in found) return found;
  known.describe(found, upload.metadata);
  known.settle(found, upload.statuses);
  return { row: found, subscription, ...(upload.temporaryId !== undefined && { temporaryId: upload.temporaryId }) };
}

/** By sync_id; else by what describes it; else it is new. */
function findEpisode(known: KnownEpisodes, upload: Upload, subscriptionId: number): EpisodeRow | Refusal {
  const { syncId, metadata } = upload;
  const named = syncId === undefined ? undefined : known.bySyncId(syncId);
  if (named) {
    if (named.subscriptionId !== subscriptionId) {
      return upload.refuse('wrong_subscription', 'This sync_id belongs to an episode of another subscription');
    }
    const other = known.byEpisodeGuid(subscriptionId, metadata.episodeGuid ?? '');
    if (other && other !== named) known.absorb(other, named);
    return named;
  }
  const missing = identifiers.filter((field) => metadata[field] === undefined).map(wireName);
  if (missing.length > 0) {
    const message = `${missing.join(', ')} missing: without a known sync_id all are needed`;
    return upload.refuse('missing_identifier', message);
  }
  const complete = { episodeUrl: '', ...metadata } as Metadata;
  const match = known.match(subscriptionId, complete);
  if (!match) return known.create(subscriptionId, complete, syncId);
  if (syncId !== undefined) known.name(match, syncId);
  return match;
}
