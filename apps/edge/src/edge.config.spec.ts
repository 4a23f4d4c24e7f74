import { loadConfig } from '#runtime';
import { expect, it } from 'vitest';
import { appConfigs, edgeConfig } from './edge.config.js';

const needed = {
  DATABASE_URL: 'postgres://account@db/podcast_sync',
  REDIS_URL: 'redis://127.0.0.1',
  KEYS_DIRECTORY: '/run/secrets/account',
  SECRETS_KEY: 'k'.repeat(43),
  SESSION_KEY: 's'.repeat(43),
};

it.each([
  [{}, 2_097_152, 5_242_880],
  [{ MAX_BODY_BYTES: '2097152' }, 2_097_152, 2_097_152],
  [{ MAX_BODY_BYTES: '1000000' }, 1_000_000, 1_000_000],
])('MAX_BODY_BYTES limits gateway and gpodder, not account: %j', (set, ofGateway, ofGpodder) => {
  const variables = { ...needed, ...set };
  const { gateway, gpodder, account } = appConfigs(loadConfig(edgeConfig, variables), variables);
  expect([gateway, gpodder, account].map(({ MAX_BODY_BYTES: bytes }) => bytes)).toEqual([
    ofGateway,
    ofGpodder,
    65_536,
  ]);
});
