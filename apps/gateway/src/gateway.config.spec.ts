import { loadConfig } from '#runtime';
import { expect, it } from 'vitest';
import { gatewayConfig } from './gateway.config.js';

const needed = {
  REDIS_URL: 'redis://127.0.0.1',
  AUTH_ISSUER: 'https://id.example',
  AUTH_AUDIENCE: 'podcast-sync',
};

it('a body that the answer to a batch of subscriptions could not repeat stops the start', () => {
  expect(() => loadConfig(gatewayConfig, { ...needed, MAX_BODY_BYTES: '4194304' })).toThrowError(
    /MAX_BODY_BYTES: .* <=3794304/,
  );
});
