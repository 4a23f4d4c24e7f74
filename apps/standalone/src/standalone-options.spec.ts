import { ConfigurationError, loadConfig } from '#runtime';
import { expect, it } from 'vitest';
import { standaloneConfig } from './standalone-options.js';

it('the environment names servers to use instead of embedded ones', () => {
  const environment = { POSTGRES_URL: 'postgres://a:b@db/x', REDIS_URL: 'redis://cache' };
  expect(loadConfig(standaloneConfig, environment)).toEqual({ ...environment, LOG_LEVEL: 'info' });
});

it('rejects other URLs', () => {
  const environment = { POSTGRES_URL: 'mysql://x', REDIS_URL: 'http://x' };
  expect(() => loadConfig(standaloneConfig, environment)).toThrow(ConfigurationError);
});
