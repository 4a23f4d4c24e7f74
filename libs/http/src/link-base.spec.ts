import { describe, expect, it } from 'vitest';
import { linkBase } from './link-base.js';

const request = (host?: string) => ({
  protocol: 'http' as const,
  host: host ?? '',
  headers: { host },
});

describe('the base of links', () => {
  it('is the public URL if one is configured', () => {
    const config = { PUBLIC_URL: 'https://sync.example/api', HOST: '127.0.0.1', PORT: 3000 };
    expect(linkBase(request('a.example'), config)).toBe('https://sync.example/api');
  });

  it('is the host of the request without a public URL', () => {
    expect(linkBase(request('a.example:8080'), { HOST: '::', PORT: 3000 })).toBe(
      'http://a.example:8080',
    );
  });

  it.each([
    ['127.0.0.1', 'http://127.0.0.1:3000'],
    ['::', 'http://[::]:3000'],
    ['::1', 'http://[::1]:3000'],
  ])('is the address of the server for a request without a host and HOST %s', (HOST, base) => {
    expect(linkBase(request(), { HOST, PORT: 3000 })).toBe(base);
    expect(URL.canParse(base)).toBe(true);
    expect(linkBase(request('a b'), { HOST, PORT: 3000 })).toBe(base);
  });
});
