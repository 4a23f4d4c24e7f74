import { loadConfig } from '#runtime';
import { describe, expect, it } from 'vitest';
import { gatewayConfig } from './gateway.config.js';

const needed = {
  REDIS_URL: 'redis://127.0.0.1',
  AUTH_ISSUER: 'https://id.example',
  AUTH_AUDIENCE: 'podcast-sync',
};

describe('limits that allow too large answers stop the start', () => {
  it.each([
    ['MAX_PER_PAGE', '400'],
    ['MAX_EPISODE_ENTRIES', '400'],
    ['MAX_SUBSCRIPTION_ENTRIES', '10000'],
  ])('%s of %s', (variable, value) => {
    expect(() => loadConfig(gatewayConfig, { ...needed, [variable]: value })).toThrowError(
      new RegExp(
        `${variable}: allows an answer of \\d+ bytes, more than MAX_ANSWER_BYTES \\(4194304\\)`,
      ),
    );
  });

  it('but not with a larger MAX_ANSWER_BYTES', () => {
    const larger = { ...needed, MAX_PER_PAGE: '500', MAX_ANSWER_BYTES: '8000000' };
    expect(loadConfig(gatewayConfig, larger)).toMatchObject({ MAX_PER_PAGE: 500 });
  });

  it('and answers that repeat the body count', () => {
    expect(() => loadConfig(gatewayConfig, { ...needed, MAX_BODY_BYTES: '4194304' })).toThrowError(
      /MAX_SUBSCRIPTION_ENTRIES/,
    );
  });
});
