import { ConfigurationError } from '#runtime';
import { describe, expect, it } from 'vitest';
import { readOptions, UsageError } from './standalone.options.js';

describe('readOptions', () => {
  it('needs nothing: one of each on ports 3000 to 3002 of this machine, with its own servers', () => {
    expect(readOptions([], {})).toEqual({
      replicas: 1,
      port: 3000,
      accountPort: 3002,
      gpodderPort: 3001,
      host: '127.0.0.1',
      publicUrl: undefined,
      accountUrl: undefined,
      gpodderUrl: undefined,
      data: '.data',
      LOG_LEVEL: 'info',
    });
  });

  it('takes the command line and the environment', () => {
    const environment = { POSTGRES_URL: 'postgres://a:b@db/x', REDIS_URL: 'redis://cache' };
    expect(readOptions(['--replicas', '2', '--port=0', '--data', '/srv/x'], environment)).toMatchObject({
      ...environment,
      replicas: 2,
      port: 0,
      data: '/srv/x',
    });
  });

  it('takes the origins under which others reach it, without what follows them', () => {
    const urls = ['--public-url', 'https://pods.example/', '--account-url', 'https://account.pods.example'];
    const args = [...urls, '--gpodder-url', 'https://gpodder.pods.example/'];
    const ports = ['--account-port', '8002', '--gpodder-port', '8001'];
    expect(readOptions([...args, ...ports], {})).toMatchObject({
      publicUrl: 'https://pods.example',
      accountUrl: 'https://account.pods.example',
      gpodderUrl: 'https://gpodder.pods.example',
      accountPort: 8002,
      gpodderPort: 8001,
    });
  });

  it.each([
    [['--replicas', '0'], '--replicas'],
    [['--account-port', '-1'], '--account-port'],
    [['--public-url', 'https://pods.example/path'], '--public-url'],
    [['--account-url', 'pods.example'], '--account-url'],
    [['--gpodder-url', 'https://pods.example/gpodder'], '--gpodder-url'],
    [['--port', '65536'], '--port'],
    [['--port', 'http'], '--port'],
    [['--nope'], '--nope'],
    [['more'], 'more'],
    [['--help'], 'Usage: npm start'],
  ])('answers %j with what is wrong and how it is used', (args, words) => {
    expect(() => readOptions(args, {})).toThrow(UsageError);
    expect(() => readOptions(args, {})).toThrow(words);
    expect(() => readOptions(args, {})).toThrow('--replicas N');
  });

  it('refuses URLs of anything else', () => {
    expect(() => readOptions([], { POSTGRES_URL: 'mysql://x', REDIS_URL: 'http://x' })).toThrow(ConfigurationError);
  });
});
