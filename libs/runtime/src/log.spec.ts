import { describe, expect, it } from 'vitest';
import { LastState, createLog, withoutSecrets } from './log.js';

describe('withoutSecrets', () => {
  it.each([
    ['https://me:secret@feeds.example/feed', 'https://***@feeds.example/feed'],
    [
      'postgres://app:p%40ss@db:5432/x and redis://:word@cache',
      'postgres://***@db:5432/x and redis://***@cache',
    ],
    ['"authorization":"Bearer abc.def-123"', '"authorization":"Bearer ***"'],
    ['token eyJhbGciOi.eyJzdWIi.c2ln ends', 'token *** ends'],
    ['"password":"pst_AAAAAAAAAAAAAAAAAAAAAAabcdef"', '"password":"***"'],
  ])('%s', (line, expected) => expect(withoutSecrets(line)).toBe(expected));

  it.each([
    'https://feeds.example/@me/feed',
    'a mail to me@example.org',
    'https://a.example https://b@c.example',
  ])('does not change text without secrets: %s', (line) =>
    expect(withoutSecrets(line).replace('***@c', 'b@c')).toBe(line),
  );
});

describe('a line with text of a client', () => {
  it.each(['a.', 'eyJ', 'eyJ-', 'eyJ.', 'Bearer ', 'pst_', ' ', '://', '://a', '://a@'])(
    'takes linear time: 1 MB of %j',
    (part) => {
      const line = part.repeat(1_000_000 / part.length);
      const start = performance.now();
      withoutSecrets(line);
      expect(performance.now() - start).toBeLessThan(1_000);
    },
  );
});

describe('createLog', () => {
  it('writes JSON lines with app, level and time, and without secrets', () => {
    const lines: string[] = [];
    const log = createLog('gateway', 'info', { write: (line) => void lines.push(line) });
    log.warn(
      { err: new Error('no answer from redis://user:word@cache:6379') },
      'https://me:secret@feeds.example',
    );
    log.debug('less important than asked for');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0]!)).toMatchObject({
      app: 'gateway',
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      msg: 'https://***@feeds.example',
    });
    expect(lines[0]).not.toMatch(/:word@|secret/);
  });

  it('writes neither the failed statement nor its values', () => {
    const lines: string[] = [];
    const log = createLog('account', 'info', { write: (line) => void lines.push(line) });
    const hash = '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g';
    const values = {
      query: `UPDATE accounts SET password = '${hash}'`,
      parameters: [hash],
      detail: `(${hash})`,
      where: `JSON data, line 1: {"password": "${hash}"}`,
      internalQuery: `SELECT '${hash}'`,
    };
    const driverError = Object.assign(new Error('duplicate key'), values, { code: '23505' });
    const failed = () =>
      Object.assign(new Error('duplicate key'), values, { driverError, code: '23505' });
    log.error({ err: failed() }, 'it failed');
    log.error(failed());
    log.error({ err: new AggregateError([failed()], 'both failed') }, 'it failed');
    log.error(
      { err: Object.assign(new Error('wrapped', { cause: failed() }), { first: failed() }) },
      'it failed',
    );
    expect(lines).toHaveLength(4);
    expect(lines.join('')).not.toContain('argon2id');
    expect(JSON.parse(lines[0]!)).toMatchObject({
      err: { message: 'duplicate key', code: '23505' },
    });
  });
});

it('a condition returns true only for a change of state', () => {
  const redis = new LastState<'connected' | 'disconnected'>('connected');
  expect(redis.changeTo('connected')).toBe(false);
  expect([redis.changeTo('disconnected'), redis.changeTo('disconnected'), redis.state]).toEqual([
    true,
    false,
    'disconnected',
  ]);
  expect([
    redis.changeTo('connected'),
    redis.changeTo('connected'),
    redis.changeTo('disconnected'),
  ]).toEqual([true, false, true]);
});
