import { areEqualUrls, unknownMetadata } from '#contracts';
import type { Identity } from '../src/episode.rules.js';
import type { Rank } from '../src/match.rules.js';

/**
 * Returns the rank of two episodes by comparing their fields. Tests compare the keys in memory and
 * in SQL with it.
 */
export function matchRank(a: Identity, b: Identity): Rank | undefined {
  const same = (field: keyof Identity) =>
    a[field] !== unknownMetadata[field] &&
    (field === 'enclosureUrl' ? areEqualUrls(a[field], b[field]) : a[field] === b[field]);
  const agreeing = [same('publishDate'), same('episodeUrl'), same('title')].filter(Boolean).length;
  if (a.episodeGuid !== '' && b.episodeGuid !== '') {
    if (a.episodeGuid === b.episodeGuid) return 1;
    return same('enclosureUrl') && agreeing >= 1 ? 4 : undefined;
  }
  if (same('enclosureUrl')) return 2;
  return agreeing >= 2 ? 3 : undefined;
}

/** Returns the match of the lowest rank, then of the lowest row id. */
export function bestMatch<Candidate extends Identity & { id: number }>(
  lookup: Identity,
  candidates: Iterable<Candidate>,
): Candidate | undefined {
  let best: { candidate: Candidate; rank: Rank } | undefined;
  for (const candidate of candidates) {
    const rank = matchRank(lookup, candidate);
    if (rank === undefined) continue;
    if (!best || rank < best.rank || (rank === best.rank && candidate.id < best.candidate.id))
      best = { candidate, rank };
  }
  return best?.candidate;
}
