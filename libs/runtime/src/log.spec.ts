import { describe, expect, it } from 'vitest';
import { createLog, withoutSecrets } from './log.js';

describe('withoutSecrets', () => {
  it.each([
    ['https://me:secret@feeds.example/feed', 'https://***@feeds.example/feed'],
    ['postgres://app:p%40ss@db:5432/x and redis://:word@cache', 'postgres://***@db:5432/x and redis://***@cache'],
    ['"authorization":"Bearer abc.def-123"', '"authorization":"Bearer ***"'],
    ['token eyJhbGciOi.eyJzdWIi.c2ln ends', 'token *** ends'],
  ])('%s', (line, expected) => expect(withoutSecrets(line)).toBe(expected));

  it.each(['https://feeds.example/@me/feed', 'a mail to me@example.org', 'https://a.example https://b@c.example'])(
    'leaves alone what is none: %s',
    (line) => expect(withoutSecrets(line).replace('***@c', 'b@c')).toBe(line),
  );
});

describe('a line that a stranger wrote', () => {
  it.each(['a.', 'eyJ', 'eyJ-', 'eyJ.', 'Bearer ', ' ', '://', '://a', '://a@'])(
    'costs by its length, not by its square: 1 MB of %j',
    (part) => {
      const line = part.repeat(1_000_000 / part.length);
      const start = performance.now();
      withoutSecrets(line);
      expect(performance.now() - start).toBeLessThan(1_000);
    },
  );
});

describe('createLog', () => {
  it('writes lines of JSON with app, level and time, and nothing secret in messages, fields or errors', () => {
    const lines: string[] = [];
    const log = createLog('gateway', 'info', { write: (line) => void lines.push(line) });
    log.warn({ err: new Error('no answer from redis://user:word@cache:6379') }, 'https://me:secret@feeds.example');
    log.debug('less important than asked for');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0]!)).toMatchObject({
      app: 'gateway',
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      msg: 'https://***@feeds.example',
    });
    expect(lines[0]).not.toMatch(/word|secret/);
  });
});
