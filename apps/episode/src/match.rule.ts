import type { Metadata } from './episode-entry.rule.js';

/**
 * How sure it is that two episodes of one subscription are the same; less is surer, `undefined` says that they are
 * not. The same rule stands in SQL as `episode.match_keys`, for the merge of whole subscriptions.
 *
 * 1. the same episode_guid; 2. where either has none, the same enclosure_url; 3. there also two of publish_date,
 * episode_url and title; 4. episode_guids that differ, the same enclosure_url and one more. Empty values never agree.
 */
export function matchRank(a: Metadata, b: Metadata): 1 | 2 | 3 | 4 | undefined {
  const enclosure = a.enclosureUrl !== '' && a.enclosureUrl === b.enclosureUrl;
  const agreeing =
    Number(a.publishDate === b.publishDate) +
    Number(a.episodeUrl !== '' && a.episodeUrl === b.episodeUrl) +
    Number(a.title !== '' && a.title === b.title);
  if (a.episodeGuid !== '' && b.episodeGuid !== '') {
    if (a.episodeGuid === b.episodeGuid) return 1;
    return enclosure && agreeing >= 1 ? 4 : undefined;
  }
  if (enclosure) return 2;
  return agreeing >= 2 ? 3 : undefined;
}

/** The surest match; of equally sure ones the first, which is the one with the lowest row id in a list in that order. */
export function bestMatch<Candidate extends Metadata>(
  sought: Metadata,
  candidates: Iterable<Candidate>,
): Candidate | undefined {
  let best: { candidate: Candidate; rank: number } | undefined;
  for (const candidate of candidates) {
    const rank = matchRank(sought, candidate);
    if (rank !== undefined && (!best || rank < best.rank)) best = { candidate, rank };
  }
  return best?.candidate;
}
