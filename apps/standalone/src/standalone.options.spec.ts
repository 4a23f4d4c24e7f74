import { ConfigurationError } from '#runtime';
import { describe, expect, it } from 'vitest';
import { readOptions, UsageError } from './standalone.options.js';

describe('readOptions', () => {
  it('needs nothing: one of each on port 3000 of this machine, with its own servers', () => {
    expect(readOptions([], {})).toEqual({
      replicas: 1,
      port: 3000,
      host: '127.0.0.1',
      publicUrl: undefined,
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

  it('takes the origin under which others reach it, without what follows it', () => {
    expect(readOptions(['--public-url', 'https://pods.example/'], {})).toMatchObject({
      publicUrl: 'https://pods.example',
    });
  });

  it.each([
    [['--replicas', '0'], '--replicas'],
    [['--port', '-1'], '--port'],
    [['--public-url', 'https://pods.example/path'], '--public-url'],
    [['--public-url', 'pods.example'], '--public-url'],
    [['--account-port', '3002'], '--account-port'],
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
