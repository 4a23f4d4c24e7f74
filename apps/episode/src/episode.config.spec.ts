import { expect, it } from 'vitest';
import { episodeConfig } from './episode.config.js';

const node = 'postgres://episode@c:5432/podcast_sync';
const nodes = `${node},postgres://episode@w1:5432/podcast_sync`;

it.each([
  [node, 'fetched', true],
  [nodes, 'off', true],
  [nodes, 'fetched', false],
  [nodes, 'pushed', false],
])('DATABASE_URL=%s with FEEDS=%s is valid: %s', (url, feeds, isValid) => {
  const { success } = episodeConfig.safeParse({
    DATABASE_URL: url,
    FEEDS: feeds,
    REDIS_URL: 'redis://127.0.0.1',
  });
  expect(success).toBe(isValid);
});
