import { describe, expect, it } from 'vitest';
import { episodeBytes, largestAnswer, maxEpisodeEntries, maxPerPage } from './interface.limits.js';

describe('no answer can be larger than it may be', () => {
  it.each([
    ['a page of episodes', maxPerPage],
    ['the answer to a batch of episodes', maxEpisodeEntries],
  ])('%s with the longest texts', (_, episodes) => {
    expect(episodes * episodeBytes).toBeLessThanOrEqual(largestAnswer);
  });
});
